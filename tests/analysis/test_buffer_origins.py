"""Layers and lines of code of the buffers alive at a peak."""

from typing import Any

import pyarrow as pa

from tfvis_nb import Trace, events
from tfvis_nb.analysis import live_buffers, memory_breakdown, why_not
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.display.tabs import tab

BUILDER = StackBuilder()
LOSS = BUILDER.stack([Frame("train.py", 9, "main"), Frame("model.py", 4, "loss")])
LIBRARY = BUILDER.stack([Frame("train.py", 30), Frame("lib.py", 2, own=False)])
STACKS = BUILDER.table()


def records(allocator: str, size: int) -> list[dict[str, Any]]:
    return [{"allocator": allocator, "records": [{"micros": 1, "bytes": size}]}]


def step(stacks: bool = True) -> Trace:
    """Four ops of a session run, the last one outside any line and layer."""
    names = ["net/dense/MatMul", "gradient_tape/net/dense/MatMul/MatMul_1", "net/out/Relu", "Sum"]
    columns = {"start_ns": [1000] * 4, "duration_ns": [900] * 4, "kind": ["op"] * 4, "name": names}
    memory = [records("cpu", size) for size in (100, 200, 400, 800)]
    nested = {"memory": memory, "stack": pa.array([LOSS, LOSS, LIBRARY, None], pa.int32())}
    return Trace(events.build(columns), nested=pa.table(nested), stacks=STACKS if stacks else None)


def profile() -> Trace:
    """An op of a profile, and its buffers: one inside it, and one on a thread without a stack."""
    columns = {
        "start_ns": [10, 12, 14],
        "duration_ns": [9, 0, 0],
        "kind": ["op", "host", "host"],
        "lane": ["python", "python", "other"],
        "name": ["net/dense/MatMul", "MemoryAllocation", "MemoryAllocation"],
        "op": ["MatMul", "MemoryAllocation", "MemoryAllocation"],
        "bytes": [None, 256, 512],
        "detail": ["", *["allocator_name=GPU_0_bfc tf_op=net/dense/MatMul"] * 2],
    }
    nested = {
        "address": pa.array([None, 64, 4096]),
        "in_use_bytes": pa.array([None, 256, 768]),
        "stack": pa.array([LOSS, LIBRARY, None], pa.int32()),
    }
    return Trace(events.build(columns), nested=pa.table(nested), stacks=STACKS)


def test_by_layer_and_line() -> None:
    found = {by: memory_breakdown(step(), by).set_index(by)["bytes"].to_dict() for by in ("layer", "line")}
    assert found["layer"] == {"net/dense": 300, "net/out": 400, "": 800}
    assert found["line"] == {"model.py:4": 300, "train.py:30": 400, "": 800}


def test_an_allocation_of_a_profile_is_of_the_op_that_it_names() -> None:
    alive = live_buffers(profile(), 20, allocator="GPU_0_bfc").set_index("bytes")
    assert alive["layer"].to_dict() == {256: "net/dense", 512: "net/dense"}
    assert alive["line"].to_dict() == {256: "train.py:30", 512: "model.py:4"}


def test_without_stacks_lines_are_not_available() -> None:
    assert why_not(memory_breakdown(step(stacks=False), "line")).id == "no_stacks"
    assert (live_buffers(step(stacks=False), 1500, allocator="cpu")["line"] == "").all()


def test_the_tab_says_layers_and_lines() -> None:
    blocks = {block["title"]: block for block in tab(step(), "Memory")["blocks"]}
    assert [row[0] for row in blocks["Peak memory by layer"]["rows"]] == [
        "(no layer)",
        "net/out",
        "net/dense",
    ]
    alive = blocks["Live at peak"]
    at = [column["name"] for column in alive["columns"]].index("line")
    assert [row[at] for row in alive["rows"]] == ["", "train.py:30", "model.py:4", "model.py:4"]
