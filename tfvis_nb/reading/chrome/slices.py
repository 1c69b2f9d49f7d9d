"""Convert trace events to columns of bars: complete ones, starts joined with ends, and their threads."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.core.nested_columns import FLOWS_IN, FLOWS_OUT
from tfvis_nb.events import LATEST_NS
from tfvis_nb.reading.chrome import async_events
from tfvis_nb.reading.chrome.async_events import AsyncEvents
from tfvis_nb.reading.chrome.counters import CounterEvents
from tfvis_nb.reading.chrome.values import between, key_of, key_values, listed, nanoseconds, text, texts
from tfvis_nb.texts import Text

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


Thread = tuple[Any, Any]
"""A pid and a tid: numbers or texts, as in the file."""

_INSTANTS = tuple("iIRPvV")
"""Phases of instants: current and old marks, samples, and memory dumps."""

_PLACED = frozenset(
    "ph name cat ts dur pid tid args s bp cname bind_id flow_in flow_out".split()  # noqa: SIM905
)
"""Fields of events used for columns or arrows, or only for the colour of a bar; others are details."""

_NAMING = ("process_name", "process_sort_index", "thread_sort_index")
"""Metadata about names and the order of lanes, which here follows from the names."""

UNUSABLE = "unusable_bars_left_out"
_UNKNOWN_PHASE = "phase_left_out"
_BACKWARDS = "backward_bars_left_out"
LOST_BARS = (UNUSABLE, _BACKWARDS)
"""Notes on bars that cannot be drawn."""


@dataclass
class Columns:
    """The bars of a document, in its order.

    - `name`, `category`, `detail`: Arrow texts (large_string); `detail` has the arguments that are not in
      `arguments`.
    - `thread`: Number of the bar's thread in `threads` (int64).
    - `threads`: Pid and tid of each thread.
    - `start`, `duration`: int64 ns, as in the file.
    - `arguments`: Name to the values of that argument for each bar, None if missing.
    """

    name: pa.Array
    category: pa.Array
    detail: pa.Array
    thread: np.ndarray
    threads: list[Thread]
    start: np.ndarray
    duration: np.ndarray
    arguments: dict[str, list[Any]]


@dataclass
class Slices:
    """Collects the bars of a document while it is read.

    - `wanted`: The arguments to keep as values.
    - `processes`, `labels`, `names`, `described`: Pid to process name and to labels; thread to thread name,
      and to everything recorded with the name.
    - `notes`: Texts about everything left out or repaired.
    - `unread`: Names of metadata events that are not read.
    - `counters`, `flows`: The values of counters, and arrows from bar to bar.
    - `places`: Task and device of counters by pid, if not those of its bars.
    """

    wanted: tuple[str, ...] = ()
    processes: dict[Any, str] = field(default_factory=dict)
    labels: dict[Any, str] = field(default_factory=dict)
    names: dict[Thread, str] = field(default_factory=dict)
    described: dict[Thread, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: dict[str, None] = field(default_factory=dict)
    counters: CounterEvents = field(default_factory=CounterEvents)
    flows: FlowEvents = field(default_factory=FlowEvents)
    places: dict[Any, tuple[str, str]] = field(default_factory=dict)
    _async: AsyncEvents = field(default_factory=AsyncEvents)
    _pieces: list[Columns] = field(default_factory=list)
    _threads: dict[Thread, int] = field(default_factory=dict)
    _open: dict[Thread, list[dict[str, Any]]] = field(default_factory=dict)
    _other: Counter[tuple[str, str]] = field(default_factory=Counter)
    _last: int = 0

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        whole: list[dict[str, Any]] = []
        instants: list[dict[str, Any]] = []
        counting: list[dict[str, Any]] = []
        flowing: list[dict[str, Any]] = []
        for event in events:
            if type(event) is not dict:
                self._other["elements_left_out", ""] += 1
            elif (phase := event.get("ph")) == "X":
                whole.append(event)
            elif phase == "C":
                counting.append(event)
            elif phase in PHASES:
                flowing.append(event)
            elif phase == "M":
                self._describe(event)
            elif phase == "B":
                self._open.setdefault(_thread(event), []).append(event)
            elif phase == "E":
                self._close(event, whole)
            elif phase in _INSTANTS:
                instants.append(_mark(event))
            elif isinstance(phase, str) and phase in async_events.PHASES:
                self._async.add(event)
            elif event:  # viewers write an empty object after the last comma
                self._other[_UNKNOWN_PHASE, text(phase)[:20]] += 1
        if whole:
            self._pieces.append(self._columns(whole))
        if instants:
            self._pieces.append(self._columns(instants))
            self._pieces[-1].arguments[BINDING] = [INSTANT] * len(self._pieces[-1].start)
        if counting:
            self.counters.add(counting)
        if flowing:
            self.flows.add(flowing)

    def _describe(self, event: dict[str, Any]) -> None:
        what, arguments = event.get("name"), event.get("args")
        if not isinstance(arguments, dict):
            return
        process = key_of(event.get("pid"))
        if what == "process_name" and "name" in arguments:
            self.processes[process] = text(arguments["name"])
        elif what == "process_labels":
            self.labels[process] = text(arguments.get("labels"))
        elif what == "thread_name":
            thread = process, key_of(event.get("tid"))
            self.names[thread] = text(arguments.get("name"))
            self.described[thread] = arguments
        elif what not in _NAMING:
            self.unread[text(what)] = None

    def _close(self, event: dict[str, Any], whole: list[dict[str, Any]]) -> None:
        stack = self._open.get(_thread(event))
        if not stack:
            self._other["ends_left_out", ""] += 1
            return
        begin = stack.pop()
        duration = between(begin.get("ts"), event.get("ts"))
        arguments = _arguments(begin.get("args")) | _arguments(event.get("args"))
        if "tts" in begin and "tts" in event:
            arguments["tdur"] = between(begin["tts"], event["tts"])
        whole.append(begin | {"dur": duration, "args": arguments})

    def _columns(self, events: list[dict[str, Any]]) -> Columns:
        arguments = [_arguments(event.get("args")) for event in events]
        if set().union(*events) - _PLACED:
            arguments = [
                {key: value for key, value in event.items() if key not in _PLACED} | given
                for given, event in zip(arguments, events, strict=True)
            ]
        kept = {name: [a.pop(name, None) for a in arguments] for name in self.wanted}
        try:
            threads = [self._thread_id((event.get("pid"), event.get("tid"))) for event in events]
        except TypeError:
            threads = [self._thread_id(_thread(event)) for event in events]
        kept[BINDING] = [binding(event) if "bind_id" in event else None for event in events]
        start, usable = nanoseconds([event.get("ts") for event in events])
        duration, known = nanoseconds([event.get("dur", 0) for event in events])
        negative = usable & known & (duration < 0)
        if negative.any():
            self._other[_BACKWARDS, ""] += int(negative.sum())
        columns = Columns(
            name=texts([event.get("name") for event in events]),
            category=texts([event.get("cat") for event in events]),
            detail=texts([key_values(a) if a else "" for a in arguments]),
            thread=np.array(threads, np.int64),
            threads=[],
            start=start,
            duration=duration,
            arguments=kept,
        )
        good = usable & known & ~negative & (start + duration <= LATEST_NS)
        if not good.all():
            if lost := int((~good & ~negative).sum()):
                self._other[UNUSABLE, ""] += lost
            columns = select(columns, np.flatnonzero(good))
        if len(columns.start):
            self._last = max(self._last, int((columns.start + columns.duration).max()))
        return columns

    def _thread_id(self, thread: Thread) -> int:
        return self._threads.setdefault(thread, len(self._threads))

    def finish(self) -> Columns:
        """Return all bars."""
        matched = self._async.finish()
        if matched.whole:
            self._pieces.append(self._columns(matched.whole))
        if matched.ends:
            self._other["ends_left_out", ""] += matched.ends
        unended = [event for stack in self._open.values() for event in stack] + matched.unended
        if unended:
            self.notes.append(Text("bars_without_end", bars=len(unended)))
            for event in unended:
                event["dur"] = max(between(event.get("ts"), self._last // 1000) or 0, 0)
            self._pieces.append(self._columns(unended))
        self.notes += [
            Text(key, bars=count, phase=phase) if key == _UNKNOWN_PHASE else Text(key, bars=count)
            for (key, phase), count in self._other.items()
        ]
        if self.unread:
            self.notes.append(Text("metadata_events_left_out", names=listed(list(self.unread))))
        columns = joined_columns(self._pieces, (*self.wanted, BINDING))
        columns.threads = list(self._threads)
        return columns


def joined_columns(pieces: Sequence[Columns], wanted: Sequence[str]) -> Columns:
    """Concatenate columns; `wanted` are the names of their arguments."""
    if not pieces:
        none = texts([])
        zero = np.zeros(0, np.int64)
        return Columns(none, none, none, zero, [], zero, zero, {name: [] for name in wanted})
    return Columns(
        name=pa.concat_arrays([piece.name for piece in pieces]),
        category=pa.concat_arrays([piece.category for piece in pieces]),
        detail=pa.concat_arrays([piece.detail for piece in pieces]),
        thread=np.concatenate([piece.thread for piece in pieces]),
        threads=pieces[0].threads,
        start=np.concatenate([piece.start for piece in pieces]),
        duration=np.concatenate([piece.duration for piece in pieces]),
        arguments={name: [value for piece in pieces for value in piece.arguments[name]] for name in wanted},
    )


def select(columns: Columns, rows: np.ndarray) -> Columns:
    """Return some rows of columns."""
    take = pa.array(rows, pa.int64())
    chosen = rows.tolist()
    return Columns(
        name=columns.name.take(take),
        category=columns.category.take(take),
        detail=columns.detail.take(take),
        thread=columns.thread[rows],
        threads=columns.threads,
        start=columns.start[rows],
        duration=columns.duration[rows],
        arguments={name: [values[row] for row in chosen] for name, values in columns.arguments.items()},
    )


def _arguments(given: Any) -> dict[str, Any]:
    return given if type(given) is dict else {} if given is None else {"args": given}


def _thread(event: dict[str, Any]) -> Thread:
    return key_of(event.get("pid")), key_of(event.get("tid"))


def _mark(event: dict[str, Any]) -> dict[str, Any]:
    """Return an instant as a bar without length; one of a process or of all processes has its own lane."""
    return event | {"dur": 0} | ({} if event.get("s") not in ("p", "g") else {"tid": "instants"})
