"""Findings of several tasks: which is late, and what communication costs."""

from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support.h200_traces import read_h200
from tfvis_nb import events
from tfvis_nb.analysis import communication_overlap
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.core.metadata import PYTHON_SAMPLES, table_of


def _tasks(*rows: tuple[str, str, str, int, int]) -> tv.Trace:
    """A trace of one step, by task, kind, node, start and duration in ms."""
    columns = {
        "task": [f"/job:{row[0].replace(' ', '/task:')}" for row in rows],
        "kind": [row[1] for row in rows],
        "name": [row[2] for row in rows],
        "op": ["MatMul" if row[1] == "op" else row[2] for row in rows],
        "lane": ["collective" if row[1] == "collective" else "ops" for row in rows],
        "device": [f"/job:{row[0].replace(' ', '/task:')}/device:CPU:0" for row in rows],
        "start_ns": [row[3] * 1_000_000 for row in rows],
        "duration_ns": [row[4] * 1_000_000 for row in rows],
    }
    table, _ = events.order(events.build(columns))
    return tv.Trace(table)


def test_a_late_task_is_reported_if_collectives_end_together() -> None:
    rows = [("worker 0", "collective", "sum", 0, 100), ("worker 1", "op", "work", 0, 80)]
    late = _tasks(*rows, ("worker 1", "collective", "sum", 80, 21)).findings
    assert (late["id"][0], late["figures"][0]["task"]) == ("straggler.collective", "/job:worker/task:1")
    assert late["share"][0] == 80 / 101
    # Ends that lie more than half as far apart as the starts tell nothing of those.
    rows = [("worker 0", "collective", "sum", 0, 100), ("worker 1", "op", "work", 0, 20)]
    apart = _tasks(*rows, ("worker 1", "collective", "sum", 20, 91)).findings
    assert "late task" not in apart["kind"].tolist()


