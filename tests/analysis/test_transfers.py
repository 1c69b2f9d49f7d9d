"""Transfers: waiting and moving told apart by the channel's order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import each, real_trace, step_stats_files
from tfvis_nb import events
from tfvis_nb.core.devices import task_of


def by_hand(table: pd.DataFrame) -> dict[int, tuple[int, int]]:
    """Return wait and transfer of each received tensor: TicTac's rule, channel by channel."""
    channels: dict[Any, list[tuple[int, int, int]]] = {}
    names = ["kind", "step", "source", "destination", "start_ns", "duration_ns"]
    for event, row in enumerate(zip(*(table[name].tolist() for name in names), strict=True)):
        kind, step, source, destination, start, duration = row
        if kind == "transfer":
            key = step, task_of(source), task_of(destination)
            channels.setdefault(key, []).append((start + duration, start, event))
    found = {}
    for members in channels.values():
        free = None
        for end, start, event in sorted(members):
            begun = start if free is None else max(start, free)
            found[event] = begun - start, end - begun
            free = end
    return found


@pytest.mark.parametrize("path", each(p for p in step_stats_files() if "dist" in p.name or "coll" in p.name))
def test_waiting_and_moving_on_real_traces(path: Path) -> None:
    trace = real_trace(path)
    received = trace.transfers[trace.transfers["kind"] == "transfer"]
    times = zip(*(received[name].tolist() for name in ("event", "wait_ns", "transfer_ns")), strict=True)
    found = {event: (wait, transfer) for event, wait, transfer in times}
    assert found == by_hand(trace.events)
    assert (received["wait_ns"] + received["transfer_ns"] == received["duration_ns"]).all()
    moving = received[received["transfer_ns"] > 0]
    expected = moving["bytes"].to_numpy(float) * 1e9 / moving["transfer_ns"].to_numpy(float)
    np.testing.assert_allclose(moving["bandwidth"], expected)


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


def test_channels_of_other_tasks_and_steps_do_not_wait_for_each_other() -> None:
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


def test_between_unknown_devices_nothing_is_known() -> None:
    columns = {"start_ns": [0, 10], "duration_ns": [100, 190], "kind": ["transfer"] * 2, "bytes": [50, 100]}
    table = tv.Trace(events.build(columns)).transfers
    assert table[["wait_ns", "transfer_ns", "bandwidth"]].isna().all(axis=None)
    ps = "/job:ps/task:0/device:CPU:0"
    known = tv.Trace(events.build({**columns, "source": [ps, None], "destination": [ps, None]})).transfers
    assert known["transfer_ns"].tolist() == [100, pd.NA]
