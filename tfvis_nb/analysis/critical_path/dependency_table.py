"""The table of dependencies, with times, for computing paths and slack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.participants import participants
from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.events.nesting import nests, parents_of
from tfvis_nb.core.categories import is_kind, map_categories
from tfvis_nb.core.search_sorted import bisect_ranges
from tfvis_nb.core.trace import Trace

KINDS = (
    "data",
    "control",
    "transfer",
    "launch",
    "flow",
    "stream",
    "thread",
    "call",
    "copy",
    "channel",
    "collective",
    "element",
    "order",
)
"""Kinds of dependencies; see `tfvis_nb.analysis.critical_path.dependencies.dependencies`."""

KIND = {name: index for index, name in enumerate(KINDS)}
"""The index of each in `KINDS`."""

COARSE = 1_000
"""Tolerance of times in ns, because GPU times are recorded in whole microseconds."""

_EXECUTOR = ("ops", "collective")


class Dependencies(NamedTuple):
    """Dependencies of events: source and target are event ids, times epoch ns.

    `released_at` is when the source released the target, between the source's start and end. `satisfied_at`
    is when the target continued, never earlier: its start, or a later time until which it waited.
    """

    source: np.ndarray
    released_at: np.ndarray
    target: np.ndarray
    satisfied_at: np.ndarray
    kind: np.ndarray  # index in `KINDS`

    def take(self, rows: np.ndarray) -> Dependencies:
        """Select dependencies by index or mask."""
        return Dependencies(*(column[rows] for column in self))


def concat_dependencies(parts: Iterable[Dependencies]) -> Dependencies:
    """Concatenate dependencies."""
    return Dependencies(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Times:
    """The times of events and where they ran, as arrays with one entry per event.

    * ``start``, ``end`` (ns); ``done``: when the kernel of an op returned, else the end.
    * ``ready``: when the event was ready or launched, never after its start; its start if ``known_ready`` is
      False.
    * ``step``, ``task``, ``device_number``: numbers of the step, the task and the device.
    * ``participant``: the number of the task or device that takes part in collectives.
    * ``counts``: whether it may be on a path. Rows that repeat others may not: executor ops repeated on a
      thread, Horovod's phases of a collective, lines that summarise others.
    * ``executor``, ``device``, ``received``, ``thread``: rows of an executor, events on an accelerator,
      tensors received, nested events on a thread.
    * ``parent``: the enclosing event on its thread, or -1.
    * ``lane``: the number of the event's thread, -1 if it is on none.
    * ``by_thread``: the ids of events on threads, thread by thread.
    """

    def __init__(self, trace: Trace) -> None:
        events = trace.events
        self.events = events
        self.start = events["start_ns"].to_numpy(np.int64)
        self.end = self.start + events["duration_ns"].to_numpy(np.int64)
        computed = _filled(events["compute_end_ns"], self.end)
        self.done = np.where((computed >= self.start) & (computed <= self.end), computed, self.end)
        self.known_ready = events["scheduled_ns"].notna().to_numpy()
        self.ready = np.minimum(_filled(events["scheduled_ns"], self.start), self.start)
        self.step = events["step"].to_numpy(np.int64)
        self.task, self.device_number, lane = (
            events[name].cat.codes.to_numpy(np.int64) for name in ("task", "device", "lane")
        )
        self.participant = participants(trace).cat.codes.to_numpy(np.int64)
        on_accelerator, host = accelerators(events), is_kind(events, "host")
        ops = is_kind(events, "op", "collective")
        self.executor = ops & map_categories(events["lane"], lambda name: name in _EXECUTOR)
        self.received = is_kind(events, "transfer")
        sync = is_kind(events, "sync")
        self.device = on_accelerator & ~self.executor & ~host & ~sync & ~self.received
        with_executor = np.zeros(len(events["task"].cat.categories) + 1, bool)
        with_executor[self.task[self.executor]] = True
        idle = activity(trace) == NUMBER["none"]
        self.counts = ~(host & (with_executor[self.task] | (idle & on_accelerator)))
        self.counts &= ~sync | on_accelerator
        self.thread = nests(events) & self.counts
        self.parent = np.where(self.counts, parents_of(trace), -1)
        self.parent[(self.parent >= 0) & ~self.counts[self.parent]] = -1
        self.lane = np.full(len(events), -1, np.int64)
        rows = np.flatnonzero(self.thread)
        width = [int(numbers.max(initial=0)) + 2 for numbers in (self.device_number, lane)]
        key = ((self.task[rows] + 1) * width[0] + self.device_number[rows] + 1) * width[1] + lane[rows] + 1
        self.lane[rows] = pd.factorize(key, sort=True)[0]
        # 32-bit numbers sort faster.
        self.by_thread = rows[np.argsort(self.lane[rows].astype(np.int32), kind="stable")]

    def at_start(self, source: np.ndarray, target: np.ndarray, kind: str) -> Dependencies:
        """Make dependencies of a target's start on a source that was done by then.

        A source that was not done is left out, unless it was done within the tolerance.
        """
        known = (self.done[source] <= self.start[target] + COARSE) & (
            self.start[source] <= self.start[target]
        )
        return self.until_start(source[known], target[known], kind)

    def until_start(self, source: np.ndarray, target: np.ndarray, kind: str) -> Dependencies:
        """Make dependencies of a target's start on a source that may continue after it."""
        satisfied_at = self.start[target]
        released_at = np.minimum(self.end[source], satisfied_at)
        return self.dependencies(source, released_at, target, satisfied_at, kind)

    def dependencies(
        self,
        source: np.ndarray,
        released_at: np.ndarray,
        target: np.ndarray,
        satisfied_at: np.ndarray,
        kind: str,
    ) -> Dependencies:
        """Make dependencies of one kind, without impossible ones.

        An event that continues while a nested one runs is replaced by that nested one.
        """
        later = np.flatnonzero(satisfied_at > self.start[target])
        if len(later) and kind != "thread":
            target = target.copy()
            target[later] = self.innermost(target[later], satisfied_at[later])
        sound = (released_at <= satisfied_at) & (released_at >= self.start[source]) & (source != target)
        sound &= self.counts[source] & self.counts[target]
        kinds = np.full(len(source), KIND[kind], np.int64)
        dependencies = Dependencies(source, released_at, target, satisfied_at, kinds)
        return dependencies if sound.all() else dependencies.take(np.flatnonzero(sound))

    def with_nested(self, chosen: np.ndarray) -> np.ndarray:
        """Return a mask of chosen events and all events nested in them on their threads."""
        marked = chosen.copy()
        outer = np.where(self.parent >= 0, self.parent, np.arange(len(self.parent)))
        # Each round doubles the number of enclosing events.
        while True:
            deeper = marked | marked[outer]
            further = outer[outer]
            if (further == outer).all() and (deeper == marked).all():
                return marked
            marked, outer = deeper, further

    def innermost(self, event: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Return the event that the thread of each event ran right before `time`.

        `time` lies in ``(start, end]`` of the event. Events on no thread are returned unchanged.
        """
        innermost = event.copy()
        on_thread = np.flatnonzero(self.thread[event])
        outermost, when = event[on_thread], time[on_thread]
        lane, start = self.lane[self.by_thread], self.start[self.by_thread]
        first, last = (np.searchsorted(lane, self.lane[outermost], side) for side in ("left", "right"))
        latest = bisect_ranges(first, last, lambda row, index: start[index] < when[row])
        inner = self.by_thread[latest]
        while (ended := np.flatnonzero((self.end[inner] < when) & (inner != outermost))).size:
            outer = self.parent[inner[ended]]
            inner[ended] = np.where(outer >= 0, outer, outermost[ended])
        innermost[on_thread] = inner
        return innermost


def _filled(column: pd.Series, otherwise: np.ndarray) -> np.ndarray:
    return np.where(column.notna(), column.to_numpy(np.int64, na_value=0), otherwise)
