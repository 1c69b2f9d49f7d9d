"""The processes and threads of a Chrome trace: one per device, and one or more per lane."""

import heapq
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.labels import lane_label
from tfvis_nb.core.trace import Trace

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


def place_rows(events: pd.DataFrame, start: np.ndarray, end: np.ndarray) -> ChromeRows:
    """Lay out an event table so that bars of a thread, from `start` to `end` (ns), do not overlap."""
    lanes = order_lanes(events)
    pid = np.zeros(len(events), "i8")
    tid = np.zeros(len(events), "i8")
    metadata: list[dict[str, Any]] = []
    processes: set[int] = set()
    members = np.split(np.argsort(lanes.of_event, kind="stable"), np.cumsum(lanes.table["events"])[:-1])
    rows = zip(lanes.table.itertuples(index=False), members, strict=False)
    for (task, device), group in groupby(rows, key=lambda pair: (str(pair[0].task), str(pair[0].device))):
        threads: list[dict[str, str]] = []
        own: list[np.ndarray] = []
        key = [task, device]
        for row, members_of_lane in group:
            ids = members_of_lane[np.argsort(start[members_of_lane], kind="stable")]
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
        metadata += described("process", len(processes), _process_name(task, device), process)
        for number, location in enumerate(threads, 1):
            metadata += described("thread", number, location.pop("name"), process, number, location)
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


def _process_name(task: str, device: str, otherwise: str = "unknown device") -> str:
    """Return the name of a process, to which Perfetto adds the number: ``worker 0 · GPU:0``."""
    return lane_label(task, device, "") or task or otherwise


def described(
    what: str, order: int, name: str, pid: int, tid: int = 0, more: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the events that name a ``process`` or ``thread`` and give its position."""
    return [
        {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": {"name": name, **(more or {})}},
        {"ph": "M", "name": f"{what}_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": order}},
    ]


class Processes:
    """The processes of devices: those of their events, and new ones, named by events in `named`."""

    def __init__(self, trace: Trace, rows: ChromeRows) -> None:
        self.named: list[dict[str, Any]] = []
        task, device = (trace.events[name].cat for name in ("task", "device"))
        code = task.codes.to_numpy(np.int64) * (len(device.categories) + 1) + device.codes.to_numpy(np.int64)
        _, first = np.unique(code, return_index=True)
        places: pd.DataFrame = trace.events[["task", "device"]].take(first).astype(object)
        pids = rows.pid[first].tolist()
        self._known: dict[tuple[Any, ...], int] = dict(
            zip(places.itertuples(index=False, name=None), pids, strict=True)
        )
        self._taken = set(pids)

    def of(self, task: str, device: str, content: str = "") -> int:
        """Return the process of a task's device, or another one for this `content` of it."""
        key = (task, device, content) if content else (task, device)
        if key not in self._known:
            self._known[key] = process = unique_id("\n".join(key), self._taken)
            name = _process_name(task, device, "" if content else "counters")
            self.named += described("process", len(self._taken), f"{name} {content}".strip(), process)
        return self._known[key]
