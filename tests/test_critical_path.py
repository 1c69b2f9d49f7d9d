"""Critical paths and slack against the longest chains and against steps that are run again, delayed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA, name_of, step_stats_files, xspace_files
from tfvis_nb import Trace, events
from tfvis_nb.analysis.answers import why_not
from tfvis_nb.analysis.critical_path import CATEGORIES, critical_path, path_events, path_lengths
from tfvis_nb.analysis.slack import slack
from tfvis_nb.analysis.walks import WAITS

TASK = "/job:worker/replica:0/task:{}"
GPU = TASK.format(0) + "/device:GPU:0"
CPU = TASK.format(0) + "/device:CPU:0"


class Graph:
    """Ops that start a given time after the last of their inputs has ended; those without start at 0."""

    def __init__(self, ops: list[tuple[int, int, list[int]]]) -> None:
        self.ops = ops

    def starts(self, later: dict[int, int] | None = None) -> list[int]:
        """When each op starts if some take longer."""
        starts: list[int] = []
        ends: list[int] = []
        for number, (duration, delay, inputs) in enumerate(self.ops):
            starts.append(max(ends[each] for each in inputs) + delay if inputs else 0)
            ends.append(starts[-1] + duration + (later or {}).get(number, 0))
        return starts

    def makespan(self, later: dict[int, int] | None = None) -> int:
        starts = self.starts(later)
        return max(
            start + op[0] + (later or {}).get(number, 0)
            for number, (start, op) in enumerate(zip(starts, self.ops, strict=True))
        )

    def longest(self) -> int:
        """The longest of all chains of ops and delays, each of them tried."""

        def chains(op: int) -> list[int]:
            duration, delay, inputs = self.ops[op]
            return [before + delay + duration for each in inputs for before in chains(each)] or [duration]

        return max(length for op in range(len(self.ops)) for length in chains(op))

    def trace(self) -> tuple[Trace, list[int]]:
        """The trace of one run, and the op of each of its events."""
        columns = {
            "start_ns": self.starts(),
            "duration_ns": [op[0] for op in self.ops],
            "name": [f"n{number}" for number in range(len(self.ops))],
            "detail": [
                f"n{number} = Op({', '.join(f'n{each}' for each in op[2])})"
                for number, op in enumerate(self.ops)
            ],
            "kind": ["op"] * len(self.ops),
            "lane": ["ops"] * len(self.ops),
        }
        table, before = events.order(events.build(columns))
        return Trace(table), before.tolist()


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    ops = []
    for number in range(draw(st.integers(1, 9))):
        inputs = draw(st.lists(st.integers(0, number - 1), max_size=3, unique=True)) if number else []
        ops.append((draw(st.integers(1, 20)), draw(st.integers(0, 5)), inputs))
    return Graph(ops)


@settings(deadline=None)
@given(graphs())
def test_the_path_is_the_longest_chain(graph: Graph) -> None:
    trace, op_of = graph.trace()
    path = critical_path(trace)
    assert path["duration_ns"].sum() == graph.makespan() == graph.longest()
    running = path[~path["category"].isin(WAITS)]
    chain = [op_of[event] for event in running["event"]]
    assert running["duration_ns"].tolist() == [graph.ops[op][0] for op in chain]
    assert not graph.ops[chain[0]][2]
    for before, after in itertools.pairwise(chain):
        assert before in graph.ops[after][2]
    waits = path[path["category"].isin(WAITS)]
    assert waits["duration_ns"].sum() == sum(graph.ops[op][1] for op in chain[1:])


@settings(deadline=None)
@given(graphs())
def test_slack_is_how_much_longer_an_op_can_take(graph: Graph) -> None:
    trace, op_of = graph.trace()
    table = slack(trace)
    if not any(op[2] for op in graph.ops):
        assert why_not(table)
        return
    whole = graph.makespan()
    for event, spare in zip(table["event"], table["slack_ns"], strict=True):
        assert graph.makespan({op_of[event]: int(spare)}) == whole
        assert graph.makespan({op_of[event]: int(spare) + 1}) > whole


ROW = st.fixed_dictionaries(
    {
        "start_ns": st.integers(0, 60),
        "duration_ns": st.integers(0, 20),
        "step": st.integers(-1, 1),
        "task": st.sampled_from([TASK.format(0), TASK.format(1)]),
        "place": st.sampled_from(
            [
                ("op", "ops", "CPU:0"),
                ("op", "ops", "GPU:0"),
                ("kernel", "stream:1", "GPU:0"),
                ("memcpy", "memcpy D2H", "GPU:0"),
                ("transfer", "recv", "CPU:0"),
                ("collective", "collective", "CPU:0"),
                ("host", "python3", "CPU:0"),
                ("host", "tf_Compute/1", "CPU:0"),
                ("sync", "sync", "GPU:0"),
            ]
        ),
        "name": st.sampled_from("abcd"),
        "op": st.sampled_from(["MatMul", "IteratorGetNext", "ExecutorState::Process", "_Recv"]),
        "inputs": st.lists(st.sampled_from(["a", "b", "^c", "d/_1"]), max_size=2),
        "ready": st.one_of(st.none(), st.integers(0, 60)),
        "launch": st.one_of(st.none(), st.integers(1, 3)),
        "produced": st.one_of(st.none(), st.integers(1, 3)),
        "consumed": st.one_of(st.none(), st.integers(1, 3)),
    }
)


def any_trace(rows: list[dict[str, Any]]) -> Trace:
    """Events of all kinds at any times: they overlap, wait in circles, end before they are ready."""
    rows = sorted(rows, key=lambda row: (row["start_ns"], -row["duration_ns"]))
    columns: dict[str, Any] = {
        name: [row[name] for row in rows]
        for name in ("start_ns", "duration_ns", "step", "task", "name", "op")
    }
    columns |= {name: [row["place"][at] for row in rows] for at, name in enumerate(("kind", "lane"))}
    columns["device"] = [f"{row['task']}/device:{row['place'][2]}" for row in rows]
    columns["tensor"] = [
        f"edge_1_{row['name']}" if row["place"][0] in ("transfer", "memcpy") else "" for row in rows
    ]
    columns["source"] = columns["destination"] = columns["device"]
    columns["detail"] = [f"{row['name']} = {row['op']}({', '.join(row['inputs'])})" for row in rows]
    columns["scheduled_ns"] = pd.array([row["ready"] for row in rows], "Int64")
    nested = pa.table(
        {
            name: pa.array([row[name] for row in rows], pa.int64())
            for name in ("launch", "produced", "consumed")
        }
    )
    return Trace(events.build(columns), nested=nested)


def check_tiles(trace: Trace) -> None:
    """Every step is covered from its begin to its end, once; the parts add up."""
    path = trace.critical_path
    steps = trace.steps[(trace.steps["step"] >= 0) & (trace.steps["duration_ns"] > 0)]
    if path.empty:
        return
    assert sorted(path["step"].unique()) == sorted(steps["step"])
    for step in steps.to_dict("records"):
        pieces = path[path["step"] == step["step"]]
        start = pieces["start_ns"].to_numpy()
        end = start + pieces["duration_ns"].to_numpy()
        assert (pieces["duration_ns"] > 0).all()
        assert (start[0], end[-1]) == (step["start_ns"], step["end_ns"])
        assert np.array_equal(start[1:], end[:-1])
        own = trace.events.iloc[pieces["event"]]
        running = ~pieces["category"].isin(WAITS).to_numpy()
        assert (own["start_ns"].to_numpy() <= start)[running].all()
        assert ((own["start_ns"] + own["duration_ns"]).to_numpy() >= end)[running].all()
    lengths = path_lengths(trace).groupby("step")["duration_ns"].sum()
    assert lengths.to_dict() == steps.set_index("step")["duration_ns"].to_dict()


def check_slack(trace: Trace) -> None:
    """No event ended too late, and what ends on the path ended just in time."""
    table = trace.slack
    if table.empty:
        return
    assert (table["slack_ns"] >= 0).all()
    path = trace.critical_path
    own = trace.events.iloc[path["event"]]
    ends = (own["start_ns"] + own["duration_ns"]).to_numpy() == (
        path["start_ns"] + path["duration_ns"]
    ).to_numpy()
    same = own["step"].to_numpy() == path["step"].to_numpy()
    on_path = path["event"][ends & same & ~path["category"].isin(WAITS).to_numpy()].unique()
    assert (table.set_index("event")["slack_ns"].reindex(on_path).dropna() == 0).all()


@settings(deadline=None, max_examples=300)
@given(st.lists(ROW, min_size=1, max_size=14))
def test_paths_of_anything_cover_their_steps(rows: list[dict[str, Any]]) -> None:
    trace = any_trace(rows)
    check_tiles(trace)
    assert trace.slack.empty or (trace.slack["slack_ns"] >= 0).all()
    # A path may lead through the events of another step, of which the slack of this one knows nothing; and
    # those that take no time may wait for each other in a circle.
    check_slack(any_trace([{**row, "step": 0, "duration_ns": row["duration_ns"] + 1} for row in rows]))


@pytest.mark.parametrize("path", [*step_stats_files(), *xspace_files()], ids=name_of)
def test_paths_of_real_traces_cover_their_steps(path: Path) -> None:
    trace = tv.read_trace(path)
    check_tiles(trace)
    check_slack(trace)
    lit = path_events(trace)
    assert lit.sum() <= len(lit)
    assert set(trace.critical_path["category"].unique()) <= set(CATEGORIES)


def built(rows: list[dict[str, Any]]) -> Trace:
    """A trace of rows with what they have; a kind, an op's lane and its CPU unless said otherwise."""
    rows = sorted(rows, key=lambda row: (row["start_ns"], -row["duration_ns"]))
    defaults = {
        "kind": "op",
        "lane": "ops",
        "device": CPU,
        "task": TASK.format(0),
        "name": "",
        "op": "MatMul",
        "detail": "",
    }
    names = sorted({name for row in rows for name in row} | set(defaults))
    columns: dict[str, Any] = {name: [row.get(name, defaults.get(name)) for row in rows] for name in names}
    numbers = {name: columns.pop(name) for name in ("launch", "produced", "consumed") if name in columns}
    for name in ("source", "destination", "tensor"):
        if name in columns:
            columns[name] = [value or "" for value in columns[name]]
    if "scheduled_ns" in columns:
        columns["scheduled_ns"] = pd.array(columns["scheduled_ns"], "Int64")
    nested = (
        pa.table({name: pa.array(values, pa.int64()) for name, values in numbers.items()})
        if numbers
        else None
    )
    return Trace(events.build(columns), nested=nested)


