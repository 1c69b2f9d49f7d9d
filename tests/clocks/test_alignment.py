"""Clocks of several tasks: the true offset lies in the interval, contradictions are refused."""

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.protobuf_bytes import varint
from tests.support.texts import figures_of
from tfvis_nb import events
from tfvis_nb.clocks.alignment import MOST_TASKS, aligned, clock_offsets
from tfvis_nb.core.counters import build
from tfvis_nb.texts import Text, id_of

MS = 1_000_000
TIMES = ("start_ns", "scheduled_ns", "compute_start_ns", "compute_end_ns")
WORKERS = ("gpu_tf221_worker0.xplane.pb.xz", "gpu_tf221_worker1.xplane.pb.xz")


def shifted(trace: tv.Trace, task: str, offset: int, rows: np.ndarray | None = None) -> tv.Trace:
    """Return the trace with the clock of a task `offset` ns ahead (for some rows only)."""
    moved = (trace.events["task"] == task).to_numpy()
    if rows is not None:
        moved = moved & rows
    table = trace.events.copy()
    for name in TIMES:
        table[name] = table[name] + np.where(moved, offset, 0)
    table, before = events.order(table)
    nested = None if trace.nested is None else trace.nested.take(before)
    return tv.Trace(table, nested=nested, notes=trace.notes, step_labels=trace.step_labels)


def of(trace: tv.Trace, task: str) -> pd.Series:
    """Return the facts about a task's clock."""
    found = clock_offsets(trace)
    return found[found["task"] == task].iloc[0]


@pytest.mark.parametrize("offset", [-700 * MS, -60 * MS, 90 * MS, 5000 * MS])
def test_collectives_find_a_shift(data: Path, offset: int) -> None:
    trace = tv.read_trace([data / name for name in WORKERS])
    task = "/job:worker/replica:0/task:1"
    before = of(trace, task)
    assert before["collectives"] == 6
    assert before["low_ns"] < 0 < before["high_ns"]
    assert before["offset_ns"] == 0
    after = of(shifted(trace, task, offset), task)
    assert after["low_ns"] == pytest.approx(before["low_ns"] + offset, abs=1)
    assert after["high_ns"] == pytest.approx(before["high_ns"] + offset, abs=1)
    assert after["low_ns"] <= after["offset_ns"] <= after["high_ns"]
    # The ranks of these steps left each collective within a few ms of one another.
    assert abs(after["offset_ns"] - offset) < 5 * MS


def test_a_moved_clock_is_moved_back_and_said(data: Path) -> None:
    trace = tv.read_trace([data / name for name in WORKERS])
    wrong = shifted(trace, "/job:worker/replica:0/task:1", 300 * MS)
    tasks = [f"/job:worker/replica:0/task:{number}" for number in range(2)]
    ahead = [int(wrong.events.loc[wrong.events["task"] == task, "start_ns"].min()) for task in tasks]
    wrong.recorded_counters = build({"task": tasks, "time_ns": ahead, "value": [1, 2]})
    again = aligned(wrong)
    # A counter stays with the events of its task.
    starts = [int(again.events.loc[again.events["task"] == task, "start_ns"].min()) for task in tasks]
    assert again.recorded_counters["time_ns"].tolist() == starts
    assert starts[1] < ahead[1]
    assert len(again.events) == len(trace.events)
    (figures,) = figures_of(again.notes, "clock_moved")
    assert id_of(figures["bounds"]) == "offset_between"
    assert figures["evidence"] == "6 collectives"
    began = {
        name: int(one.events.loc[one.events["task"] == "/job:worker/replica:0/task:1", "start_ns"].min())
        for name, one in (("right", trace), ("again", again))
    }
    assert abs(began["again"] - began["right"]) < 5 * MS
    # The rest of the 300 ms lies in the remaining interval.
    first, (low, high) = again.clock_bounds.values()
    assert first == (0.0, 0.0)
    assert low <= began["again"] - began["right"] <= high
    assert high - low == pytest.approx(59838121)
    assert again.nested is not None
    launched = again.events["scheduled_ns"].notna()
    assert (again.events["scheduled_ns"] <= again.events["start_ns"])[launched].all()


def test_transfers_find_a_shift(data: Path) -> None:
    trace = tv.read_trace(data / "dist_inproc_ps_2workers_step0.pb")
    task = "/job:ps/replica:0/task:0"
    before = of(trace, task)
    assert before["transfers"] == 12
    assert before["low_ns"] < 0 < before["high_ns"]
    after = of(shifted(trace, task, 50 * MS), task)
    assert after["low_ns"] <= 50 * MS <= after["high_ns"]
    assert after["low_ns"] <= after["offset_ns"] <= after["high_ns"]


