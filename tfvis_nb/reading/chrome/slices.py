"""Convert trace events to columns of bars: complete ones, starts joined with ends, and their threads."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.events import LATEST_NS
from tfvis_nb.reading.chrome import async_events
from tfvis_nb.reading.chrome.async_events import AsyncEvents
from tfvis_nb.reading.chrome.counters import CounterEvents
from tfvis_nb.reading.chrome.flows import BINDING, INSTANT, PHASES, FlowEvents, binding
from tfvis_nb.reading.chrome.values import between, key_of, key_values, listed, nanoseconds, text, texts
from tfvis_nb.texts import Text

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