def told(trace: Trace) -> list[tuple[int, str, str]]:
    """Of each piece of the path how long it is, what it is, and the name of its event."""
    path = trace.critical_path
    names = trace.events["name"].iloc[path["event"]]
    return [
        (int(length), str(category), str(name))
        for length, category, name in zip(path["duration_ns"], path["category"], names, strict=True)
    ]


def op(name: str, start: int, duration: int, *inputs: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "start_ns": start,
        "duration_ns": duration,
        "detail": f"{name} = Op({', '.join(inputs)})",
        **more,
    }


def kernel(name: str, start: int, duration: int, launched: int, **more: Any) -> dict[str, Any]:
    row = {"name": name, "start_ns": start, "duration_ns": duration, "scheduled_ns": launched}
    return {**row, "kind": "kernel", "lane": "stream:1", "device": GPU, **more}


def test_kernels_wait_for_their_launch_or_for_their_stream() -> None:
    trace = built(
        [
            op("a", 0, 30, device=GPU),
            op("b", 30, 30, "a", device=GPU),
            kernel("a", 20, 100, 10),
            kernel("b", 125, 25, 50),
        ]
    )
    assert told(trace) == [
        (10, "launch", "a"),
        (10, "launch_latency", "a"),
        (100, "device_compute", "a"),
        (5, "kernel_gap", "b"),
        (25, "device_compute", "b"),
    ]
    late = built(
        [
            op("a", 0, 30, device=GPU),
            op("b", 200, 30, "a", device=GPU),
            kernel("a", 20, 100, 10),
            kernel("b", 225, 25, 215),
        ]
    )
    assert told(late)[-3:] == [(15, "launch", "b"), (10, "launch_latency", "b"), (25, "device_compute", "b")]


