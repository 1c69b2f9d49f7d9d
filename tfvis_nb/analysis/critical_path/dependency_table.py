"""What let each event go on: by whom, from when to when, as one table that paths and slack are found in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.events.nesting import nests, parents
from tfvis_nb.core.categories import is_kind, spread
from tfvis_nb.core.search_sorted import last_fitting

if TYPE_CHECKING:
    import pandas as pd

    from tfvis_nb.core.trace import Trace

KINDS = (
    "data",
    "control",
    "transfer",
    "launch",
    "stream",
    "thread",
    "call",
    "copy",
    "channel",
    "collective",
    "order",
)
"""What a release is; see `tfvis_nb.analysis.critical_path.dependencies.releases`."""

KIND = {name: place for place, name in enumerate(KINDS)}
"""The place of each in `KINDS`."""

COARSE = 1_000
"""Nanoseconds by which times may be off: GPUs are recorded in whole microseconds."""

_EXECUTOR = ("ops", "collective")


class Releases(NamedTuple):
    """Releases: what something waited for, and until when."""

    source: np.ndarray  # What the target had to wait for
    left: np.ndarray  # When the source had come so far (ns), not before its start and not after its end
    target: np.ndarray  # What went on then
    # When it did (ns): its start, or a later moment up to which it waited. Never before ``left``
    reached: np.ndarray
    kind: np.ndarray  # Place in `KINDS`

    def take(self, which: np.ndarray) -> Releases:
        """Return some of them, by place or mask."""
        return Releases(*(column[which] for column in self))


def joined(parts: Iterable[Releases]) -> Releases:
    """Put releases one behind the other."""
    return Releases(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Times:
    """The times of a trace's events as arrays with one entry per event, and where each ran.

    * ``start``, ``end`` (ns); ``done``: when the kernel of an op returned, else its end.
    * ``ready``: when the event was ready or launched, never after its start; its start where ``known_ready``
      is False.
    * ``step``, ``task``, ``place``: numbers of the step, the task and the device.
    * ``counts``: may be on a path. Left out are rows that repeat others: what a thread has of an executor's
      ops, Horovod's phases of a collective, lines that summarise others.
    * ``executor``, ``device``, ``received``, ``thread``: rows of an executor, events on an accelerator,
      tensors received, events that lie within each other on a thread.
    * ``parent``: the event that each lies within on its thread, or -1.
    * ``lane``: the number of the thread of each event on one, -1 of others.
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
        self.task, self.place, lane = (
            events[name].cat.codes.to_numpy(np.int64) for name in ("task", "device", "lane")
        )
        on_accelerator, host = accelerators(events), is_kind(events, "host")
        ops = is_kind(events, "op") | is_kind(events, "collective")
        self.executor = ops & spread(events["lane"], lambda name: name in _EXECUTOR)
        self.received = is_kind(events, "transfer")
        sync = is_kind(events, "sync")
        self.device = on_accelerator & ~self.executor & ~host & ~sync & ~self.received
        with_executor = np.zeros(len(events["task"].cat.categories) + 1, bool)
        with_executor[self.task[self.executor]] = True
        idle = activity(trace) == NUMBER["none"]
        self.counts = ~(host & (with_executor[self.task] | (idle & on_accelerator)))
        self.counts &= ~sync | on_accelerator
        self.thread = nests(events) & self.counts
        self.parent = np.where(self.counts, parents(events), -1)
        self.parent[(self.parent >= 0) & ~self.counts[self.parent]] = -1
        self.lane = np.full(len(events), -1, np.int64)
        rows = np.flatnonzero(self.thread)
        width = [int(numbers.max(initial=0)) + 2 for numbers in (self.place, lane)]
        key = ((self.task[rows] + 1) * width[0] + self.place[rows] + 1) * width[1] + lane[rows] + 1
        self.lane[rows] = np.unique(key, return_inverse=True)[1]
        # Numbers of 32 bits are sorted faster.
        self.by_thread = rows[np.argsort(self.lane[rows].astype(np.int32), kind="stable")]

    def at_start(self, source: np.ndarray, target: np.ndarray, kind: str) -> Releases:
        """Make releases of a target's start by what its source had done by then.

        A source that had not done it is left out, unless it was as good as done.
        """
        known = (self.done[source] <= self.start[target] + COARSE) & (
            self.start[source] <= self.start[target]
        )
        return self.until_start(source[known], target[known], kind)

    def until_start(self, source: np.ndarray, target: np.ndarray, kind: str) -> Releases:
        """Make releases of a target's start by a source that may go on after it."""
        reached = self.start[target]
        return self.releases(source, np.minimum(self.end[source], reached), target, reached, kind)

    def releases(
        self, source: np.ndarray, left: np.ndarray, target: np.ndarray, reached: np.ndarray, kind: str
    ) -> Releases:
        """Make releases of one kind, without those that cannot be.

        What lets a thread's event go on while another runs within it releases that one.
        """
        later = np.flatnonzero(reached > self.start[target])
        if len(later) and kind != "thread":
            target = target.copy()
            target[later] = self.innermost(target[later], reached[later])
        sound = (left <= reached) & (left >= self.start[source]) & (source != target)
        sound &= self.counts[source] & self.counts[target]
        found = Releases(source, left, target, reached, np.full(len(source), KIND[kind], np.int64))
        return found if sound.all() else found.take(np.flatnonzero(sound))

    def innermost(self, event: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Return what the thread of each event ran right before `time`.

        `time` lies in ``(start, end]`` of the event. An event that is on no thread stays itself.
        """
        found = event.copy()
        asked = np.flatnonzero(self.thread[event])
        lane = self.lane[self.by_thread]
        begin, end = (np.searchsorted(lane, self.lane[event[asked]], side) for side in ("left", "right"))
        when, start = time[asked], self.start[self.by_thread]
        at = self.by_thread[last_fitting(begin, end, lambda one, place: start[place] < when[one])]
        while (over := np.flatnonzero((self.end[at] < when) & (at != event[asked]))).size:
            outer = self.parent[at[over]]
            at[over] = np.where(outer >= 0, outer, event[asked[over]])
        found[asked] = at
        return found


def _filled(column: pd.Series, otherwise: np.ndarray) -> np.ndarray:
    return np.where(column.notna(), column.to_numpy(np.int64, na_value=0), otherwise)
