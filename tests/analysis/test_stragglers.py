"""Who came last to where tasks meet, against the same looked up one by one."""

import re
from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.real_traces import DATA, each, real_trace, step_stats_files
from tests.support.examples import examples
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import late_ranks, late_tasks, stragglers, why_not
from tfvis_nb.core.devices import task_of

WORKERS = [f"/job:worker/replica:0/task:{number}" for number in range(3)]
TASKS = [*WORKERS, "/job:ps/replica:0/task:0", ""]

Meeting = dict[str, list[tuple[int, int]]]
"""Of each task the events by which it came, with their times."""

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "start_ns": st.integers(0, 60),
            "duration_ns": st.integers(0, 30),
            "step": st.integers(-1, 1),
            "task": st.sampled_from(TASKS),
            "kind": st.sampled_from(["op", "collective", "transfer"]),
            "name": st.sampled_from(["sum", "mean"]),
            "tensor": st.sampled_from(["7:1:0:0:0", "7:1:0:1:1", "7:1:1:0:0", "edge_5_w"]),
            "source": st.sampled_from(TASKS),
        }
    ),
    min_size=1,
    max_size=16,
)


def trace_of(rows: list[dict[str, Any]]) -> Trace:
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    columns["source"] = [f"{task}/device:CPU:0" if task else None for task in columns["source"]]
    lanes = {"op": "ops", "collective": "collective", "transfer": "recv"}
    columns["lane"] = [lanes[row["kind"]] for row in rows]
    columns["op"] = ["RecvBuf" if row["kind"] == "transfer" else row["name"] for row in rows]
    return Trace(events.order(events.build(columns))[0])


def job_of(task: str) -> str:
    match = re.match("/job:([^/]+)", task)
    return match[1] if match else ""


def meetings(trace: Trace) -> dict[tuple[Any, ...], Meeting]:
    """Return everything at which tasks could meet."""
    found: dict[tuple[Any, ...], Meeting] = {}
    rows: list[dict[Any, Any]] = trace.events.to_dict("records")
    known = trace.collective_waits[trace.collective_waits["wait_ns"].notna()]
    for event, collective in zip(known["event"], known["collective"], strict=True):
        row = rows[event]
        meeting = found.setdefault((row["step"], "collective", row["name"], collective), {})
        meeting.setdefault(row["task"], []).append((row["start_ns"], event))
    passes: dict[tuple[int, str], Meeting] = {}
    for event, row in enumerate(rows):
        end = row["start_ns"] + row["duration_ns"]
        if job_of(row["task"]):
            meeting = found.setdefault((row["step"], "end", job_of(row["task"]), 0), {})
            meeting.setdefault(row["task"], []).append((end, -event))
        parts = str(row["tensor"]).split(":")
        if row["kind"] == "transfer" and row["op"] == "RecvBuf" and len(parts) > 3:
            source = task_of(str(row["source"]))
            passing = passes.setdefault((row["step"], ":".join(parts[:-2])), {})
            if source:
                passing.setdefault(source, []).append((row["start_ns"], event))
    for (step, exchange), passing in passes.items():
        if len({len(pieces) for pieces in passing.values()}) == 1:
            for place in range(len(next(iter(passing.values())))):
                found[step, "exchange", exchange, place] = {
                    source: [pieces[place]] for source, pieces in passing.items()
                }
    for source, target in trace.edges[["source", "target"]].itertuples(index=False):
        row = rows[source]
        task = task_of(str(row["source"]))
        if row["kind"] == "transfer" and task:
            key = rows[target]["step"], "inputs", rows[target]["name"], (target, job_of(task))
            end = row["start_ns"] + row["duration_ns"]
            found.setdefault(key, {}).setdefault(task, []).append((end, source))
    return {key: meeting for key, meeting in found.items() if key[0] >= 0 and len(meeting) > 1}