def test_an_op_waits_for_the_copy_that_it_launched() -> None:
    copy = kernel("where", 40, 50, 20, kind="memcpy", lane="memcpy D2H", op="MemcpyD2H")
    trace = built([op("where", 0, 100, device=GPU), copy])
    assert told(trace) == [
        (20, "launch", "where"),
        (20, "launch_latency", "where"),
        (50, "d2h", "where"),
        (10, "launch", "where"),
    ]


def test_turns_of_an_executors_thread_are_seen_by_their_stamps() -> None:
    trace = built(
        [
            op("a", 0, 10_000, scheduled_ns=0),
            op("b", 10_300, 50_000, scheduled_ns=9_980),
            op("c", 60_900, 10_000, "a", scheduled_ns=60_270),
        ]
    )
    assert [name for _, category, name in told(trace) if category == "host_compute"] == ["a", "b", "c"]
    assert told(trace)[-2:] == [(600, "queueing", "c"), (10_000, "host_compute", "c")]


def test_ranks_wait_for_the_last_of_a_collective() -> None:
    def rank(number: int, start: int) -> dict[str, Any]:
        task = TASK.format(number)
        shared = {"kind": "collective", "lane": "collective", "task": task, "device": f"{task}/device:CPU:0"}
        return op("sum", start, 100 - start, f"grad{number}", op="CollectiveReduce", **shared)

    def gradient(number: int, length: int) -> dict[str, Any]:
        task = TASK.format(number)
        return op(f"grad{number}", 0, length, task=task, device=f"{task}/device:CPU:0")

    trace = built([gradient(0, 20), gradient(1, 80), rank(0, 20), rank(1, 80), op("end", 100, 10, "sum")])
    assert told(trace) == [
        (80, "host_compute", "grad1"),
        (20, "communication", "sum"),
        (10, "host_compute", "end"),
    ]
    spare = trace.slack.set_index("event")["slack_ns"]
    names = trace.events["name"].tolist()
    assert spare[names.index("grad0")] == 60
    assert spare[names.index("grad1")] == 0


