"""Transfers: waiting and moving separated by the order of the channel."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import each, real_trace, step_stats_files
from tfvis_nb import events
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.devices import task_of


def bursts(table: pd.DataFrame) -> list[list[tuple[int, int, int, float]]]:
    """Return simultaneous transfers of each channel, by end: duration, event, TicTac's time, bytes."""
    channels: dict[Any, list[tuple[int, int, int, float]]] = {}
    names = ["kind", "step", "source", "destination", "start_ns", "duration_ns", "bytes"]
    for event, row in enumerate(zip(*(table[name].tolist() for name in names), strict=True)):
        kind, step, source, destination, start, duration, size = row
        if kind == "transfer":
            key = step, task_of(source), task_of(destination)
            channels.setdefault(key, []).append((start + duration, start, event, size))
    found: list[list[tuple[int, int, int, float]]] = []
    for members in channels.values():
        members.sort()
        for index, (end, start, event, size) in enumerate(members):
            free = members[index - 1][0] if index else start
            if not index or min(one[1] for one in members[index:]) >= free:
                found.append([])
            found[-1].append((end - start, event, end - max(start, free), size))
    return found


def ceiling(burst: list[tuple[int, int, int, float]]) -> float:
    """Return the greatest rate (bytes/ns) over more than half of a burst, at least four, or of one alone."""
    count = max(len(burst) // 2 + 1, min(len(burst), 4))
    windows = [burst[low:high] for low in range(len(burst)) for high in range(low + count, len(burst) + 1)]
    rates = [sum(one[3] for one in window) / max(sum(one[2] for one in window), 1) for window in windows]
    return max(*rates, *(one[3] / max(one[0], 1) for one in burst))


def check(trace: tv.Trace) -> None:
    """Check that a tensor moves as in TicTac or, if that would be too fast, within an interval."""
    received = trace.transfers[trace.transfers["kind"] == "transfer"].set_index("event")
    assert (received["wait_ns"] + received["transfer_ns"] == received["duration_ns"]).all()
    assert (received["transfer_least_ns"] <= received["transfer_ns"]).all()
    assert (received["transfer_ns"] <= received["transfer_most_ns"]).all()
    assert (received["transfer_most_ns"] <= received["duration_ns"]).all()
    names = ("event", "transfer_ns", "transfer_least_ns", "transfer_most_ns")
    columns = [received.reset_index()[name].tolist() for name in names]
    figures = {event: row for event, *row in zip(*columns, strict=True)}
    for burst in bursts(trace.events):
        assert received.loc[[one[1] for one in burst], "transfer_ns"].sum() == sum(one[2] for one in burst)
        fastest = ceiling(burst)
        if all(size <= fastest * time for _, _, time, size in burst):
            found = received.loc[[one[1] for one in burst], "transfer_ns"]
            assert found.tolist() == [time for _, _, time, _ in burst]
        for _, event, _, size in burst:
            time, least, most = figures[event]
            assert least == most or least >= min(size / fastest, time) * (1 - 1e-6)
            assert least < most or size <= fastest * max(time, 1) * (1 + 1e-6)


@pytest.mark.parametrize("path", each(p for p in step_stats_files() if "dist" in p.name or "coll" in p.name))
def test_waiting_and_moving_on_real_traces(path: Path) -> None:
    trace = real_trace(path)
    check(trace)
    moving = trace.transfers[trace.transfers["transfer_ns"].fillna(0) > 0]
    expected = moving["bytes"].to_numpy(float) * 1e9 / moving["transfer_ns"].to_numpy(float)
    np.testing.assert_allclose(moving["bandwidth"], expected)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 50)), min_size=1, max_size=9)
)
def test_waiting_and_moving_of_anything(rows: list[tuple[int, int, int]]) -> None:
    start, duration, size = zip(*sorted(rows), strict=True)
    task = ["/job:a/task:0/device:CPU:0"] * len(rows)
    columns = {"start_ns": start, "duration_ns": duration, "bytes": size, "source": task, "destination": task}
    check(tv.Trace(events.build({**columns, "kind": ["transfer"] * len(rows)})))


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_joint_tensors_are_not_faster_than_their_channel(shared: Path) -> None:
    table = real_trace(shared / "h200/straggler_ps_3gpuworkers_step0.pb").transfers
    certain = table[(table["kind"] == "transfer") & (table["transfer_least_ns"] == table["transfer_most_ns"])]
    assert certain["bandwidth"].max() * 8 < 100e9


def test_copies_wait_from_their_launch() -> None:
    table = events.build(
        {
            "start_ns": [100, 200, 300],
            "duration_ns": [50, 0, 10],
            "scheduled_ns": [40, None, 310],
            "bytes": [500, 8, None],
            "kind": ["memcpy"] * 3,
        }
    )
    found = tv.Trace(table).transfers
    assert found["wait_ns"].tolist() == [60, pd.NA, 0]
    assert found["transfer_ns"].tolist() == [50, 0, 10]
    assert found["bandwidth"].fillna(-1).tolist() == [1e10, -1, -1]


def test_channels_of_different_tasks_or_steps_do_not_wait() -> None:
    table = events.build(
        {
            "start_ns": [0, 0, 0, 0],
            "duration_ns": [10, 20, 30, 40],
            "step": [0, 0, 0, 1],
            "kind": ["transfer"] * 4,
            "source": [
                "/job:ps/task:0/device:CPU:0",
                "/job:ps/task:0/device:GPU:0",
                "/job:ps/task:1/device:CPU:0",
                "/job:ps/task:0/device:CPU:0",
            ],
            "destination": ["/job:worker/task:0/device:CPU:0"] * 4,
        }
    )
    assert tv.Trace(table).transfers["wait_ns"].tolist() == [0, 10, 0, 0]


def test_no_transfers(data: Path) -> None:
    found = real_trace(data / "local_mlp_step1.pb").transfers
    assert len(found) == 0
    assert found["wait_ns"].dtype == "Int64"
    assert why_not(found).id == "no_transfers"


def test_between_unknown_devices_nothing_is_known() -> None:
    columns = {"start_ns": [0, 10], "duration_ns": [100, 190], "kind": ["transfer"] * 2, "bytes": [50, 100]}
    table = tv.Trace(events.build(columns)).transfers
    assert table[["wait_ns", "transfer_ns", "bandwidth"]].isna().all(axis=None)
    ps = "/job:ps/task:0/device:CPU:0"
    known = tv.Trace(events.build({**columns, "source": [ps, None], "destination": [ps, None]})).transfers
    assert known["transfer_ns"].tolist() == [100, pd.NA]
