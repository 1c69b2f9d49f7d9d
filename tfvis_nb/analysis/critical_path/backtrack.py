"""Walks back in time, from a moment of an event to what it had last waited for, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tfvis_nb.analysis.critical_path.dependencies import releases
from tfvis_nb.analysis.critical_path.dependency_table import KIND, KINDS, Times
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.core.search_sorted import last_fitting
from tfvis_nb.core.trace import per_trace

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

WAITS = ("transfer_wait", "launch_latency", "kernel_gap", "queueing", "scheduling", "unknown")
"""What passes between two events of a walk; see `tfvis_nb.analysis.critical_path.critical_path.FIGURES`."""

_FEW = 64
_OF_KIND = {"launch": "launch_latency", "stream": "kernel_gap", "order": "unknown"}


class Pieces(NamedTuple):
    """What walks went through: stretches of time, walk by walk, each going back in time without gaps."""

    walk: np.ndarray  # The number of the walk
    # start, end: From when to when (ns)
    start: np.ndarray
    end: np.ndarray
    event: np.ndarray  # What ran, or what waited to begin
    wait: np.ndarray  # Place in `WAITS` while the event waited to begin, -1 while it ran
    # Place in `KINDS` of the release by which the walk went on from the event to what it had waited
    # for, or for what ran, by which it came to the event; -1 for none
    kind: np.ndarray


class Walks:
    """Walks back through the releases of a trace.

    Attributes: `times` of the events; `releases`, ordered by when they went on; `activity`, of each event the
    highest index in `tfvis_nb.analysis.events.activity.ACTIVITIES` of itself and those that it lies within on
    its thread. What only wraps others on a thread is runtime.
    """

    def __init__(self, trace: Trace) -> None:
        self.times = Times(trace)
        self.releases = releases(trace, self.times)
        self.activity = _within(self.times, activity(trace))
        target = self.releases.target
        self._order = np.argsort(target.astype(np.int32), kind="stable")
        self._first = np.searchsorted(target[self._order], np.arange(len(trace.events) + 1))
        count = np.arange(len(target))
        self._before = self._latest(self.releases.source, self.releases.left, count)

    def back(self, event: np.ndarray, until: np.ndarray, since: np.ndarray) -> Pieces:
        """Walk back from `until`, a moment of `event` not before its start, to `since` (epoch ns).

        Always on to the release that came last: that one decided when the event could go on. The pieces of a
        walk cover the time from `since` to `until` exactly.
        """
        begun = self._latest(event, until, np.full(len(event), len(self._order)))
        walk, at = self._chains(begun, since)
        return self._pieces(event, until, since, walk, at)

    def _latest(self, event: np.ndarray, time: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Return the last release of each event reached by a time, of those before a limit; -1 for none.

        The limit makes walks end also among events that take no time.
        """
        order, reached = self._order, self.releases.reached

        def fits(asked: np.ndarray, place: np.ndarray) -> np.ndarray:
            one = order[place]
            right: np.ndarray = (reached[one] <= time[asked]) & (one < limit[asked])
            return right

        place = last_fitting(self._first[event], self._first[event + 1], fits)
        return np.where(place >= 0, np.append(order, -1)[place], -1)

    def _chains(self, begun: np.ndarray, since: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the walks' numbers and their releases, walk by walk."""
        left = self.releases.left
        walks, passed = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        number = np.flatnonzero(begun >= 0)
        now = begun[number]
        while len(number) >= _FEW:
            walks.append(number)
            passed.append(now)
            on = np.flatnonzero(left[now] > since[number])
            number, now = number[on], self._before[now[on]]
            on = np.flatnonzero(now >= 0)
            number, now = number[on], now[on]
        if len(number):
            # Few long walks are quicker one by one.
            before, when = self._before.data, left.data
            for one, begin, limit in zip(number.tolist(), now.tolist(), since[number].tolist(), strict=True):
                chain, place = [], begin
                while place >= 0:
                    chain.append(place)
                    place = before[place] if when[place] > limit else -1
                walks.append(np.full(len(chain), one))
                passed.append(np.array(chain, np.int64))
        walk, at = np.concatenate(walks), np.concatenate(passed)
        order = np.argsort(walk.astype(np.int32), kind="stable")
        return walk[order], at[order]

    def _pieces(
        self, event: np.ndarray, until: np.ndarray, since: np.ndarray, walk: np.ndarray, at: np.ndarray
    ) -> Pieces:
        times, table = self.times, self.releases
        # A walk comes to one more event than it has releases.
        size = np.bincount(walk, minlength=len(event)) + 1
        head = np.cumsum(size) - size
        place = np.arange(len(walk)) + walk
        total = int(size.sum())
        who, end, come = np.empty(total, np.int64), np.empty(total, np.int64), np.full(total, -1)
        who[head], end[head] = event, until
        who[place + 1], end[place + 1], come[place + 1] = table.source[at], table.left[at], table.kind[at]
        of = np.repeat(np.arange(len(event)), size)
        begin, gap, reason = times.start[who], since[of], np.full(total, -1)
        begin[place], gap[place], reason[place] = table.reached[at], table.left[at], table.kind[at]
        gap = np.minimum(gap, begin)
        over = np.minimum(times.end[who], end)
        # Between release and start lies the moment at which the event was ready, where that is known.
        split = times.known_ready[who] & (begin == times.start[who]) & (reason != KIND["launch"])
        ready = np.where(split, np.clip(times.ready[who], gap, begin), gap)
        before, waiting = self._waits(who, reason, split, gap)
        # Going back: over, running, ready, and not yet.
        moments = np.maximum(np.stack([end, over, begin, ready, gap], 1), since[of][:, None])
        real = np.flatnonzero(moments[:, :-1] != moments[:, 1:])
        row, part = np.divmod(real, 4)
        wait = np.stack([np.full(total, WAITS.index("unknown")), np.full(total, -1), waiting, before], 1)
        kind = np.stack([np.full(total, -1), come, reason, reason], 1)
        return Pieces(
            of[row],
            moments[row, part + 1],
            moments[row, part],
            who[row],
            wait.reshape(-1)[real],
            kind.reshape(-1)[real],
        )

    def _waits(
        self, who: np.ndarray, reason: np.ndarray, split: np.ndarray, gap: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what passes until an event is ready, and from then until its start: places in `WAITS`."""
        of_kind = [WAITS.index(_OF_KIND.get(kind, "scheduling")) for kind in KINDS]
        before = np.array([*of_kind, WAITS.index("unknown")])[reason]
        times = self.times
        top = times.thread[who] & (reason == KIND["thread"])
        before[top] = WAITS.index("unknown")
        before[times.received[who]] = WAITS.index("transfer_wait")
        on_device = times.device[who]
        after = np.where(on_device, WAITS.index("launch_latency"), WAITS.index("queueing"))
        # What was launched before is not late for its launch.
        early = on_device & (times.ready[who] <= gap)
        waiting = np.where(split & ~(early & (reason == KIND["order"])), after, before)
        queued = early & ((reason == KIND["stream"]) | (reason == KIND["data"]))
        return before, np.where(queued, WAITS.index("kernel_gap"), waiting)


def _within(times: Times, activity: np.ndarray) -> np.ndarray:
    found = activity.astype(np.int64)
    found[times.thread & (found == NUMBER["none"])] = NUMBER["runtime"]
    # Each looks over twice as many as in the round before, however deep they lie within each other.
    over = times.parent.copy()
    inner = np.flatnonzero(over >= 0)
    while len(inner):
        outer = over[inner]
        found[inner] = np.maximum(found[inner], found[outer])
        over[inner] = over[outer]
        inner = inner[over[inner] >= 0]
    return found


@per_trace
def walks_of(trace: Trace) -> Walks:
    """Return what every event of a trace had to wait for."""
    return Walks(trace)
