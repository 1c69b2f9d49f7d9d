"""Recordings of JAX that end because memory ran out: its messages, and kept data."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tfvis_nb as tv
from tests.support.texts import figures_of
from tfvis_nb.analysis import live_at_failure
from tfvis_nb.recording.allocation_errors import live_buffers, parsed

EDGE = 1 << 24
"""A square matrix with this edge, of float32, takes 1 PiB: more than a process can address."""
ON_GPU = """RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6291456 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    6.00MiB
                 total allocation:   12.00MiB
Peak buffers:
\tBuffer 1:
\t\tSize: 6.00MiB
\t\tOperator: op_name="jit(step)/concatenate[dimension=0]" source_file="/a/models.py" source_line=689
\t\tXLA Label: concatenate
\t\tShape: f32[4096,128,3]
\t\t==========================

\tBuffer 2:
\t\tSize: 384.0KiB
\t\tEntry Parameter Subshape: f32[256,128,3]
\t\t==========================

"""
ON_TPU = """RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. \
Used 63.80G of 30.75G hbm. Exceeded hbm capacity by 33.05G.

Program hbm requirement 63.80G:
    HLO temp         63.79G (100.0% utilization: Unpadded (63.58G) Padded (63.58G))

  Largest program allocations in hbm:

  1. Size: 2.00G
     Operator: op_name="jit(step)/dot_general" source_file="/a/attention.py" source_line=1059
     Shape: f32[32,4096,4096]{1,2,0:T(8,128)}
     Unpadded size: 2.00G
     XLA label: fusion.1265.remat3 = fusion(custom-call.224), kind=kOutput
     Allocation type: HLO temp
     ==========================

  2. Size: 1.00G
     Shape: bf16[512]{0}
     Unpadded size: 1.00G
     XLA label: %copy.4 = bf16[512] copy(...)
     ==========================
"""


@pytest.mark.parametrize(
    ("message", "requested", "free", "buffers"),
    [
        ("RESOURCE_EXHAUSTED: Out of memory allocating 70368744177664 bytes.", 1 << 46, None, []),
        (
            ON_GPU,
            6 << 20,
            None,
            [
                ("jit(step)/concatenate[dimension=0] f32[4096,128,3]", "concatenate", 689, 6 << 20),
                ("parameter f32[256,128,3]", None, None, 384 << 10),
            ],
        ),
        (
            ON_TPU,
            round(63.8 * (1 << 30)),
            round(30.75 * (1 << 30)),
            [
                ("jit(step)/dot_general f32[32,4096,4096]", "fusion.1265.remat3", 1059, 2 << 30),
                ("copy.4 bf16[512]", "copy.4", None, 1 << 30),
            ],
        ),
    ],
)
def test_messages_of_xla(message: str, requested: int, free: int | None, buffers: list[Any]) -> None:
    asked = parsed(message)
    assert asked is not None
    assert (asked["requested_bytes"], asked.get("available_bytes")) == (requested, free)
    listed = live_buffers(message)
    assert [(one["node"], one["op"], one["line"], one["bytes"]) for one in listed] == buffers


def line_of(code: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if code in line and "line_of" not in line)


@pytest.mark.slow
@pytest.mark.parametrize("source", [True, False])
def test_a_recording_on_a_cpu(*, source: bool, tmp_path: Path) -> None:
    kept = jnp.ones((700, 1001))

    def run() -> None:
        jnp.tanh(kept).block_until_ready()
        jnp.ones((EDGE, EDGE)).block_until_ready()  # too large

    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED"), tv.trace(source=source) as t:
        run()
    again = tv.read_trace(t.to_parquet(tmp_path / "t.parquet"))
    found = again.out_of_memory.iloc[0]
    assert found["requested_bytes"] == 4 * EDGE * EDGE
    assert 0 < found["free_bytes"] < found["requested_bytes"]
    assert (found["line"] == line_of("# too large")) if source else found["file"] == ""
    live = live_at_failure(again)
    assert live["bytes"].is_monotonic_decreasing
    rows = live[live["name"] == "float32 [700, 1001]"]
    assert (set(rows["bytes"]), set(rows["sharding"])) == ({kept.nbytes}, {str(kept.device)})
    place = f"tests/recording/{Path(__file__).name}:{line_of('kept = jnp.ones')}"
    assert (place if source else "") in set(rows["line"])
    assert again.findings["id"][0] == "out_of_memory.larger"
    assert len(figures_of(t.notes, "ended_out_of_memory")) == 1
    assert not figures_of(t.notes, "ended_by_error")