def expected(trace: Trace) -> list[dict[str, Any]]:
    arrivals = []
    for (step, kind, name, _), meeting in meetings(trace).items():
        # Of the pieces of a task the last one counts; of events that end at once the first.
        came = sorted((*max(pieces), task) for task, pieces in meeting.items())
        first, last = came[0][0], came[-1][0]
        for place, (arrived, event, task) in enumerate(came):
            final = place == len(came) - 1
            arrivals.append(
                {
                    "step": step,
                    "kind": kind,
                    "name": name,
                    "task": task,
                    "event": abs(event),
                    "arrived_ns": arrived,
                    "lateness_ns": arrived - first,
                    "wait_ns": last - arrived,
                    "sole_wait_ns": arrived - came[place - 1][0] if final else 0,
                }
            )
    return arrivals


def in_order(rows: Iterable[Mapping[Any, Any]]) -> tuple[list[list[Any]], list[int]]:
    """Return the facts about each arrival, and the sole waits for the last ones.

    If several arrive at the same time, it does not matter which one is last.
    """
    names = ("step", "kind", "event", "task", "name", "arrived_ns", "lateness_ns", "wait_ns")
    arrivals = [([row[name] for name in names], row["sole_wait_ns"]) for row in rows]
    return sorted(arrival for arrival, _ in arrivals), sorted(alone for _, alone in arrivals)


