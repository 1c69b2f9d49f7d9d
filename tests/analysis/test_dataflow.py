"""Dataflow: edges by name, within a step, through transfers, in loops."""

import lzma
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.real_traces import each, real_trace, step_stats_files
from tfvis_nb import events
from tfvis_nb.analysis.subset import edges_in_steps

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def trace_of(*rows: dict[str, Any]) -> tv.Trace:
    """Make a trace of ops named by their labels, one after the other unless a start is given."""
    table = pd.DataFrame(
        [
            {"start_ns": 10 * number, "duration_ns": 5, "kind": "op", "device": CPU, "step": 0, "lane": "ops"}
            | {
                "name": (row.get("detail") or "").partition(" = ")[0],
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


def test_of_alternative_inputs_the_last_one_counts() -> None:
    plain = trace_of(*({"detail": f"{name} = Op()"} for name in ("first", "b", "later", "c")))
    inputs = pa.array([None, ["first|later"], ["first"], ["first|later", "b"]])
    trace = tv.Trace(plain.events, nested=pa.table({"graph_inputs": inputs}))
    assert edges(trace) == [(0, 1, "data"), (0, 2, "data"), (1, 3, "data"), (2, 3, "data")]


def profile_of(*rows: dict[str, Any]) -> tv.Trace:
    """Make a profile of events ordered by start, some with ``produced``, ``consumed`` or ``graph_inputs``."""
    table = pd.DataFrame([{"kind": "host", "device": CPU, "step": 0} | row for row in rows])
    links = ("produced", "consumed", "graph_inputs")
    nested = pa.table({name: [row.get(name) for row in rows] for name in links})
    columns = {name: table[name] for name in table.columns if name not in links}
    return tv.Trace(events.build(columns), nested=nested)


def host(name: str, lane: str, start_ns: int, duration_ns: int, **links: int) -> dict[str, Any]:
    return {"name": name, "lane": lane, "start_ns": start_ns, "duration_ns": duration_ns} | links


def op(name: str, lane: str, start_ns: int, *given: str) -> dict[str, Any]:
    return host(name, lane, start_ns, 1) | {"kind": "op", "graph_inputs": list(given)}


def test_inputs_come_from_the_same_run_of_a_function() -> None:
    trace = profile_of(
        host("FunctionRun", "python", 0, 60, produced=7),
        host("FunctionRun", "python", 1, 40, produced=8),
        host("ExecutorState::Process", "one", 10, 20, consumed=7),
        op("a", "one", 11),
        host("ExecutorState::Process", "other", 12, 30, consumed=8),
        op("a", "other", 13),
        op("b", "one", 20, "a"),
        op("b", "other", 30, "a"),
    )
    assert [edge for edge in edges(trace) if edge[2] == "data"] == [(3, 6, "data"), (5, 7, "data")]


def test_parts_of_a_function_on_several_devices_are_one_run() -> None:
    trace = profile_of(
        host("KernelAndDeviceFunc::Run", "python", 0, 60),
        host("FunctionRun", "python", 1, 10, produced=7),
        host("FunctionRun", "python", 11, 40, produced=8),
        host("ExecutorState::Process", "one", 12, 10, consumed=7),
        op("a", "one", 13),
        host("ExecutorState::ProcessAsync::Start", "one", 15, 2, produced=9),
        host("CollectiveExecutor::RunClosure", "handed over", 18, 10, consumed=9),
        op("c", "handed over", 20, "a"),
        host("ExecutorState::Process", "other", 30, 10, consumed=8),
        op("b", "other", 31, "a", "c"),
        # Another run of the same step.
        host("FunctionRun", "python", 70, 20, produced=10),
        host("ExecutorState::Process", "one", 71, 10, consumed=10),
        op("b", "one", 72, "a", "c"),
    )
    assert [edge for edge in edges(trace) if edge[2] == "data"] == [
        (4, 7, "data"),
        (4, 9, "data"),
        (7, 9, "data"),
    ]


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


def test_host_memory_inputs_of_gpu_ops_come_by_copy() -> None:
    copy = {"tensor": "a", "kind": "memcpy", "device": GPU, "source": GPU, "destination": CPU}
    found = trace_of(
        {"detail": "a = Const()", "device": GPU},
        {"name": "a/_7"} | copy,
        {"detail": "b = Range(a/_7)", "device": GPU},
        {"detail": "c = Neg(a)", "device": GPU},
    )
    assert edges(found) == [(0, 1, "transfer"), (1, 2, "transfer"), (0, 3, "data")]


def test_copies_to_the_host_have_producers_and_consumers(data: Path) -> None:
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
    trace = tv.Trace(real_trace(data / "local_mlp_step1.pb").events)
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


GRAPHS = [
    path
    for path in step_stats_files()
    if path.name.endswith((".pb", ".pb.xz")) and "while" not in path.name and "cond" not in path.name
]


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", each(GRAPHS))
def test_same_edges_as_a_walk_over_the_partition_graphs(path: Path) -> None:
    """An input of a node that ran once comes from the node itself or, by a transfer, from another device."""
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    data = path.read_bytes()
    message = RunMetadata.FromString(lzma.decompress(data) if path.suffix == ".xz" else data)
    nodes = {node.name: node for graph in message.partition_graphs for node in graph.node}
    sent = {
        (node.attr["tensor_name"].s, node.attr["recv_device"].s): node
        for node in nodes.values()
        if node.op in ("_Send", "_HostSend")
    }
    trace = real_trace(path)
    table = trace.events
    ran = table[table["kind"].isin(["op", "collective"])]
    rows: dict[tuple[str, str], list[int]] = defaultdict(list)
    for key, event in zip(zip(ran["name"], ran["device"], strict=True), ran.index.tolist(), strict=True):
        rows[key].append(event)
    names, everywhere = table["name"].tolist(), {name for name, _ in rows}
    into: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for source, target, kind in edges(trace):
        into[target].add((names[source], kind))
    reached = {event: {name for name, _ in found} for event, found in into.items()}
    through: dict[int, set[str]] = defaultdict(set)
    for source, target, kind in edges(trace):
        if kind == "transfer":
            through[target] |= reached.get(source, set())
    missing = []
    for (name, device), events_of_node in rows.items():
        node = nodes.get(name)
        # A Merge starts with the input that is there first.
        exact = node is not None and node.op != "Merge" and len(events_of_node) == 1
        for given in node.input if node is not None and exact else ():
            origin, kind = given.lstrip("^").partition(":")[0], "control" if given[0] == "^" else "data"
            (event,) = events_of_node
            if len(rows.get((origin, device), [])) == 1:
                missing += [] if (origin, kind) in into[event] else [(origin, name)]
            elif (received := nodes.get(origin)) and received.op in ("_Recv", "_HostRecv"):
                channel = received.attr["tensor_name"].s, received.attr["recv_device"].s
                # A control dependency on another device is sent as a constant, `node/ctrl`.
                made = re.sub(r"/ctrl(/_\d+|_S\d+)$", "", sent[channel].input[0].partition(":")[0])
                if made in everywhere and made not in reached.get(event, set()) | through[event]:
                    missing.append((made, name))
    assert missing == []


def test_graphs_add_inputs_to_labels_in_every_way_of_asking(data: Path, tmp_path: Path) -> None:
    trace = tv.read_trace(data / "gpu_tf221_mixed.pb.xz")
    labels = tv.Trace(trace.events, nested=trace.nested)
    added = set(edges(trace)) - set(edges(labels))
    assert len(added) == 4
    again = tv.read_trace(trace.to_parquet(tmp_path / "step.parquet"))
    assert edges(again) == edges(trace)
    fresh = tv.Trace(trace.events, nested=trace.nested, graphs=trace.graphs)
    assert edges_in_steps(fresh, np.array([0])).equals(trace.edges)


def test_texts_that_are_missing_are_empty_ones() -> None:
    rows: list[dict[str, Any]] = [
        {"detail": "a = Const()", "device": GPU},
        {"kind": "memcpy", "name": "copy", "tensor": "a", "source": GPU, "destination": CPU},
        {"detail": "b = Split(a)", "name": "b"},
        {"kind": "memcpy", "name": "copy", "source": GPU, "destination": CPU},
        {"kind": "op", "name": "c", "detail": "c = Neg(b)"},
    ]
    with_empty = trace_of(*rows)
    rows[3]["tensor"] = rows[4]["detail"] = rows[4]["name"] = None
    without = trace_of(*rows)
    assert without.events["tensor"].isna().any()
    assert edges(without) == [edge for edge in edges(with_empty) if 4 not in edge[:2]]
    assert len(edges(without)) > 1
