"""Critical paths and slack against the longest chains and against steps that are run again, delayed."""

import itertools
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.real_traces import DATA, each, real_trace, step_stats_files, xspace_files
from tests.support.examples import examples
from tests.support.made_steps import ROW, TASK, any_trace, built, op
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import slack, why_not
from tfvis_nb.analysis.critical_path.backtrack import WAITS
from tfvis_nb.analysis.critical_path.critical_path import CATEGORIES, critical_path, path_events, path_lengths


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


def check_tiles(trace: Trace) -> None:
    """Every step is covered from its start to its end, once; the parts add up."""
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


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(st.lists(ROW, min_size=1, max_size=14))
def test_paths_of_anything_cover_their_steps(rows: list[dict[str, Any]]) -> None:
    trace = any_trace(rows)
    check_tiles(trace)
    # Here events wait for each other in circles: then nothing need end just in time.
    assert trace.slack.empty or (trace.slack["slack_ns"] >= 0).all()


def test_what_happens_at_the_same_moment_is_in_order() -> None:
    row = {"start_ns": 6, "duration_ns": 4, "step": 0, "task": TASK.format(0), "name": "d", "op": "Square"}
    row |= {"inputs": [], "ready": None, "launch": None, "produced": None, "consumed": None}
    trace = any_trace(
        [
            row | {"place": ("op", "ops", "CPU:0")},
            row | {"place": ("memcpy", "memcpy D2H", "GPU:0")},
            row | {"place": ("op", "ops", "CPU:0"), "name": "a", "inputs": ["d/_1"], "start_ns": 10},
        ]
    )
    # The op waits for its copy up to its own end, at which another op begins.
    assert trace.critical_path[["category", "event"]].values.tolist() == [["d2h", 1], ["host_compute", 2]]
    assert trace.slack["slack_ns"].tolist() == [0, 0, 0]
    check_slack(trace)


@pytest.mark.parametrize("path", each([*step_stats_files(), *xspace_files()]))
def test_paths_of_real_traces_cover_their_steps(path: Path) -> None:
    trace = real_trace(path)
    check_tiles(trace)
    check_slack(trace)
    lit = path_events(trace)
    assert lit.sum() <= len(lit)
    assert set(trace.critical_path["category"].unique()) <= set(CATEGORIES)


def test_steps_that_are_not_there() -> None:
    trace = built([op("a", 0, 10)])
    for step in (3, "a"):
        with raises_id(ValueError, "no_step", step=step):
            critical_path(trace, cast("int", step))
    assert critical_path(trace, 0).equals(trace.critical_path)
    loose = built([op("a", 0, 10, step=-1)])
    assert why_not(loose.critical_path).id == "no_steps"
    assert why_not(path_lengths(loose)).id == "no_steps"
    assert not path_events(loose).any()


def test_waits_of_the_small_traces() -> None:
    mlp = path_lengths(real_trace(DATA / "gpu_tf221_mlp.pb.xz"))
    assert mlp["category"].iloc[0] == "launch"
    assert mlp["share"].iloc[0] > 0.6


@pytest.mark.collection("h200/deep4000.pb.xz")
def test_a_deep_network_waits_for_launches(shared: Path) -> None:
    found = path_lengths(real_trace(shared / "h200/deep4000.pb.xz"))
    assert found["category"].iloc[0] == "launch"
    assert found["share"].iloc[0] > 0.8


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_the_straggler_is_on_the_path(shared: Path) -> None:
    trace = real_trace(shared / "h200/straggler_ps_3gpuworkers_step0.pb")
    path = trace.critical_path
    length = (
        path["duration_ns"].groupby(trace.events["task"].iloc[path["event"]].astype(str).to_numpy()).sum()
    )
    assert length["/job:worker/replica:0/task:2"] > 0.9 * path["duration_ns"].sum()
    assert not length.filter(regex="task:1$").sum()


@pytest.mark.collection("h200/mwms_straggler_worker0.xplane.pb", "h200/mwms_straggler_worker1.xplane.pb")
def test_collectives_lead_to_the_slower_worker(shared: Path) -> None:
    paths = [shared / f"h200/mwms_straggler_worker{number}.xplane.pb" for number in (0, 1)]
    trace = real_trace(paths)
    path = trace.critical_path
    alone = path[path["category"] != "communication"]
    length = (
        alone["duration_ns"].groupby(trace.events["task"].iloc[alone["event"]].astype(str).to_numpy()).sum()
    )
    assert length.filter(regex="task:1$").sum() > 3 * length.filter(regex="task:0$").sum()


@pytest.mark.collection("h200/input_bound_tf2_gpu.xplane.pb")
def test_a_step_that_waits_for_its_input(shared: Path) -> None:
    found = path_lengths(real_trace(shared / "h200/input_bound_tf2_gpu.xplane.pb"))
    first = found[found["step"] >= 1].groupby("step").first()
    assert (first["category"] == "input").all()
    assert (first["share"] > 0.5).all()