def test_contradictions_are_refused(data: Path) -> None:
    trace = tv.read_trace([data / name for name in WORKERS])
    late = (trace.events["step"] > 2).to_numpy()
    torn = shifted(trace, "/job:worker/replica:0/task:1", 400 * MS, late)
    assert of(torn, "/job:worker/replica:0/task:1")["contradicting"]
    again = aligned(torn)
    assert again.events["start_ns"].equals(torn.events["start_ns"])
    assert list(again.clock_bounds.values()) == [(0, 0), (-np.inf, np.inf)]
    assert Text("clock_contradicted", task="worker 1", evidence="6 collectives") in again.notes


def test_files_with_different_clocks_are_aligned_on_reading(data: Path, tmp_path: Path) -> None:
    first, second = (lzma.decompress((data / name).read_bytes()) for name in WORKERS)
    began = 1795214554676189577
    assert second.count(varint(began)) == 1
    (tmp_path / "a.xplane.pb").write_bytes(first)
    (tmp_path / "b.xplane.pb").write_bytes(second.replace(varint(began), varint(began + 200 * MS)))
    trace = tv.read_trace(tmp_path)
    assert trace.events["task"].nunique() == 2
    assert any(id_of(note) == "clock_moved" for note in trace.notes)
    shared = trace.events[trace.events["op"] == "CollectiveReduceV2"]
    entered = shared.groupby("step")["start_ns"].max()
    left = (shared["start_ns"] + shared["duration_ns"]).groupby(shared["step"]).min()
    assert len(shared) == 12
    assert (left >= entered).all()


@given(
    offsets=st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=5),
    rounds=st.lists(
        st.tuples(st.integers(0, 10**8), st.lists(st.integers(0, 10**7), min_size=10, max_size=10)),
        min_size=1,
        max_size=6,
    ),
)
def test_the_true_offset_lies_in_the_interval(
    offsets: list[int], rounds: list[tuple[int, list[int]]]
) -> None:
    columns: dict[str, list[object]] = {"task": [], "start_ns": [], "duration_ns": [], "name": [], "step": []}
    for step, (length, delays) in enumerate(rounds):
        entered = [step * 10**10 + delay for delay in delays[: len(offsets)]]
        for task, offset in enumerate(offsets):
            left = max(entered) + length + delays[5 + task]
            columns["task"].append(f"/job:worker/task:{task}")
            columns["start_ns"].append(entered[task] + offset + 10**12)
            columns["duration_ns"].append(left - entered[task])
            columns["name"].append("sum")
            columns["step"].append(step)
    count = len(columns["task"])
    table, _ = events.order(
        events.build(columns | {"kind": ["collective"] * count, "lane": ["collective"] * count})
    )
    trace = tv.Trace(table)
    found = clock_offsets(trace).set_index("task")
    remaining = aligned(trace).clock_bounds
    assert not found["contradicting"].any()
    assert (found["collectives"] == len(rounds)).all()
    for task, offset in enumerate(offsets):
        row = found.loc[f"/job:worker/task:{task}"]
        true = offset - offsets[0]
        assert row["low_ns"] <= true <= row["high_ns"]
        low, high = remaining[f"/job:worker/task:{task}"]
        assert low <= 0 <= high
        assert low <= true - row["offset_ns"] <= high
        assert row["offset_ns"] == 0 or row["low_ns"] - 1 <= row["offset_ns"] <= row["high_ns"] + 1


def test_clocks_of_very_many_tasks_are_left_alone_and_said() -> None:
    count = MOST_TASKS + 1
    columns: dict[str, Any] = {
        "task": [f"/job:w/task:{number}" for number in range(count)],
        "start_ns": np.arange(count) * 50_000,
        "duration_ns": [10_000] * count,
        "kind": ["collective"] * count,
        "name": ["sum"] * count,
        "lane": ["collective"] * count,
    }
    found = clock_offsets(tv.Trace(events.build(columns)))
    assert len(found) == count
    assert not found["offset_ns"].any()
    assert np.isinf(found["high_ns"][1:]).all()
    trace = aligned(tv.Trace(events.build(columns)))
    assert trace.events["start_ns"].tolist() == columns["start_ns"].tolist()
    assert figures_of(trace.notes, "clocks_not_compared") == [{"tasks": count, "most": MOST_TASKS}]


def test_without_tasks_there_are_no_clocks() -> None:
    table = events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]})
    assert clock_offsets(tv.Trace(table)).empty
    assert aligned(tv.Trace(table)).notes == []
