"""The time of each line of code."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import flame_graph, op_statistics, source_lines, why_not
from tfvis_nb.analysis.source.source_lines import Frames
from tfvis_nb.analysis.steps.flame_graph import Place
from tfvis_nb.core.stacks import PHASES, Frame, StackBuilder
from tfvis_nb.events import KINDS

SIDES = ("device", "host", "network")


def made(seed: int, count: int = 200) -> Trace:
    """A trace of all kinds of events, with stacks of the user's code, of packages, and none."""
    draw = np.random.default_rng(seed)
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    outer = Frame("train.py", 3, "main", "main()")
    stacks = [
        stack_of([outer, Frame("model.py", line, "call", f"line {line}"), Frame("ops.py", line, own=False)])
        for line in range(1, 5)
    ]
    stacks.append(stack_of([Frame("ops.py", 9, own=False)]))
    lanes = draw.choice(["ops", "python", "stream:1", "recv"], count)
    table = events.build(
        {
            "start_ns": np.sort(draw.integers(0, 1000, count)),
            "duration_ns": draw.integers(0, 90, count),
            "kind": draw.choice(KINDS, count),
            "device": draw.choice(["/device:GPU:0", "/device:CPU:0"], count),
            "lane": lanes,
            "op": draw.choice(["MatMul", "While", "Add"], count),
            "step": draw.integers(-1, 3, count),
            "bytes": pd.array(draw.integers(0, 99, count), "Int64"),
        }
    )
    table, _ = events.order(table)
    number = [None if one < 0 else stacks[one] for one in draw.integers(-1, len(stacks), count)]
    phase = [None if one < 0 else PHASES[one] for one in draw.integers(-1, 3, count)]
    nested = pa.table({"stack": pa.array(number, pa.int32()), "phase": pa.array(phase, pa.string())})
    return Trace(table, nested=nested, stacks=builder.table())


@pytest.mark.parametrize("frames", ["own", "all"])
@pytest.mark.parametrize("steps", [None, [0, 2]])
@pytest.mark.parametrize("seed", range(5))
def test_times_add_up_to_those_of_the_ops(seed: int, steps: list[int] | None, frames: Frames) -> None:
    trace = made(seed)
    lines, ops = source_lines(trace, frames, steps), op_statistics(trace, steps=steps)
    for side in SIDES:
        assert lines[f"{side}_ns"].sum() == ops.loc[ops["side"] == side, "self_ns"].sum()
    assert lines["events"].sum() == ops["count"].sum()
    chosen = trace.events if steps is None else trace.events[trace.events["step"].isin(steps)]
    assert (lines["copy_bytes"] + lines["output_bytes"]).sum() == chosen["bytes"].sum()
    assert lines["host_share"].sum() == pytest.approx(1)


def test_shares_leave_out_callers_that_wait() -> None:
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    number = stack_of([Frame("train.py", 3, "step")])
    columns = {
        "op": ["KernelAndDeviceFunc::Run", "MatMul", "ExecutorState::Process"],
        "kind": ["host", "op", "host"],
    }
    lanes = {"lane": ["python", "tf_Compute/1", "tf_Compute/2"]}
    table = events.build({"start_ns": [0, 10, 90], "duration_ns": [100, 90, 10], **columns, **lanes})
    nested = pa.table({"stack": pa.array([None, number, None], pa.int32())})
    lines = source_lines(Trace(table, nested=nested, stacks=builder.table())).set_index("reason")
    assert lines["host_share"].dropna().to_dict() == {"": 0.9, "runtime": 0.1}
    assert lines["host_ns"]["waiting"] == 100