def test_late_task_shows_all_its_waits_if_they_are_few() -> None:
    def meetings(count: int) -> pd.Series:
        rows = [
            row
            for start in range(0, 200 * count, 200)
            for row in (
                ("worker 0", "collective", f"sum{start}", start, 101 + start // 200),
                ("worker 1", "collective", f"sum{start}", start + 80 + start // 200, 21),
            )
        ]
        trace = _tasks(*rows)
        found = trace.findings.iloc[0]
        events = trace.events.loc[found["events"]]
        assert found["event_count"] == len(events)
        assert (events["start_ns"].min(), (events["start_ns"] + events["duration_ns"]).max()) == (
            found["start_ns"],
            found["end_ns"],
        )
        return found

    assert meetings(3)["event_count"] == 6
    # Of many waits, a range would not show any: the longest one stands for them.
    longest = meetings(26)
    assert (longest["event_count"], longest["figures"]["barriers"]) == (2, 26)


_MEETING = [("worker 0", "collective", "sum", 0, 101), ("worker 1", "collective", "sum", 80, 21)]
_MORE_WORK = [("worker 0", "op", "work", 0, 20), ("worker 1", "op", "work", 0, 100)]
_RECEIVING = [("worker 0", "op", "work", 0, 20), ("worker 1", "transfer", "RecvTensor", 0, 100)]


@pytest.mark.parametrize(
    ("rows", "within_ms", "adverb"),
    [
        (_MEETING, 5, ""),
        (_MEETING, 100, "probably "),
        (_MORE_WORK, inf, "probably "),
        (_RECEIVING, inf, "possibly "),
        (_RECEIVING, 5, ""),
    ],
)
def test_late_task_is_doubted_by_its_clock(
    rows: list[tuple[str, str, str, int, int]], within_ms: float, adverb: str
) -> None:
    trace = _tasks(*rows, ("worker 1", "op", "work", 0, 15))
    bound = within_ms * 1e6
    trace.clock_bounds = {"/job:worker/task:0": (0, 0), "/job:worker/task:1": (-bound, bound)}
    (found,) = trace.findings.query("kind == 'late task'").to_dict("records")
    assert found["title"] == f"Worker 1 {'may be' if adverb else 'is'} a straggler"
    (clause,) = (rule.headline for rule in RULES.values() if rule.kind == "late task" and rule.headline)
    assert clause(found["figures"]).startswith((f"Worker 1 {adverb}runs", f"Worker 1 is {adverb}late"))


def test_late_task_that_runs_python_names_its_line() -> None:
    rows = [("worker 0", "collective", "sum", 0, 100), ("worker 1", "op", "work", 0, 10)]
    trace = _tasks(*rows, ("worker 1", "collective", "sum", 80, 21))
    lines = [
        {"task": f"/job:worker/task:{task}", "time_ns": at * 1_000_000, "file": "input.py", "line": line}
        for task, line, times in ((0, 3, (20, 40, 50)), (1, 8, (5, 30, 60)))
        for at in times
    ]
    trace.metadata[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, lines)
    text = trace.findings["text"][0]
    assert "input.py:8 runs in 2 of 2 samples" in text


def test_work_of_a_late_task_stands_behind_the_task() -> None:
    rows = [("worker 0", "op", "work", 0, 3), ("worker 0", "collective", "sum", 3, 97)]
    trace = _tasks(*rows, ("worker 1", "op", "work", 0, 82), ("worker 1", "collective", "sum", 82, 18))
    table = trace.events.assign(op=trace.events["op"].cat.rename_categories({"MatMul": "PyFunc"}))
    problems = tv.Trace(table).findings.query("kind in ('late task', 'host compute')")
    assert problems["kind"].tolist() == ["late task", "host compute"]
    assert problems["level"].tolist() == ["problem"] * 2
    assert problems["share"].is_monotonic_increasing


@pytest.mark.collection(*(f"h200/mwms_straggler_worker{number}.xplane.pb" for number in (0, 1)))
def test_communication_stands_behind_the_late_task_and_says_why() -> None:
    table = read_h200([f"mwms_straggler_worker{number}.xplane.pb" for number in (0, 1)]).findings
    table = table.query("level == 'problem'")
    assert table["kind"].tolist() == ["late task", "communication"]
    assert table["share"].is_monotonic_increasing
    assert table["figures"][1]["is_below"]


def test_a_task_that_waits_after_the_others_does_not_work() -> None:
    rows = [("worker 0", "op", "a", 0, 10), ("worker 1", "op", "b", 0, 10)]
    working = _tasks(*rows, ("worker 1", "op", "c", 10, 90)).findings
    assert (working["id"][0], working["share"][0]) == ("straggler.end", 0.9)
    known = {"task": "/job:worker/task:1", "sole_wait_ns": 90_000_000, "activity": "host_compute"}
    assert known.items() <= working["figures"][0].items()
    work = working["figures"][0]["work"]
    assert (work["noun"], work["own_ns"], work["other_ns"]) == ("ops", 100_000_000, 10_000_000)
    assert (work["op"], work["own_op_count"], work["other_op_count"]) == ("MatMul", 2, 1)
    assert "its ops take 100 ms instead of 10.0 ms" in working["text"][0]
    assert "late task" not in set(_tasks(*rows, ("worker 1", "op", "c", 90, 10)).findings["kind"])


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_how_much_a_late_task_receives_is_told() -> None:
    figures = read_h200(["straggler_ps_3gpuworkers_step0.pb"]).findings["figures"][0]
    received = figures["received"]
    assert (received["bytes"] >> 20, received["tensors"]) == (240, 240)
    assert (received["other_bytes"] >> 20, received["other_tensors"], received["others"]) == (16, 16, 2)


def test_of_one_task_communication_may_be_waiting_for_others() -> None:
    rows = [("worker 0", "op", "a", 0, 10), ("worker 0", "collective", "sum", 10, 90)]
    alone = _tasks(*rows).findings
    assert alone["kind"].tolist() == ["communication"]
    assert alone["share"].tolist() == [0.9]
    assert alone["figures"][0]["tasks"] == 1
    both = _tasks(*rows, ("worker 1", "op", "a", 0, 8), ("worker 1", "collective", "sum", 8, 92)).findings
    figures = both["figures"][0]
    assert (figures["task"], figures["tasks"]) == ("/job:worker/task:0", 2)


def test_ops_hide_communication_without_accelerators() -> None:
    rows = [("worker 0", "collective", "sum", 0, 90), ("worker 0", "op", "a", 0, 100)]
    assert _tasks(*rows).findings.empty
    assert _tasks(rows[0], ("worker 0", "op", "a", 20, 80)).findings["share"].tolist() == [0.2]


def test_accelerators_have_both_communication_figures() -> None:
    gpu = {"kind": "kernel", "op": "MatMul", "device": "GPU:0", "lane": "s"}
    cpu = {"kind": "op", "op": "Cast", "device": "CPU:0", "lane": "ops"}
    rows = [
        {**gpu, "start_ns": 0, "duration_ns": 20},
        {**cpu, "start_ns": 20, "duration_ns": 50},
        {**gpu, "start_ns": 20, "duration_ns": 80, "kind": "collective", "op": "AllReduce"},
    ]
    trace = tv.Trace(events.build({name: [row[name] for row in rows] for name in rows[0]}))
    found = trace.findings.set_index("kind").loc["communication"]
    assert found["share"] == 0.8
    figures: Any = found["figures"]
    assert (figures["on_devices"], figures["exposed_share"]) == (True, 0.3)
    assert communication_overlap(trace)["exposed_ns"].tolist() == [30]


def test_a_parameter_server_is_no_task_that_waits() -> None:
    rows = [("worker 0", "op", "a", 0, 10), ("worker 0", "transfer", "RecvTensor", 10, 60)]
    table = _tasks(*rows, ("ps 0", "transfer", "RecvTensor", 0, 20), ("ps 0", "op", "b", 70, 30)).findings
    assert table["share"].tolist() == [0.6]
    assert table["figures"][0]["task"] == "/job:worker/task:0"


def test_task_whose_tensors_arrive_last_is_a_straggler() -> None:
    server, workers = "/job:ps/task:0", ["/job:worker/task:0", "/job:worker/task:1"]
    rows: list[dict[str, Any]] = []
    for step in range(8):
        times = {"step": step, "start_ns": 100 * step}
        for number, took in enumerate((20, 80)):
            work = times | {"task": workers[number], "kind": "op", "op": "MatMul", "duration_ns": took}
            received = times | {
                "task": server,
                "kind": "transfer",
                "op": "RecvTensor",
                "duration_ns": took + 5,
            }
            node = {"name": f"loss_{number}", "detail": f"loss_{number} = MatMul()"}
            rows += [
                work | node,
                received | {"name": f"loss_{number}", "tensor": f"edge_{5 + number}_loss_{number}"},
            ]
        added = {
            "task": server,
            "kind": "op",
            "op": "AddN",
            "name": "sum",
            "detail": "sum = AddN(loss_0/_1, loss_1/_3)",
        }
        rows.append(times | added | {"start_ns": 100 * step + 85, "duration_ns": 5})
        rows += [
            times | {"task": task, "kind": "op", "op": "Add", "name": "end", "start_ns": 100 * step + 90}
            for task in workers
        ]
    frame: dict[str, list[Any]] = {}
    for name in ("step", "start_ns", "task", "kind", "op", "name"):
        frame[name] = [row[name] for row in rows]
    frame["duration_ns"] = [row.get("duration_ns", 5) for row in rows]
    for name in ("tensor", "detail"):
        frame[name] = [row.get(name, "") for row in rows]
    frame["device"] = [f"{row['task']}/device:CPU:0" for row in rows]
    frame["lane"] = ["recv" if row["kind"] == "transfer" else "ops" for row in rows]
    sources = [workers[int(row["name"][-1])] if row["kind"] == "transfer" else None for row in rows]
    frame["source"] = [source and f"{source}/device:CPU:0" for source in sources]
    trace = tv.Trace(events.order(events.build(frame))[0])
    late = trace.findings.set_index("id").loc["straggler.inputs"]
    assert (late["level"], late["figures"]["task"], late["figures"]["last"]) == ("problem", workers[1], 8)
    assert late["share"] == pytest.approx(60 / 95)
    assert "at all 8 ops that need tensors of several tasks" in trace.overview["headline"]


def test_nothing_is_predicted_for_lateness_without_events() -> None:
    def late(work_ms: int) -> dict[str, Any]:
        rows = [("worker 0", "op", "work", 0, 1), ("worker 0", "collective", "sum", 1, 100)]
        rows += [("worker 1", "op", "work", 0, work_ms), ("worker 1", "collective", "sum", 80, 21)]
        rows += [(f"worker {task}", "op", "next", 101, 5) for task in range(2)]
        return dict(_tasks(*rows).findings.set_index("id").loc["straggler.collective"])

    recorded, unrecorded = late(80), late(2)
    assert recorded["gain"] == pytest.approx(recorded["share"], abs=0.05)
    assert np.isnan(unrecorded["gain"])
    assert unrecorded["share"] == recorded["share"]


def test_straggler_gives_no_work_far_below_its_lateness() -> None:
    for work_ms, more in ((2, False), (80, True)):
        rows = [("worker 0", "op", "work", 0, 1), ("worker 0", "collective", "sum", 1, 100)]
        rows.append(("worker 1", "op", "work", 80 - work_ms, work_ms))
        found = _tasks(*rows, ("worker 1", "collective", "sum", 80, 21)).findings.iloc[0]
        assert found["id"] == "straggler.collective"
        assert found["figures"]["work"]["own_ns"] == work_ms * 1_000_000
        assert ("MatMul" in found["how"], "batch sizes" in found["advice"]) == (more, more)
