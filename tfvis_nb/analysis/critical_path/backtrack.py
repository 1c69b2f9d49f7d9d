"""Trace back from an event to the last dependency it waited for, repeatedly."""

from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis.critical_path.blocking_calls import (
    BlockingCalls,
    blocking_calls,
    launch_pairs,
    without_waits,
)
from tfvis_nb.analysis.critical_path.dependencies import dependencies
from tfvis_nb.analysis.critical_path.dependency_table import KIND, KINDS, Times
from tfvis_nb.analysis.critical_path.device import streams
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.traced_calls import traced_calls
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.search_sorted import bisect_ranges
from tfvis_nb.core.trace import Trace

WAITS = ("transfer_wait", "launch_latency", "kernel_gap", "queueing", "scheduling", "unknown")
"""Categories of the time between two events of a path; see
`tfvis_nb.analysis.critical_path.critical_path.FIGURES`."""

_FEW_PATHS = 64
_WAIT_OF_KIND = {"launch": "launch_latency", "stream": "kernel_gap", "order": "unknown"}
_UNKNOWN, _KERNEL_GAP = WAITS.index("unknown"), WAITS.index("kernel_gap")
_RUNNING = _NO_KIND = -1


class PathSegments(NamedTuple):
    """Segments of paths, path by path, each going back in time without gaps."""

    walk: np.ndarray  # number of the path
    start: np.ndarray  # epoch ns
    end: np.ndarray
    event: np.ndarray  # id of the event that ran, or that waited to start
    wait: np.ndarray  # index in `WAITS` while the event waited to start, -1 while it ran
    # Index in `KINDS` of the dependency: from a wait to the awaited event, or to the event that ran; -1:
    # none.
    kind: np.ndarray


class _Visits(NamedTuple):
    """The events that paths visit, path by path, each going back in time; times are epoch ns."""

    walk: np.ndarray
    event: np.ndarray
    left_at: np.ndarray  # when the path, going back, reached the event
    came_by: np.ndarray  # index in `KINDS` of the dependency that led to the event, -1 for the first event
    began_at: np.ndarray  # when the event continued after its last wait
    released_at: np.ndarray  # when the awaited event released it; the start of the path for the last event
    waited_by: np.ndarray  # index in `KINDS` of that dependency, -1 for the last event