def test_tensors_wait_for_their_maker_and_for_their_channel() -> None:
    ps = "/job:ps/replica:0/task:0"
    sent = {"task": ps, "device": f"{ps}/device:CPU:0"}

    def received(name: str, start: int, end: int) -> dict[str, Any]:
        return {
            "kind": "transfer", "lane": "recv", "op": "RecvTensor", "name": name, "tensor": f"edge_1_{name}",
            "source": f"{ps}/device:CPU:0", "destination": CPU, "start_ns": start, "duration_ns": end - start,
        }  # fmt: skip

    trace = built(
        [
            op("w1", 0, 10, **sent),
            op("w2", 0, 12, **sent),
            received("w1", 15, 60),
            received("w2", 16, 100),
            op("use", 105, 20, "w1_S1", "w2_S2"),
        ]
    )
    assert told(trace) == [
        (10, "host_compute", "w1"),
        (5, "transfer_wait", "w1"),
        (45, "communication", "w1"),
        (40, "communication", "w2"),
        (5, "scheduling", "use"),
        (20, "host_compute", "use"),
    ]


def test_calls_wait_for_what_they_hand_to_other_threads() -> None:
    def host(name: str, start: int, end: int, lane: str = "python3", **more: Any) -> dict[str, Any]:
        return {
            "kind": "host",
            "lane": lane,
            "name": name,
            "op": name,
            "start_ns": start,
            "duration_ns": end - start,
            **more,
        }

    trace = built(
        [
            host("train", 0, 100),
            host("Run", 10, 95),
            host("FunctionRun", 20, 25, produced=1),
            host("ExecutorState::Process", 30, 50, "tf_Compute/1", consumed=1),
            host("ExecutorState::Process", 60, 90, "tf_Compute/2", consumed=1),
        ]
    )
    assert [(length, name) for length, _, name in told(trace)] == [
        (10, "train"),
        (10, "Run"),
        (5, "FunctionRun"),
        (5, "ExecutorState::Process"),
        (20, "ExecutorState::Process"),
        (10, "ExecutorState::Process"),
        (30, "ExecutorState::Process"),
        (5, "Run"),
        (5, "train"),
    ]
    assert "used" in why_not(trace.slack)


