"""Processes and threads for Chrome trace events: a device is a process, a row of a lane a thread."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.display.lane_order import order_lanes


@dataclass(frozen=True)
class ChromeRows:
    """Where each event goes.

    Parameters
    ----------
    pid, tid
        Process and thread number of each event; int64, from 1, the same for the same trace.
    metadata
        The trace events that name and order processes and threads.
    """

    pid: np.ndarray
    tid: np.ndarray
    metadata: list[dict[str, Any]]


def place_rows(events: pd.DataFrame) -> ChromeRows:
    """Lay out an event table so that no two bars of a thread overlap.

    Examples
    --------
    >>> from tfvis_nb import events
    >>> from tfvis_nb.display.chrome_rows import place_rows
    >>> table = events.build({"start_ns": [0, 5, 9], "duration_ns": [8, 8, 1], "lane": ["ops"] * 3})
    >>> place_rows(table).tid.tolist()
    [1, 2, 1]
    """
    lanes = order_lanes(events)
    pid = np.zeros(len(events), "i8")
    tid = np.zeros(len(events), "i8")
    metadata: list[dict[str, Any]] = []
    process, thread = 0, 0
    before: tuple[str, str] | None = None
    members = np.split(np.argsort(lanes.of_event, kind="stable"), np.cumsum(lanes.table["events"])[:-1])
    for row, ids in zip(lanes.table.itertuples(index=False), members, strict=False):
        where = (str(row.task), str(row.device))
        if where != before:
            before, process, thread = where, process + 1, 0
            metadata += _described("process", where[1] or where[0] or "unknown device", process)
        start = events["start_ns"].to_numpy()[ids]
        packed = pack_rows(start, start + events["duration_ns"].to_numpy()[ids])
        for number in range(int(packed.max()) + 1):
            name = str(row.lane) or str(row.kind)
            name = f"{name} ({number + 1})" if number else name
            metadata += _described("thread", name, process, thread + number + 1)
        pid[ids] = process
        tid[ids] = packed + thread + 1
        thread += int(packed.max()) + 1
    return ChromeRows(pid, tid, metadata)


def pack_rows(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Give each interval, ordered by start, the first row that is free when it starts; int64 from 0."""
    rows = np.zeros(len(start), "i8")
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for number, (begin, finish) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        # With no row free, all of those there are hold an interval, and the next one is new.
        row = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (finish, row))
        rows[number] = row
    return rows


def _described(what: str, name: str, pid: int, tid: int = 0) -> list[dict[str, Any]]:
    order = tid if what == "thread" else pid
    return [
        {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": {"name": name}},
        {"ph": "M", "name": f"{what}_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": order}},
    ]
