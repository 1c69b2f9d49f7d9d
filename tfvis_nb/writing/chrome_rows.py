"""Processes and threads for Chrome trace events: devices are processes, rows of lanes are threads."""

import heapq
import zlib
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lane_order import order_lanes

_LARGEST = (1 << 31) - 1


@dataclass(frozen=True)
class ChromeRows:
    """Process and thread numbers of each event (int64, below 2**31), and the events that name and order them.

    Threads are numbered from 1 in the order of the lanes, by which Perfetto sorts them. The number of a
    process is derived from the names of its device and lanes, and of their first threads. So the events of
    two files can be merged: devices with the same lanes become one process.
    """

    pid: np.ndarray
    tid: np.ndarray
    metadata: list[dict[str, Any]]


def place_rows(events: pd.DataFrame) -> ChromeRows:
    """Lay out an event table so that bars of a thread do not overlap."""
    lanes = order_lanes(events)
    pid = np.zeros(len(events), "i8")
    tid = np.zeros(len(events), "i8")
    metadata: list[dict[str, Any]] = []
    processes: set[int] = set()
    start = events["start_ns"].to_numpy()
    end = start + events["duration_ns"].to_numpy()
    members = np.split(np.argsort(lanes.of_event, kind="stable"), np.cumsum(lanes.table["events"])[:-1])
    rows = zip(lanes.table.itertuples(index=False), members, strict=False)
    for (task, device), group in groupby(rows, key=lambda pair: (str(pair[0].task), str(pair[0].device))):
        threads: list[dict[str, str]] = []
        own: list[np.ndarray] = []
        key = [task, device]
        for row, ids in group:
            packed = pack_rows(start[ids], end[ids])
            tid[ids] = packed + len(threads) + 1
            lane = str(row.lane) or str(row.kind)
            key.append(f"{len(threads)} {lane}")
            location = {"task": task, "device": device, "lane": str(row.lane)}
            threads += [
                {"name": f"{lane} ({number + 1})" if number else lane, **location}
                for number in range(int(packed.max()) + 1)
            ]
            own.append(ids)
        process = unique_id("\n".join(key), processes)
        pid[np.concatenate(own)] = process
        name = device or task or "unknown device"
        metadata += described("process", len(processes), {"name": name}, process)
        for number, arguments in enumerate(threads, 1):
            metadata += described("thread", number, arguments, process, number)
    return ChromeRows(pid, tid, metadata)


def pack_rows(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return for each interval, ordered by start, the first row that is free at its start (int64, from 0)."""
    rows = np.zeros(len(start), "i8")
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for number, (begin, finish) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        # If no row is free, all existing rows are occupied, so the next one is new.
        row = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (finish, row))
        rows[number] = row
    return rows


def unique_id(text: str, taken: set[int]) -> int:
    """Return a number for a text: the same in all files, unless two texts of a file collide."""
    number = zlib.crc32(text.encode("utf-8", "replace")) & _LARGEST or 1
    while number in taken:
        number = number % _LARGEST + 1
    taken.add(number)
    return number


def described(
    what: str, order: int, arguments: dict[str, str], pid: int, tid: int = 0
) -> list[dict[str, Any]]:
    """Return the events that name a ``process`` or ``thread`` and give its position."""
    return [
        {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": arguments},
        {"ph": "M", "name": f"{what}_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": order}},
    ]
