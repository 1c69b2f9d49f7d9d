"""Processes and threads for Chrome trace events: a device is a process, a row of a lane a thread."""

import heapq
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lane_order import order_lanes

_LARGEST = (1 << 31) - 1


@dataclass(frozen=True)
class ChromeRows:
    """Process and thread number of each event (int64, below 2**31), and what names and orders them.

    The numbers are made of the names of device and lane, so that the events of two files can be laid
    together.
    """

    pid: np.ndarray
    tid: np.ndarray
    metadata: list[dict[str, Any]]


def place_rows(events: pd.DataFrame) -> ChromeRows:
    """Lay out an event table so that no two bars of a thread overlap."""
    lanes = order_lanes(events)
    pid = np.zeros(len(events), "i8")
    tid = np.zeros(len(events), "i8")
    metadata: list[dict[str, Any]] = []
    processes: set[int] = set()
    threads: set[int] = set()
    before: str | None = None
    process = 0
    members = np.split(np.argsort(lanes.of_event, kind="stable"), np.cumsum(lanes.table["events"])[:-1])
    for row, ids in zip(lanes.table.itertuples(index=False), members, strict=False):
        where = f"{row.task}\n{row.device}"
        if where != before:
            before, threads = where, set()
            process = _unique_id(where, processes)
            name = str(row.device) or str(row.task) or "unknown device"
            metadata += _described("process", len(processes), {"name": name}, process)
        start = events["start_ns"].to_numpy()[ids]
        packed = pack_rows(start, start + events["duration_ns"].to_numpy()[ids])
        lane = str(row.lane) or str(row.kind)
        location = {"task": str(row.task), "device": str(row.device), "lane": str(row.lane)}
        numbers = []
        for number in range(int(packed.max()) + 1):
            numbers.append(_unique_id(f"{row.lane}\n{number}", threads))
            name = f"{lane} ({number + 1})" if number else lane
            metadata += _described("thread", len(threads), {"name": name, **location}, process, numbers[-1])
        pid[ids] = process
        tid[ids] = np.array(numbers, "i8")[packed]
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


def _unique_id(text: str, taken: set[int]) -> int:
    """Return a number for a text: the same in every file, unless two texts of a file have the same."""
    number = zlib.crc32(text.encode("utf-8", "replace")) & _LARGEST or 1
    while number in taken:
        number = number % _LARGEST + 1
    taken.add(number)
    return number


def _described(
    what: str, order: int, arguments: dict[str, str], pid: int, tid: int = 0
) -> list[dict[str, Any]]:
    return [
        {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": arguments},
        {"ph": "M", "name": f"{what}_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": order}},
    ]
