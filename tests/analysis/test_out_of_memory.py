"""A failed allocation: the request, free memory, and allocated buffers."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tfvis_nb import Trace, events
from tfvis_nb.analysis import live_at_failure, why_not
from tfvis_nb.analysis.overview.headline import headline
from tfvis_nb.core.metadata import LIVE_AT_FAILURE, OUT_OF_MEMORY, table_of
from tfvis_nb.display.tabs import tab
from tfvis_nb.display.wire.code import without_code

ASKED = {
    "time_ns": 1_790_000_000_000_000_001,
    "node": "net/dense/big",
    "shape": "[64, 1000]",
    "dtype": "float32",
    "device": "/device:GPU:0",
    "allocator": "GPU_0_bfc",
    "requested_bytes": 256_000,
    "file": "train.py",
    "line": 12,
    "text": "y = <b>x</b>",
}
LIVE = [
    {"node": "enc/MatMul", "op": "MatMul", "file": "train.py", "line": 7, "bytes": 4000},
    {"node": "enc/Relu", "allocator": "cpu", "bytes": 12_000},
]


def trace(asked: dict[str, Any], live: Any = (), rows: int = 7, free: int = 100_000, **columns: Any) -> Trace:
    """Ops in a step; within the last one two allocations, and a free as it fails."""
    names = [
        "net/dense/big",
        *["net/in", "net/dense/big", "MemoryAllocation", "MemoryAllocation"],
        *["x"] * 2,
    ]
    ops = ["MatMul", "Relu", "MatMul", "MemoryAllocation", "MemoryAllocation", "MemoryDeallocation", "Sum"]
    state = {"in_use_bytes": [5000, 9000, 5000], "available_bytes": [free + 4000, free, free + 4000]}
    empty: list[Any] = [None] * 3
    table = {
        "start_ns": [0, 10, 100, 110, 120, 190, 300],
        "duration_ns": [5, 5, 100, 0, 0, 0, 5],
        "kind": ["op", "op", "op", "host", "host", "host", "op"],
        "lane": ["ops"] * 7,
        "name": names,
        "op": ops,
        "step": [0] * 7,
        "bytes": [*empty, 1000, 4000, 0, None],
        "detail": [""] * 3 + ["allocator_name=GPU_0_bfc tf_op=net/in"] * 3 + [""],
        **columns,
    }
    nested = {
        "address": [*empty, 64, 4096, 4096, None],
        **{name: [*empty, *values, None] for name, values in state.items()},
        "fragmentation": pa.array([*empty, 0.0, 0.25, 0.0, None]),
    }
    metadata = {OUT_OF_MEMORY: table_of(OUT_OF_MEMORY, [asked])}
    if live:
        metadata[LIVE_AT_FAILURE] = table_of(LIVE_AT_FAILURE, live)
    made = events.build({name: values[:rows] for name, values in table.items()}, rows=rows)
    return Trace(made, nested=pa.table(nested).slice(0, rows), metadata=metadata)


def test_the_state_of_the_allocator_at_the_request() -> None:
    found = trace(ASKED).out_of_memory.iloc[0]
    assert (found["event"], found["step"], found["op"], found["layer"]) == (2, 0, "MatMul", "net/dense")
    assert (found["at_ns"], found["in_use_bytes"], found["free_bytes"]) == (120, 9000, 100_000)
    assert found["fragmentation"] == 0.25
    assert found["fitting_rows"] == 100_000 // 4000
    alive = live_at_failure(trace(ASKED))
    assert alive[["name", "bytes"]].to_numpy().tolist() == [["net/in", 4000], ["net/in", 1000]]
    assert alive["op"].tolist() == ["Relu"] * 2


def test_a_run_that_fails_has_no_rows_of_its_own() -> None:
    made = trace(ASKED, LIVE, scheduled_ns=[0] * 7)
    found = made.out_of_memory.iloc[0]
    assert (found["event"], found["layer"], found["line"]) == (-1, "net/dense", 12)
    assert pd.isna(found["free_bytes"])
    assert pd.isna(found["fitting_rows"])
    alive = live_at_failure(made)
    assert alive["name"].tolist() == ["enc/Relu", "enc/MatMul"]
    assert alive["share"].tolist() == [0.75, 0.25]
    assert alive["line"].tolist() == ["", "train.py:7"]
    assert alive["layer"].tolist() == ["enc", "enc"]


def test_blocks_are_named_after_their_last_allocation() -> None:
    """At address 4096 is the second allocation of the trace; the other block was there before."""
    heap = {"in_use_bytes": 20_000, "available_bytes": 100_000, "largest_free_bytes": 75_000}
    block = {"allocator": "GPU_0_bfc", "bytes": 4000, "requested_bytes": 3900}
    blocks = [
        {**block, "address": 4096},
        {**block, "address": 64},
        {**block, "bytes": 9000, "address": 1 << 40},
    ]
    made = trace({**ASKED, **heap}, blocks, free=101_000 - 9000 + 20_000)
    found = made.out_of_memory.iloc[0]
    assert (found["in_use_bytes"], found["free_bytes"]) == (20_000, 101_000)
    assert (found["largest_free_bytes"], found["fitting_rows"]) == (75_000, 75_000 // 4000)
    assert found["fragmentation"] == pytest.approx(26 / 101)
    assert pd.isna(found["at_ns"])
    alive = live_at_failure(made)
    assert alive[["name", "bytes", "event"]].to_numpy().tolist() == [
        ["", 9000, -1],
        ["net/in", 4000, 4],
        ["", 4000, -1],
    ]
    assert alive["requested_bytes"].tolist() == [3900] * 3
    assert alive["share"].tolist() == [0.45, 0.2, 0.2]
    assert [name for name in made.findings["figures"][0]["live"] if name == "net/in"]


def test_memory_that_the_allocator_may_still_claim_is_free() -> None:
    heap = {"in_use_bytes": 9000, "available_bytes": 1000, "largest_free_bytes": 500}
    found = trace({**ASKED, **heap}).out_of_memory.iloc[0]
    assert (found["free_bytes"], found["largest_free_bytes"]) == (100_000, 99_000)
    without_limit = trace({**ASKED, **heap}, rows=3).out_of_memory.iloc[0]
    assert (without_limit["free_bytes"], without_limit["largest_free_bytes"]) == (1000, 500)


def test_an_op_inside_an_inlined_function_is_found() -> None:
    names = ["x", "y", "f/net/dense/big", *["MemoryAllocation"] * 2, "not_net/dense/big", "dense/big"]
    assert trace(ASKED, name=names).out_of_memory["event"].tolist() == [2]
    eager = {**ASKED, "node": None, "op": "x"}
    names = ["x", "y", "f/x", *["MemoryAllocation"] * 2, "y", "y"]
    assert trace(eager, name=names).out_of_memory["event"].tolist() == [0]


@pytest.mark.parametrize(
    ("case", "options"),
    [("larger", {}), ("fragmented", {"free": 300_000}), ("unknown", {"scheduled_ns": [0] * 7})],
)
def test_out_of_memory_is_the_first_finding(case: str, options: dict[str, Any]) -> None:
    made = trace(ASKED, **options)
    first = made.findings.iloc[0]
    assert (first["id"], first["level"]) == (f"out_of_memory.{case}", "problem")
    assert first["figures"]["requested_bytes"] == 256_000
    assert first["events"] == ([] if case == "unknown" else [2])
    words = headline(made, made.overview)
    assert words.id == "headline_ended"
    assert "net/dense/big" in words.figures["ended"]


def test_without_any_event() -> None:
    made = trace({**ASKED, "available_bytes": 8000}, LIVE, rows=0)
    assert made.findings["id"].tolist() == ["out_of_memory.larger"]
    assert made.out_of_memory["fitting_rows"].tolist() == [2]
    assert [block["title"] for block in tab(made, "Memory")["blocks"][:2]] == [
        "Out of memory",
        "Live when memory ran out",
    ]


def test_it_is_kept_in_parquet_files(tmp_path: Path) -> None:
    made = trace(ASKED, LIVE)
    again = tv.read_trace(made.to_parquet(tmp_path / "t.parquet"))
    pd.testing.assert_frame_equal(again.out_of_memory, made.out_of_memory)
    pd.testing.assert_frame_equal(again.metadata[LIVE_AT_FAILURE], made.metadata[LIVE_AT_FAILURE])


def test_a_trace_without_code_does_not_name_lines() -> None:
    part = without_code(trace(ASKED, LIVE, scheduled_ns=[0] * 7))
    assert part.out_of_memory[["file", "text"]].to_numpy().tolist() == [["", ""]]
    assert live_at_failure(part)["line"].tolist() == ["", ""]
    assert "train.py" not in part.findings["text"][0]
    assert part.out_of_memory["requested_bytes"].tolist() == [256_000]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"shape": "[0, 5]", "requested_bytes": 0, "available_bytes": -5},
        {"shape": "[9" + "9" * 40 + "]", "requested_bytes": 2**63 - 1, "available_bytes": 1},
        {"node": "<i>", "op": "\0", "line": -1, "allocator": "no"},
        {"in_use_bytes": 2**62, "available_bytes": 0, "largest_free_bytes": 2**62, "shape": "[1]"},
        {"in_use_bytes": -1, "available_bytes": -1, "largest_free_bytes": -1},
    ],
)
def test_odd_figures_say_nothing_wrong(asked: dict[str, Any]) -> None:
    for rows in (0, 7):
        made = trace(asked, [{}, {"bytes": -1, "address": -1}, {"bytes": 2**63 - 1, "node": "a"}], rows=rows)
        assert made.out_of_memory["fitting_rows"].isna().all()
        assert live_at_failure(made)["name"].tolist() == ["a"]
        assert made.findings["kind"][0] == "out of memory"
        tab(made, "Memory")


def test_other_traces_have_none() -> None:
    made = Trace(events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"]}))
    assert why_not(made.out_of_memory).id == "no_out_of_memory"
    assert why_not(live_at_failure(made)).id == "no_out_of_memory"
    assert why_not(live_at_failure(trace(ASKED, scheduled_ns=[0] * 7))).id == "no_live_buffers"