def test_graphs_know_inputs_that_labels_lack() -> None:
    # A GraphDef of two nodes, a and b, where b comes after a.
    graph = b"".join(b"\n" + bytes([len(node)]) + node for node in (b"\n\x01a", b"\n\x01b\x1a\x02^a"))
    rows = {"name": ["x", "a", "b"], "detail": ["x = Op()", "a = Op()", "b = Op()"]}
    columns = {"start_ns": [0, 0, 50], "duration_ns": [45, 40, 10], "kind": ["op"] * 3, "lane": ["ops"] * 3}
    trace = Trace(events.build({**columns, **rows}), graphs=[[graph]])
    assert [name for _, category, name in told(trace) if category == "host_compute"] == ["a", "b"]
    damaged = Trace(trace.events, graphs=[[graph[:-1]]])
    assert [name for _, category, name in told(damaged) if category == "host_compute"] == ["x", "b"]


def test_steps_that_are_not_there() -> None:
    trace = built([op("a", 0, 10)])
    assert why_not(critical_path(trace, 3)) == "there is no step 3"
    assert critical_path(trace, 0).equals(trace.critical_path)
    loose = built([op("a", 0, 10, step=-1)])
    assert "belongs to a step" in why_not(loose.critical_path)
    assert "belongs to a step" in why_not(path_lengths(loose))
    assert not path_events(loose).any()


def test_what_the_small_traces_wait_for() -> None:
    mlp = path_lengths(tv.read_trace(DATA / "gpu_tf221_mlp.pb.xz"))
    assert mlp["category"].iloc[0] == "launch"
    assert mlp["share"].iloc[0] > 0.6


@pytest.mark.collection("h200/deep4000.pb.xz")
def test_a_deep_network_waits_for_launches(shared: Path) -> None:
    found = path_lengths(tv.read_trace(shared / "h200/deep4000.pb.xz"))
    assert found["category"].iloc[0] == "launch"
    assert found["share"].iloc[0] > 0.8


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_the_straggler_is_on_the_path(shared: Path) -> None:
    trace = tv.read_trace(shared / "h200/straggler_ps_3gpuworkers_step0.pb")
    path = trace.critical_path
    length = (
        path["duration_ns"].groupby(trace.events["task"].iloc[path["event"]].astype(str).to_numpy()).sum()
    )
    assert length["/job:worker/replica:0/task:2"] > 0.9 * path["duration_ns"].sum()
    assert not length.filter(regex="task:1$").sum()


@pytest.mark.collection("h200/mwms_straggler_worker0.xplane.pb", "h200/mwms_straggler_worker1.xplane.pb")
def test_collectives_lead_to_the_slower_worker(shared: Path) -> None:
    paths = [shared / f"h200/mwms_straggler_worker{number}.xplane.pb" for number in (0, 1)]
    trace = tv.read_trace(paths)
    path = trace.critical_path
    alone = path[path["category"] != "communication"]
    length = (
        alone["duration_ns"].groupby(trace.events["task"].iloc[alone["event"]].astype(str).to_numpy()).sum()
    )
    assert length.filter(regex="task:1$").sum() > 3 * length.filter(regex="task:0$").sum()


@pytest.mark.collection("h200/input_bound_tf2_gpu.xplane.pb")
def test_a_step_that_waits_for_its_input(shared: Path) -> None:
    found = path_lengths(tv.read_trace(shared / "h200/input_bound_tf2_gpu.xplane.pb"))
    first = found[found["step"] >= 1].groupby("step").first()
    assert (first["category"] == "input").all()
    assert (first["share"] > 0.5).all()
