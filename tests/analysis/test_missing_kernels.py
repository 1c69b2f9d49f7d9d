"""A GPU without recorded kernels is a finding, however a trace tells it; no note repeats its advice."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.protobuf_bytes import field, number
from tests.reading.test_notes_of_sources import GPU
from tests.support.step_stats import one_op
from tests.support.texts import raises_id
from tfvis_nb.texts import id_of

FAILED = b"Failed to load libcupti (is it installed and accessible?)"
ERRORS, WARNINGS = 2, 3


def profile(*reported: bytes, call: bytes = b"train", plane: bytes = b"/host:CPU") -> bytes:
    """A profile in which a host calls something in a step, with the profiler's reports."""
    named = b"".join(
        field(4, number(1, place) + field(2, number(1, place) + field(2, name)))
        for place, name in enumerate((b"train", call), 1)
    )
    numbered = field(5, number(1, 1) + field(2, number(1, 1) + field(2, b"step_num")))
    numbered += field(5, number(1, 2) + field(2, number(1, 2) + field(2, b"correlation_id")))
    step = field(4, number(1, 1) + number(2, 0) + number(3, 9000) + field(4, number(1, 1) + number(4, 7)))
    launch = b"" if call == b"train" else field(4, number(1, 2) + number(4, 5))
    inner = field(4, number(1, 2) + number(2, 100) + number(3, 500) + launch)
    line = field(3, field(2, b"python") + step + inner)
    return field(1, field(2, plane) + line + named + numbered) + b"".join(reported)


def findings(trace: tv.Trace) -> Sequence[tuple[str, str, str]]:
    table = trace.findings
    table = table[table["kind"] == "missing kernels"]
    return [(str(row.id), str(row.level), str(row.how)) for row in table.itertuples()]


@pytest.mark.parametrize(
    ("data", "case"),
    [
        (profile(field(ERRORS, FAILED)), "profile"),
        (profile(field(WARNINGS, FAILED)), "profile"),
        (profile(call=b"void gemm<float>(int)"), "profile"),
        (one_op(label="m = MatMul(a, b)", device=GPU), "run"),
    ],
)
def test_missing_kernels_are_a_finding(data: bytes, case: str, tmp_path: Path) -> None:
    trace = tv.read_trace(data)
    ((key, level, how),) = findings(trace)
    assert (key, level) == (f"missing_kernels.{case}", "observation")
    assert "LD_LIBRARY_PATH" in how
    assert "docs/troubleshooting.md" in how
    assert not any("LD_LIBRARY_PATH" in note for note in trace.notes)
    assert findings(tv.read_trace(trace.to_parquet(tmp_path / "kept.parquet"))) == findings(trace)


@pytest.mark.parametrize(
    "data",
    [
        profile(),
        profile(field(WARNINGS, b"#dropped events: 7")),
        profile(field(ERRORS, b"connection lost")),
        one_op(label="m = MatMul(a, b)"),
    ],
)
def test_a_host_alone_has_no_such_finding(data: bytes) -> None:
    assert not findings(tv.read_trace(data))


@pytest.mark.parametrize("number_of_field", [ERRORS, WARNINGS])
def test_a_profile_without_events_is_refused_with_advice(number_of_field: int) -> None:
    with raises_id(tv.EmptyTraceError, "xspace_without_events") as caught:
        tv.read_trace(field(number_of_field, FAILED))
    assert all(
        part in str(caught.value) for part in ("libcupti (", "LD_LIBRARY_PATH", "docs/troubleshooting.md")
    )


def test_several_hosts_have_one_finding() -> None:
    hosts = [profile(field(ERRORS, FAILED), field(4, f"host{number}".encode())) for number in range(2)]
    trace = tv.read_trace(hosts)
    assert len(findings(trace)) == 1
    assert sum(id_of(note) == "profile_without_kernels" for note in trace.notes) == 1
