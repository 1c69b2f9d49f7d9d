"""Flow trace events: arrows from bar to bar."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tfvis_nb.core.nested_columns import FLOWS_IN, FLOWS_OUT
from tfvis_nb.reading.chrome.values import key_of, nanoseconds, text
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.reading.chrome.slices import Columns

PHASES = ("s", "t", "f")
"""Flow events: the start, step and end of an arrow."""

BINDING = "bind_id"
"""The key by which arrows start or end in a bar; kept with its arguments."""

INSTANT = "", -1
"""The arrow key of an instant, where no arrow starts or ends."""

_START, _STEP, _END = range(3)
_MOST_OPEN = 1000
"""How many open bars of a thread are searched; files with more are crafted to take long."""

_Thread = tuple[Any, Any]


def binding(event: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the arrow that a bar with a ``bind_id`` starts or ends, and which of these; None for neither."""
    starts, ends = event.get("flow_out") is True, event.get("flow_in") is True
    if not starts and not ends:
        return None
    return text(event["bind_id"]), _STEP if starts and ends else _START if starts else _END


class FlowEvents:
    """Collects the flow events of a document while it is read.

    An arrow goes from the open bar on the thread of its start to the bar of its end: the open one if the end
    has ``"bp": "e"``, else the next one on its thread. A step in between gives an arrow to it and one from
    it. Bars with ``bind_id`` are starts (``flow_out``), ends (``flow_in``) or both. Ends belong to the latest
    start with the same category, name and id, at the same time or earlier.
    """

    def __init__(self) -> None:
        self._points: list[tuple[tuple[str, ...], int, bool]] = []
        self._threads: list[_Thread] = []
        self._times: list[Any] = []

    def add(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add events."""
        for event in events:
            key = tuple(text(event.get(part)) for part in ("cat", "name", "id"))
            phase = PHASES.index(event["ph"])
            self._points.append((key, phase, phase == _START or event.get("bp") == "e"))
            self._threads.append((key_of(event.get("pid")), key_of(event.get("tid"))))
            self._times.append(event.get("ts"))

    def finish(self, columns: Columns) -> tuple[dict[str, pa.Array], list[str]]:
        """Return nested columns with the arrows of the bars in `columns`, and a note on arrows left out."""
        times, usable = nanoseconds(self._times)
        ends: list[tuple[tuple[str, ...], int, int, int]] = []
        lost = int((~usable).sum())
        bars = _Bars(columns)
        for index in np.flatnonzero(usable).tolist():
            key, phase, is_open = self._points[index]
            at = int(times[index])
            find = bars.open_at if is_open else bars.next_at
            bar = find(self._threads[index], at)
            if bar < 0:
                lost += 1
            else:
                ends.append((key, at, phase, bar))
        for row, bound in enumerate(columns.arguments[BINDING]):
            if bound is not None and bound != INSTANT:
                ends.append(((bound[0],), int(columns.start[row]), bound[1], row))
        arrows, unstarted = _arrows(ends)
        lost += unstarted
        notes: list[str] = [Text("flow_ends_left_out", ends=lost)] if lost else []
        if not arrows:
            return {}, notes
        # Merged traces must not share the numbers of their arrows.
        salt = zlib.crc32(columns.start.tobytes() + columns.duration.tobytes()) << 31
        arrays = {}
        for name, side in ((FLOWS_OUT, 0), (FLOWS_IN, 1)):
            lists: dict[int, list[int]] = {}
            for number, arrow in enumerate(arrows):
                lists.setdefault(arrow[side], []).append(salt + number)
            arrays[name] = pa.array(
                [lists.get(row) for row in range(len(columns.start))], pa.list_(pa.int64())
            )
        return arrays, notes


def _arrows(ends: list[tuple[tuple[str, ...], int, int, int]]) -> tuple[list[tuple[int, int]], int]:
    """Join ends into arrows from bar to bar; return them, and the number of ends without a start."""
    ends.sort(key=lambda end: end[:3])
    arrows: list[tuple[int, int]] = []
    unstarted = 0
    current, source = None, -1
    for key, _, phase, bar in ends:
        if key != current:
            current, source = key, -1
        if phase != _START:
            if source < 0:
                unstarted += 1
            elif source != bar:
                arrows.append((source, bar))
        if phase != _END:
            source = bar
    return arrows, unstarted


class _Bars:
    """The bars of each thread, searchable by time; threads are sorted at their first use."""

    def __init__(self, columns: Columns) -> None:
        self._start, self._end = columns.start, columns.start + columns.duration
        bars = np.array([bound != INSTANT for bound in columns.arguments[BINDING]], bool).nonzero()[0]
        order = bars[np.argsort(columns.thread[bars], kind="stable")]
        ends = np.searchsorted(columns.thread[order], np.arange(1, len(columns.threads)))
        self._rows = np.split(order, ends)
        self._number = {one: number for number, one in enumerate(columns.threads)}
        self._sorted: dict[int, tuple[list[int], list[int], list[int], list[int]]] = {}

    def open_at(self, thread: _Thread, at: int) -> int:
        """Return the innermost bar open at a time, -1 for none; empty bars are open at their start."""
        rows, starts, ends, outer = self._of(thread)
        place = bisect_left(starts, at + 1) - 1
        for _ in range(_MOST_OPEN):
            if place < 0 or ends[place] > at or ends[place] == starts[place] == at:
                return rows[place] if place >= 0 else -1
            place = outer[place]
        return -1

    def next_at(self, thread: _Thread, at: int) -> int:
        """Return the first bar that starts at or after a time, -1 for none."""
        rows, starts, _, _ = self._of(thread)
        place = bisect_left(starts, at)
        return rows[place] if place < len(rows) else -1

    def _of(self, thread: _Thread) -> tuple[list[int], list[int], list[int], list[int]]:
        """Return rows, starts and ends of a thread's bars, and the positions of their enclosing bars."""
        number = self._number.get(thread, -1)
        if number not in self._sorted:
            rows = self._rows[number] if number >= 0 else np.zeros(0, np.int64)
            rows = rows[np.lexsort((-self._end[rows], self._start[rows]))]
            starts, ends = self._start[rows].tolist(), self._end[rows].tolist()
            outer: list[int] = []
            stack: list[int] = []
            for place, begin in enumerate(starts):
                while stack and ends[stack[-1]] <= begin:
                    stack.pop()
                outer.append(stack[-1] if stack else -1)
                stack.append(place)
            self._sorted[number] = rows.tolist(), starts, ends, outer
        return self._sorted[number]