@pytest.mark.parametrize(("lane", "side"), [("collective_ops/1", "host"), ("collective", "network")])
def test_waits_in_collectives_are_no_time_of_a_line(lane: str, side: str) -> None:
    """The second rank sleeps for 80 ns. On threads, calls inside the first one's collective wait for it."""
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    run, sleep = (stack_of([Frame("train.py", line, "step")]) for line in (3, 9))
    columns: dict[str, list[Any]] = {
        "start_ns": [0, 1, 80, 2],
        "duration_ns": [100, 80, 20, 90],
        "kind": ["collective", "op", "collective", "host"],
        "op": ["CollectiveReduceV2", "EagerPyFunc", "CollectiveReduceV2", "Loop"],
        "lane": [lane, "ops", lane, lane],
        "task": ["/task:0", "/task:1", "/task:1", "/task:0"],
        "name": ["sum", "sleep", "sum", "Loop"],
    }
    rows = 4 if side == "host" else 3
    table, order = events.order(events.build({name: values[:rows] for name, values in columns.items()}))
    nested = pa.table({"stack": pa.array([run, sleep, run, run][:rows], pa.int32())}).take(order)
    trace = Trace(table, nested=nested, stacks=builder.table())
    lines = source_lines(trace)
    sums = lines.groupby(lines["line"].fillna(0))[["host_ns", "network_ns"]].sum().T.to_dict()
    # The first rank works in the collective from 80 to 100, on threads for 12 of it in the call.
    works = {"host_ns": 12, "network_ns": 28} if side == "host" else {"host_ns": 0, "network_ns": 40}
    waits = {"host_ns": 78, "network_ns": 2} if side == "host" else {"host_ns": 0, "network_ns": 80}
    assert sums == {3: works, 9: {"host_ns": 80, "network_ns": 0}, 0: waits}
    assert lines.loc[lines["line"].isna(), "reason"].tolist() == ["waiting"]
    graph = flame_graph(trace, "stack", "host")
    assert graph.loc[graph["frame"] == "(waiting)", "total_ns"].sum() == waits["host_ns"]


def test_rows_are_lines_and_phases_or_reasons() -> None:
    lines = source_lines(made(1))
    keys = lines[["file", "line", "phase", "reason"]]
    assert not keys.duplicated().any()
    assert set(lines.loc[lines["line"].isna(), "reason"]) == {"waiting", "runtime", "library", "no stack"}
    assert set(lines.loc[lines["line"].notna(), "file"]) == {"model.py"}
    assert (lines.loc[lines["line"].notna(), "reason"] == "").all()
    assert set(source_lines(made(1), "all")["file"]) == {"ops.py", ""}


@pytest.mark.parametrize("side", ["device", "host"])
def test_the_flame_graph_gives_the_same_reasons(side: Place) -> None:
    trace = made(3)
    lines, tree = source_lines(trace), flame_graph(trace, "stack", side)
    lost = lines[(lines["line"].isna()) & (lines[f"{side}_ns"] > 0)]
    found = tree[tree["frame"].str.startswith("(")]
    assert set(zip(found["frame"], found["total_ns"], strict=True)) == {
        (f"({reason})", time) for reason, time in zip(lost["reason"], lost[f"{side}_ns"], strict=True)
    }


def test_calls_without_a_line_are_named_by_their_work() -> None:
    names = {
        "FunctionRun": "waiting",
        "KernelAndDeviceFunc::Run": "waiting",
        "cuStreamSynchronize": "waiting",
        "tf.function-graph_building": "compiling",
        "backend_compile_and_load": "compiling",
        "EagerLocalExecute: __inference_compiled_7": "runtime",
        "Iterator::Prefetch": "waiting",
        "InstantiatedCapturedFunction::Run": "waiting",
        "Iterator::BatchV2": "input pipeline",
        "ExecutorState::Process": "runtime",
    }
    count = len(names)
    table = events.build(
        {
            "start_ns": range(0, 10 * count, 10),
            "duration_ns": [5] * count,
            "kind": ["host"] * count,
            "lane": ["python"] * count,
            "name": list(names),
            "op": list(names),
        }
    )
    nested = pa.table({"stack": pa.array([None] * count, pa.int32())})
    lines = source_lines(Trace(table, nested=nested, stacks=made(0).stacks))
    expected = pd.Series(list(names.values())).value_counts().to_dict()
    assert lines.set_index("reason")["events"].to_dict() == expected


def test_the_line_with_the_most_time_is_first() -> None:
    builder = StackBuilder()
    stack_of = builder.stack  # not the method of tables
    cheap, dear = (stack_of([Frame("Cell [2]", line, "step")]) for line in (4, 5))
    table = events.build({"start_ns": [0, 10, 20], "duration_ns": [3, 9, 3], "kind": ["op"] * 3})
    nested = pa.table({"stack": pa.array([cheap, dear, cheap], pa.int32())})
    lines = source_lines(Trace(table, nested=nested, stacks=builder.table()))
    assert lines[["line", "host_ns", "events", "first"]].to_numpy().tolist() == [[5, 9, 1, 1], [4, 6, 2, 0]]


def test_what_cannot_be_said() -> None:
    table = events.build({"start_ns": [0], "duration_ns": [3], "kind": ["op"]})
    trace = Trace(table)
    assert why_not(trace.source_lines).id == "no_stacks"
    assert why_not(source_lines(Trace(table.iloc[:0]))).id == "no_events"
    with raises_id(ValueError, "not_one_of"):
        source_lines(trace, "mine")  # type: ignore[arg-type]