class Backtracker:
    """Follows chains of awaited events back in time.

    Attributes: `times` of the events; `dependencies`, ordered by time; `launched`, whether an event has a
    recorded launch, as a time or an event; `activity`, for each event the highest index in
    `tfvis_nb.analysis.events.activity.ACTIVITIES` among itself and the events that enclose it on its thread.
    Events that only wrap others on a thread are runtime. A call that traces compiles until its new graph
    runs.
    """

    def __init__(self, trace: Trace) -> None:
        self.times, stream, launch, blocking = _launched(trace)
        self.dependencies = dependencies(trace, self.times, stream, launch, blocking)
        self.activity = _with_enclosing(self.times, activity(trace))
        self.activity[traced_calls(trace).rows] = NUMBER["compile"]
        target = self.dependencies.target
        self.launched = self.times.known_ready.copy()
        self.launched[target[self.dependencies.kind == KIND["launch"]]] = True
        self._by_target = np.argsort(target.astype(np.int32), kind="stable")
        self._first = np.searchsorted(target[self._by_target], np.arange(len(trace.events) + 1))
        before = np.arange(len(target))
        self._previous = self._latest(self.dependencies.source, self.dependencies.released_at, before)

    def trace_back(self, event: np.ndarray, until: np.ndarray, since: np.ndarray) -> PathSegments:
        """Follow paths back from `until`, a time of `event` not before its start, to `since` (epoch ns).

        A path always continues with the dependency that was satisfied last, because it decided when the event
        could continue. The segments of a path cover the time from `since` to `until` exactly.
        """
        last = self._latest(event, until, np.full(len(event), len(self._by_target)))
        walk, passed = self._chains(last, since)
        return self._segments(self._visits(event, until, since, walk, passed), since)

    def _latest(self, event: np.ndarray, time: np.ndarray, before: np.ndarray) -> np.ndarray:
        """Return each event's last dependency satisfied by a time, among those before an index; else -1.

        The limit ensures that paths end even among events without duration.
        """
        order, satisfied_at = self._by_target, self.dependencies.satisfied_at

        def fits(row: np.ndarray, index: np.ndarray) -> np.ndarray:
            dependency = order[index]
            right: np.ndarray = (satisfied_at[dependency] <= time[row]) & (dependency < before[row])
            return right

        index = bisect_ranges(self._first[event], self._first[event + 1], fits)
        return np.where(index >= 0, np.append(order, -1)[index], -1)

    def _chains(self, last: np.ndarray, since: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the dependencies on paths, path by path, and the path number of each."""
        released_at = self.dependencies.released_at
        walks, passed = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        walk = np.flatnonzero(last >= 0)
        now = last[walk]
        while len(walk) >= _FEW_PATHS:
            walks.append(walk)
            passed.append(now)
            goes_on = np.flatnonzero(released_at[now] > since[walk])
            walk, now = walk[goes_on], self._previous[now[goes_on]]
            goes_on = np.flatnonzero(now >= 0)
            walk, now = walk[goes_on], now[goes_on]
        if len(walk):
            # A few long paths are faster one by one.
            previous, released = self._previous.data, released_at.data
            for number, first, limit in zip(walk.tolist(), now.tolist(), since[walk].tolist(), strict=True):
                chain, dependency = [], first
                while dependency >= 0:
                    chain.append(dependency)
                    dependency = previous[dependency] if released[dependency] > limit else -1
                walks.append(np.full(len(chain), number))
                passed.append(np.array(chain, np.int64))
        walk, dependency = np.concatenate(walks), np.concatenate(passed)
        order = np.argsort(walk.astype(np.int32), kind="stable")
        return walk[order], dependency[order]

    def _visits(
        self, event: np.ndarray, until: np.ndarray, since: np.ndarray, walk: np.ndarray, passed: np.ndarray
    ) -> _Visits:
        """Return the n + 1 events along n dependencies; the first is `event`."""
        size = np.bincount(walk, minlength=len(event)) + 1
        head = np.cumsum(size) - size
        target = np.arange(len(walk)) + walk
        source = target + 1
        table = self.dependencies.take(passed)
        of_walk = np.repeat(np.arange(len(event)), size)
        visited, left_at = np.empty(len(of_walk), np.int64), np.empty(len(of_walk), np.int64)
        visited[head], left_at[head] = event, until
        visited[source], left_at[source] = table.source, table.released_at
        came_by, waited_by = np.full(len(of_walk), _NO_KIND), np.full(len(of_walk), _NO_KIND)
        came_by[source], waited_by[target] = table.kind, table.kind
        began_at, released_at = self.times.start[visited], since[of_walk]
        began_at[target], released_at[target] = table.satisfied_at, table.released_at
        released_at = np.minimum(released_at, began_at)
        return _Visits(of_walk, visited, left_at, came_by, began_at, released_at, waited_by)

    def _segments(self, visits: _Visits, since: np.ndarray) -> PathSegments:
        """Divide the time of each visit into segments.

        A visit goes back from the time at which the path reaches the event to the time at which it leaves it
        for the awaited event. Up to four segments lie in between:

            released_at      ready_at       began_at         ended_at       left_at
                 |  not ready   |   waiting    |    running     |   unknown    |
            time ------------------------------------------------------------------>

        An event may be ready before it starts and end before the path leaves it, if its row has the times.
        Empty segments, and all before the start of the path, are dropped.
        """
        times, event = self.times, visits.event
        ended_at = np.minimum(times.end[event], visits.left_at)
        has_ready = times.known_ready[event] & (visits.began_at == times.start[event])
        has_ready &= visits.waited_by != KIND["launch"]
        clipped = np.clip(times.ready[event], visits.released_at, visits.began_at)
        ready_at = np.where(has_ready, clipped, visits.released_at)
        not_ready, waiting = self._waits(visits, has_ready)
        # The four segments of each visit, latest first, between consecutive boundaries.
        boundaries = np.stack([visits.left_at, ended_at, visits.began_at, ready_at, visits.released_at])
        boundaries = np.maximum(boundaries, since[visits.walk])
        visit, segment = np.divmod(np.flatnonzero((boundaries[:-1] != boundaries[1:]).T), 4)
        waits = np.where(segment == 2, waiting[visit], not_ready[visit])
        kinds = np.where(segment == 1, visits.came_by[visit], visits.waited_by[visit])
        return PathSegments(
            visits.walk[visit],
            boundaries[segment + 1, visit],
            boundaries[segment, visit],
            event[visit],
            np.where(segment > 1, waits, np.array([_UNKNOWN, _RUNNING])[np.minimum(segment, 1)]),
            np.where(segment > 0, kinds, _NO_KIND),
        )

    def _waits(self, visits: _Visits, has_ready: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the waits until an event is ready, and then until it starts: indices in `WAITS`."""
        times, event, waited_by = self.times, visits.event, visits.waited_by
        # The last entry is for -1.
        of_kind = [WAITS.index(_WAIT_OF_KIND.get(kind, "scheduling")) for kind in KINDS] + [_UNKNOWN]
        not_ready = np.array(of_kind)[waited_by]
        not_ready[times.thread[event] & (waited_by == KIND["thread"])] = _UNKNOWN
        on_device = times.device[event]
        # Until its launch the device waits for the host, and without a launch it may do so just as well.
        not_ready[on_device & has_ready & (waited_by == KIND["stream"])] = WAITS.index("scheduling")
        not_ready[on_device & ~self.launched[event]] = _UNKNOWN
        not_ready[times.received[event]] = WAITS.index("transfer_wait")
        ready = np.where(on_device, WAITS.index("launch_latency"), WAITS.index("queueing"))
        # The launch does not delay an event that was launched earlier.
        early = on_device & (times.ready[event] <= visits.released_at)
        waiting = np.where(has_ready & ~(early & (waited_by == KIND["order"])), ready, not_ready)
        queued = early & ((waited_by == KIND["stream"]) | (waited_by == KIND["data"]))
        return not_ready, np.where(queued, _KERNEL_GAP, waiting)


def _with_enclosing(times: Times, activity: np.ndarray) -> np.ndarray:
    """Return the highest activity among each event and the events that enclose it on its thread."""
    highest = activity.astype(np.int64)
    highest[times.thread & (highest == NUMBER["none"])] = NUMBER["runtime"]
    # Each round doubles the number of enclosing events, so deep nesting is cheap.
    enclosing = times.parent.copy()
    inner = np.flatnonzero(enclosing >= 0)
    while len(inner):
        outer = enclosing[inner]
        highest[inner] = np.maximum(highest[inner], highest[outer])
        enclosing[inner] = enclosing[outer]
        inner = inner[enclosing[inner] >= 0]
    return highest


class _Launched(NamedTuple):
    """Times of events, the stream of each, launching events and their work, and calls that waited for it."""

    times: Times
    stream: np.ndarray
    launch: tuple[np.ndarray, np.ndarray]
    blocking: BlockingCalls


@per_trace
def _launched(trace: Trace) -> _Launched:
    times = Times(trace)
    stream, launch = streams(trace, times), launch_pairs(trace, times)
    return _Launched(times, stream, launch, blocking_calls(times, stream, launch))


@per_trace
def backtracker(trace: Trace) -> Backtracker:
    """Return the backtracker of a trace, with the dependencies of each event."""
    return Backtracker(trace)


def launching_parts(
    trace: Trace, event: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the parts of launching events in which no call on their thread waited for a device.

    `start` and `end` are the times of `event` that count (ns). Return the index in `event`, the start and the
    end of each part.
    """
    if not is_kind(trace.events, "host")[event].any():
        return np.arange(len(event)), start, end
    launched = _launched(trace)
    return without_waits(launched.times, launched.blocking, event, start, end)