def at_odds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the arrivals whose times do not fit those of the others at their barrier."""
    together = table.groupby("barrier")
    fits = (table["lateness_ns"] + table["wait_ns"]) == together["wait_ns"].transform("max")
    fits &= together["last"].transform("sum") == 1
    fits &= ~table["last"] | (table["wait_ns"] == 0)
    fits &= together["task"].transform("nunique") == together["task"].transform("size")
    return table[~fits]


@settings(max_examples=examples(50))
@given(ROWS)
def test_every_arrival(rows: list[dict[str, Any]]) -> None:
    trace = trace_of(rows)
    table, wanted = stragglers(trace), expected(trace)
    assert bool(why_not(table)) == (not wanted)
    assert in_order(table.to_dict("records")) == in_order(wanted)
    assert at_odds(table).empty


@pytest.mark.parametrize("path", each(p for p in step_stats_files() if "dist" in p.name or "coll" in p.name))
def test_real_arrivals(path: Path) -> None:
    trace = real_trace(path)
    table, wanted = stragglers(trace), expected(trace)
    assert bool(why_not(table)) == (not wanted)
    assert in_order(table.to_dict("records")) == in_order(wanted)
    assert at_odds(table).empty


@settings(max_examples=examples(50))
@given(ROWS)
def test_tasks_are_late_moment_by_moment(rows: list[dict[str, Any]]) -> None:
    trace = trace_of(rows)
    table, tasks = stragglers(trace), late_tasks(trace)
    assert bool(why_not(tasks)) == table.empty
    total = trace.steps.loc[trace.steps["step"] >= 0, "duration_ns"].sum()
    found: list[dict[Any, Any]] = tasks.to_dict("records")
    for row in found:
        own = table[(table["kind"] == row["kind"]) & (table["task"] == row["task"])]
        assert (row["barriers"], row["last"]) == (len(own), own["last"].sum())
        assert row["lateness_mean_ns"] == pytest.approx(own["lateness_ns"].mean())
        assert row["lateness_max_ns"] == own["lateness_ns"].max()
        waits, lates = set(), set()
        times = (own[name].tolist() for name in ("step", "arrived_ns", "wait_ns", "sole_wait_ns"))
        for step, arrived, wait, late in zip(*times, strict=True):
            waits |= {(step, at) for at in range(arrived, arrived + wait)}
            lates |= {(step, at) for at in range(arrived - late, arrived)}
        assert (row["waited_ns"], row["sole_wait_ns"]) == (len(waits), len(lates))
        assert total == 0 or row["share"] == pytest.approx(len(lates) / total)
    assert tasks["barriers"].sum() == len(table)
    assert tasks["last"].sum() == table["barrier"].nunique()


def test_collectives_as_late_ranks_has_them() -> None:
    trace = real_trace([DATA / f"horovod_rank{rank}_step3.pb.xz" for rank in range(2)])
    ours = late_tasks(trace).set_index("kind").loc["collective"].set_index("task")
    theirs = late_ranks(trace).set_index("task")
    assert len(theirs) == 2
    for ours_name, name in {
        "barriers": "collectives",
        "last": "last",
        "sole_wait_ns": "sole_wait_ns",
    }.items():
        assert ours[ours_name].to_dict() == theirs[name].to_dict()


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_the_worker_that_was_given_more_to_do(shared: Path) -> None:
    trace = real_trace(shared / "h200" / "straggler_ps_3gpuworkers_step0.pb")
    table = stragglers(trace)
    sums = table[table["kind"] == "inputs"]
    assert set(sums["op"]) == {"AddN"}
    assert sums.loc[sums["last"], "task"].tolist() == [WORKERS[2]] * 4
    assert sums["certain"].all()
    tasks = late_tasks(trace)
    assert tasks["task"].tolist()[:2] == [WORKERS[2]] * 2
    assert set(tasks["kind"].tolist()[:2]) == {"inputs", "end"}
    # Of a step of 181 ms the parameter server waits 151 ms for its gradients alone.
    assert (tasks["share"][:2] > 0.8).all()
    assert (tasks["sole_wait_ns"][2:] == 0).all()


@pytest.mark.collection("h200/mwms_straggler_worker0.xplane.pb", "h200/mwms_straggler_worker1.xplane.pb")
def test_the_worker_that_comes_late_to_each_reduction(shared: Path) -> None:
    trace = real_trace([shared / "h200" / f"mwms_straggler_worker{rank}.xplane.pb" for rank in range(2)])
    first = late_tasks(trace).iloc[0]
    assert (first["kind"], first["task"], first["barriers"], first["last"]) == (
        "collective",
        WORKERS[1],
        6,
        6,
    )
    assert 15e6 < first["lateness_mean_ns"] < 30e6
    one = late_tasks(trace, steps=[3]).iloc[0]
    assert (one["task"], one["barriers"], one["sole_wait_ns"]) == (WORKERS[1], 1, one["lateness_max_ns"])
    with raises_id(ValueError, "no_step", step=99):
        late_tasks(trace, steps=[99])


@pytest.mark.collection("hvd/hvd_straggler_rank0_step3.pb", "hvd/hvd_straggler_rank1_step3.pb")
def test_the_rank_with_more_matmuls(shared: Path) -> None:
    trace = real_trace([shared / "hvd" / f"hvd_straggler_rank{rank}_step3.pb" for rank in range(2)])
    first = late_tasks(trace).iloc[0]
    assert (first["task"], first["last"], first["barriers"]) == (WORKERS[1], 8, 8)
    assert first["share"] > 0.9
    assert stragglers(trace).query("name == 'avg_loss'")["certain"].all()


@pytest.mark.parametrize(
    ("low", "high", "sure"),
    [(0, 0, True), (-15, 9, True), (-15, 11, False), (10, 10, True), (30, 30, False), (-inf, inf, False)],
)
def test_clocks_that_may_be_apart(low: float, high: float, sure: bool) -> None:
    columns = {"start_ns": [0, 0], "duration_ns": [50, 60], "kind": ["op"] * 2, "task": WORKERS[:2]}
    bounds = {WORKERS[0]: (0.0, 0.0), WORKERS[1]: (low, high)}
    trace = Trace(events.build(columns), clock_bounds=bounds)
    assert stragglers(trace)["certain"].tolist() == [sure, sure]


@pytest.mark.slow
def test_nobody_meets() -> None:
    nobody = Trace(events.build({}, rows=0))
    assert why_not(stragglers(nobody)).id == "no_steps"
    columns = {"start_ns": [0, 0], "duration_ns": [5, 5], "kind": ["op"] * 2}
    one = Trace(events.build({**columns, "task": [WORKERS[0], TASKS[3]]}))
    assert why_not(stragglers(one)).id == why_not(late_tasks(one)).id == "one_task"
    two_jobs = ["/job:a/task:0", "/job:b/task:0"]
    apart = {"kind": ["collective"] * 2, "lane": ["collective"] * 2, "task": two_jobs}
    clocks = Trace(events.build({"start_ns": [0, 90], "duration_ns": [5, 5], **apart}))
    assert why_not(stragglers(clocks)).id == "clocks_disagree"
    two = Trace(events.build({**columns, "task": WORKERS[:2]}))
    assert late_tasks(two, steps=[0])["barriers"].tolist() == [1, 1]
    for find in (stragglers, late_tasks):
        assert find(one).dtypes.astype(str).to_dict() == find(two).dtypes.astype(str).to_dict()
