"""Dataflow: edges by name, within a step, through transfers, in loops."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import real_trace
from tfvis_nb import events

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def trace_of(*rows: dict[str, Any]) -> tv.Trace:
    """Make a trace of ops named by their labels, one after the other unless a start is given."""
    table = pd.DataFrame(
        [
            {"start_ns": 10 * number, "duration_ns": 5, "kind": "op", "device": CPU, "step": 0, "lane": "ops"}
            | {
                "name": row.get("detail", "").partition(" = ")[0],
                "tensor": "",
                "destination": "",
                "source": "",
            }
            | row
            for number, row in enumerate(rows)
        ]
    )
    return tv.Trace(events.order(events.build({name: table[name] for name in table.columns}))[0])


def edges(trace: tv.Trace) -> list[tuple[int, int, str]]:
    found = trace.edges
    return list(zip(found["source"].tolist(), found["target"].tolist(), found["kind"].tolist(), strict=True))


def test_data_and_control() -> None:
    found = trace_of(
        {"detail": "a = Const()"},
        {"detail": "[cpu 1.0MB 1.0MB] b = Split(a)", "name": "b"},
        {"detail": "c = Add(b:1, a, ^b)"},
        {"detail": "c2 = Neg(gone, ^gone2)"},
    )
    assert edges(found) == [(0, 1, "data"), (0, 2, "data"), (1, 2, "data"), (1, 2, "control")]


def test_steps_are_apart() -> None:
    found = trace_of(
        {"detail": "a = Const()"},
        {"detail": "b = Neg(a)", "step": 1},
        {"detail": "a = Const()", "step": 1, "start_ns": 15},
    )
    assert edges(found) == []
    found = trace_of(
        {"detail": "a = Const()"}, {"detail": "a = Const()", "step": 1}, {"detail": "b = Neg(a)", "step": 1}
    )
    assert edges(found) == [(1, 2, "data")]


def test_loops_take_the_latest_execution_before() -> None:
    found = trace_of(
        {"detail": "enter = Enter(x)"},
        {"detail": "merge = Merge(enter, next)"},
        {"detail": "next = NextIteration(merge)"},
        {"detail": "merge = Merge(enter, next)"},
        {"detail": "next = NextIteration(merge)"},
        {"detail": "exit = Exit(merge)"},
    )
    assert edges(found) == [
        (0, 1, "data"), (1, 2, "data"), (0, 3, "data"), (2, 3, "data"), (3, 4, "data"), (3, 5, "data"),
    ]  # fmt: skip


def test_a_copy_lies_between_producer_and_consumer() -> None:
    found = trace_of(
        {"detail": "a = Const()"},
        {"name": "a/_5", "tensor": "a", "kind": "memcpy", "device": GPU, "source": CPU, "destination": GPU},
        {"detail": "b = Neg(a/_5)", "device": GPU},
        {"detail": "c = Neg(a/_6)", "device": GPU.replace("GPU:0", "GPU:1")},
    )  # fmt: skip
    assert edges(found) == [(0, 1, "transfer"), (1, 2, "transfer"), (0, 3, "data")]


def test_an_input_that_an_op_of_the_gpu_wants_in_host_memory_comes_by_its_copy() -> None:
    copy = {"tensor": "a", "kind": "memcpy", "device": GPU, "source": GPU, "destination": CPU}
    found = trace_of(
        {"detail": "a = Const()", "device": GPU},
        {"name": "a/_7"} | copy,
        {"detail": "b = Range(a/_7)", "device": GPU},
        {"detail": "c = Neg(a)", "device": GPU},
    )
    assert edges(found) == [(0, 1, "transfer"), (1, 2, "transfer"), (0, 3, "data")]


def test_every_copy_of_a_tensor_to_the_host_has_a_producer_and_consumers(data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_mixed.pb.xz")
    copies = trace.events.index[
        (trace.events["op"] == "MemcpyD2H") & (trace.events["tensor"] != "")
    ].to_numpy()
    assert len(copies) > 5
    moved = trace.edges[trace.edges["kind"] == "transfer"]
    assert set(copies) <= set(moved["source"])
    assert set(copies) <= set(moved["target"])


def test_names_that_only_look_partitioned() -> None:
    found = trace_of(
        {"detail": "merge = Merge()"}, {"detail": "merge/_13 = Merge()"}, {"detail": "b = Neg(merge/_13)"}
    )
    assert edges(found) == [(1, 2, "data")]


def test_kernels_belong_to_the_iteration_that_launched_them() -> None:
    kernel = {"name": "m", "kind": "kernel", "lane": "stream:1", "device": GPU}
    found = trace_of(
        {"detail": "m = MatMul()", "start_ns": 0, "device": GPU},
        {"detail": "m = MatMul()", "start_ns": 100, "device": GPU},
        kernel | {"start_ns": 200, "scheduled_ns": 3},
        kernel | {"start_ns": 210, "scheduled_ns": 103},
        kernel | {"start_ns": 220, "name": "other", "scheduled_ns": 103},
    )
    assert edges(found) == [(0, 2, "launch"), (1, 3, "launch")]


def test_same_edges_as_a_slow_search_in_a_graph_without_loops(data: Path) -> None:
    trace = real_trace(data / "local_mlp_step1.pb")
    table = trace.events
    number = {name: event for event, name in table["name"].items()}
    assert len(number) == len(table)
    expected = set()
    for event, label in table["detail"].items():
        inputs = re.search(r" = [^ (]+\((.*)\)$", label)
        assert inputs is not None
        for text in inputs[1].split(", ") if inputs[1] else []:
            producer = number[text.lstrip("^").partition(":")[0]]
            expected.add((producer, event, "control" if text.startswith("^") else "data"))
    assert set(edges(trace)) == expected
    assert len(edges(trace)) == len(expected)


@pytest.mark.parametrize("name", ["gpu_tf221_dist", "gpu_tf218_dist", "cpu_tf18_dist", "cpu_tf115_dist"])
def test_every_received_tensor_has_a_producer_and_consumers(data: Path, name: str) -> None:
    trace = real_trace(data / f"{name}.pb.xz")
    table = trace.events
    moves = trace.edges[trace.edges["kind"] == "transfer"]
    received = table.index[table["kind"] == "transfer"]
    made = moves[moves["target"].isin(received)]
    assert set(made["target"]) == set(received)
    node = table.loc[made["target"], "tensor"].str.replace(r"^edge_\d+_", "", regex=True)
    assert node.tolist() == table.loc[made["source"], "name"].tolist()
    sources = table.loc[made["target"], "source"].astype(str).tolist()
    assert sources == table.loc[made["source"], "device"].astype(str).tolist()
    used = moves[moves["source"].isin(received)]
    assert set(used["source"]) == set(received)
    targets = table.loc[used["source"], "destination"].astype(str).tolist()
    assert targets == table.loc[used["target"], "device"].astype(str).tolist()


def test_loop_over_grpc_pairs_iterations(data: Path) -> None:
    trace = real_trace(data / "cpu_tf221_dist_while.pb.xz")
    table = trace.events
    rows = table[table["tensor"].str.endswith("while/LoopCond/_14")]
    made = trace.edges[trace.edges["target"].isin(rows.index)]
    assert len(rows) == len(made) == made["source"].nunique()


def test_edges_are_sound_on_real_traces(step_stats_path: Path) -> None:
    trace = tv.read_trace(step_stats_path)
    found, table = trace.edges, trace.events
    assert not found.duplicated().any()
    assert (found["source"] != found["target"]).all()
    assert found["target"].is_monotonic_increasing
    step = table["step"].to_numpy()
    assert (step[found["source"]] == step[found["target"]]).all()
    local = found[found["kind"].isin(["data", "control"])]
    task = table["task"].astype(str).to_numpy()
    local = local[task[local["source"]] == task[local["target"]]]
    start = table["start_ns"].to_numpy()
    assert (start[local["source"]] <= start[local["target"]]).all()
