"""Threads that run steps at the same time have kinds of steps and loops of their own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tfvis_nb import Trace, events
from tfvis_nb.analysis import slow_steps

MS = 1_000_000


def trace_of(calls: Sequence[tuple[str, str, int, int]], *, tasks: Sequence[str] = ("",)) -> Trace:
    """Return a trace with a step for each call: lane, label, start and duration in ms."""
    calls = sorted(calls, key=lambda call: call[2])
    table = events.build(
        {
            "start_ns": [call[2] * MS for call in calls],
            "duration_ns": [call[3] * MS for call in calls],
            "kind": ["host"] * len(calls),
            "device": ["/device:CPU:0"] * len(calls),
            "lane": [call[0] for call in calls],
            "task": [tasks[step % len(tasks)] for step in range(len(calls))],
            "step": range(len(calls)),
        }
    )
    return Trace(table, step_labels={step: call[1] for step, call in enumerate(calls)})


def calls_of(lane: str, label: str, first: int, every: int, takes: int) -> list[tuple[str, str, int, int]]:
    return [(lane, label, first + every * number, takes) for number in range(6)]


TRAINER, EVALUATOR = "python/trainer", "python/evaluator"
SAME = [*calls_of(TRAINER, "train", 0, 30, 20), *calls_of(EVALUATOR, "train", 5, 25, 4)]


def test_threads_with_one_function_have_kinds_of_their_own() -> None:
    found = trace_of(SAME).overview
    assert {kind["kind"]: (kind["count"], kind["median_ns"]) for kind in found["kinds"]} == {
        f"train ({TRAINER})": (6, 20 * MS),
        f"train ({EVALUATOR})": (6, 4 * MS),
    }
    assert (found["steps"]["median_ns"], found["steps"]["interval_ns"]) == (20 * MS, 30 * MS)
    assert TRAINER in found["headline"]


def test_slow_steps_are_slow_for_their_thread() -> None:
    late = [(lane, label, start, 16 if start == 55 else takes) for lane, label, start, takes in SAME]
    table = slow_steps(trace_of(late))
    slow = table[table["slow"]]
    assert slow["duration_ns"].tolist() == [16 * MS]
    assert slow["ratio"].tolist() == [4.0]


@pytest.mark.parametrize("label", ["train", "evaluate"])
def test_the_loop_is_that_of_the_main_thread(label: str) -> None:
    # Together the steps leave no pause.
    trace = trace_of([*calls_of(TRAINER, "train", 0, 40, 30), *calls_of(EVALUATOR, label, 25, 40, 20)])
    outside = trace.overview["outside"]
    assert outside["between_ns"] == 0
    assert (outside["pauses_ns"], outside["loop_share"]) == (5 * 10 * MS, 50 / 230)


def test_threads_that_take_turns_run_one_loop() -> None:
    lanes = ("python/reader_0", "python/reader_1")
    trace = trace_of([(lanes[step % 2], "train", step * 30, 20) for step in range(8)])
    found = trace.overview
    assert found["kinds"] == []
    assert found["steps"]["interval_ns"] == 30 * MS
    assert found["outside"]["pauses_ns"] == 7 * 10 * MS


def test_steps_of_several_tasks_are_of_one_kind() -> None:
    tasks = [f"/job:worker/replica:0/task:{number}" for number in (0, 1)]
    assert trace_of(SAME, tasks=tasks).overview["kinds"] == []


def test_labels_that_differ_need_no_thread() -> None:
    both = [*calls_of(TRAINER, "train", 0, 30, 20), *calls_of(EVALUATOR, "evaluate", 5, 25, 4)]
    assert [kind["kind"] for kind in trace_of(both).overview["kinds"]] == ["train", "evaluate"]
