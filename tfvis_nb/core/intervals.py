"""Overlapping intervals: the highest level and the concurrency over time, and lengths.

Everything is counted in integers, so that lengths add up exactly. Intervals are half open, ``[start, end)``:
an interval that ends when another starts does not overlap it, and an empty one covers nothing.

Intervals come in independent groups, such as one for each step, task and device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tfvis_nb.core.search_sorted import distinct_numbers

_WHOLE = 1 << 62


class Segments(NamedTuple):
    """Stretches of time that do not overlap within their group, ordered by group and time.

    - `group`: The group of each (int64).
    - `start`, `end`: In int64 ns, ``start < end``.
    - `level`: The level that holds there (int64).
    """

    group: np.ndarray
    start: np.ndarray
    end: np.ndarray
    level: np.ndarray

    @property
    def length(self) -> np.ndarray:
        """The length of each (int64 ns)."""
        length: np.ndarray = self.end - self.start
        return length

    def take(self, which: np.ndarray) -> Segments:
        """Select segments by index or mask."""
        return Segments(*(column[which] for column in self))


def priority_union(group: np.ndarray, start: np.ndarray, end: np.ndarray, level: np.ndarray) -> Segments:
    """Assign each point in time to the highest level among the active intervals of a group.

    Groups and levels count from 0; intervals of level 0 are left out, times are int64 ns. Adjacent segments
    differ in level. Times without an active interval have no segment; see `fill_gaps`.

    XProf divides a step by the same rule (``ToNonOverlappedEvents`` in ``xprof/utils/event_span.cc``):
    between two neighbouring boundaries of intervals, time belongs to the running event type of the highest
    priority.

    >>> start, end = np.array([0, 3, 9]), np.array([9, 5, 12])
    >>> union = priority_union(np.zeros(3, int), start, end, np.array([1, 2, 1]))
    >>> list(zip(union.start.tolist(), union.end.tolist(), union.level.tolist()))
    [(0, 3, 1), (3, 5, 2), (5, 12, 1)]
    """
    some = np.flatnonzero((end > start) & (level > 0))
    edges = _edges(group[some], start[some], end[some])
    levels = np.concatenate([level[some], level[some]])[edges.order]
    top = np.zeros(len(levels), np.int64)
    for one in distinct_numbers(levels).tolist():
        rows = np.flatnonzero(levels == one)
        active = np.cumsum(edges.change[rows])
        began = rows[(active > 0) & (np.append(0, active[:-1]) == 0)]
        ended = rows[active == 0]
        mark = np.zeros(len(levels), np.int8)
        mark[began] = 1
        mark[ended] = -1
        top[np.cumsum(mark, dtype=np.int8).view(bool)] = one
    return _merged(edges.segments(top), keep=top[:-1] > 0 if len(top) else top > 0)


def union(group: np.ndarray, start: np.ndarray, end: np.ndarray) -> Segments:
    """Return where at least one interval of a group is active, as level 1; touching ones are joined."""
    return priority_union(group, start, end, np.ones(len(group), np.int64))


def fill_gaps(segments: Segments, first: np.ndarray, last: np.ndarray) -> Segments:
    """Cut segments to the window ``[first, last)`` of their group, and fill the rest of it with level 0.

    The lengths of a group add up to its window.

    >>> busy = union(np.array([0]), np.array([3]), np.array([7]))
    >>> whole = fill_gaps(busy, np.array([0, 2]), np.array([5, 4]))
    >>> whole.group.tolist(), whole.length.tolist(), whole.level.tolist()
    ([0, 0, 1], [3, 2, 2], [0, 1, 0])
    """
    begin = np.maximum(segments.start, first[segments.group])
    end = np.minimum(segments.end, last[segments.group])
    kept = np.flatnonzero(begin < end)
    group, begin, end, level = segments.group[kept], begin[kept], end[kept], segments.level[kept]
    count = np.bincount(group, minlength=len(first))
    behind = np.cumsum(count)
    # A gap before a segment starts at the previous segment or at the start of the window.
    before = first[group]
    before[1:] = np.where(group[1:] == group[:-1], end[:-1], before[1:])
    gap = np.flatnonzero(before < begin)
    gaps = np.zeros(len(group) + 1, np.int64)
    gaps[gap + 1] = 1
    gaps = np.cumsum(gaps)
    # The gap after the last segment of a group.
    reached = np.where(count > 0, np.append(end, 0)[behind - 1], first)
    tail = np.flatnonzero(reached < last)
    tails = np.zeros(len(first) + 1, np.int64)
    tails[tail + 1] = 1
    tails = np.cumsum(tails)
    position = np.arange(len(group)) + gaps[1:] + tails[group]
    positions = np.concatenate([position, position[gap] - 1, (behind + gaps[behind] + tails[:-1])[tail]])
    order = np.empty(len(positions), np.int64)
    order[positions] = np.arange(len(positions))
    return Segments(
        np.concatenate([group, group[gap], tail])[order],
        np.concatenate([begin, before[gap], reached[tail]])[order],
        np.concatenate([end, begin[gap], last[tail]])[order],
        np.concatenate([level, np.zeros(len(gap) + len(tail), np.int64)])[order],
    )


def lengths(segments: Segments, groups: int, levels: int) -> np.ndarray:
    """Return the total length of each level in each group: int64 ns, shape ``(groups, levels)``."""
    total = np.zeros(groups * levels, np.int64)
    np.add.at(total, segments.group * levels + segments.level, segments.length)
    return total.reshape(groups, levels)


class _Edges(NamedTuple):
    """Starts and ends of intervals, ordered by group and time."""

    order: np.ndarray
    group: np.ndarray
    time: np.ndarray
    change: np.ndarray

    def segments(self, level: np.ndarray) -> Segments:
        """Return the stretches between neighbouring edges, with the levels that hold in each."""
        return Segments(self.group[:-1], self.time[:-1], self.time[1:], level[:-1])


def _edges(group: np.ndarray, start: np.ndarray, end: np.ndarray) -> _Edges:
    count = len(group)
    groups = np.concatenate([group, group]).astype(np.int64, copy=False)
    times = np.concatenate([start, end])
    order = _by_group_and_time(groups, times)
    change = np.where(order < count, np.int64(1), np.int64(-1))
    return _Edges(order, groups[order], times[order], change)


def _by_group_and_time(group: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return the order by group, then time."""
    if not len(group):
        return np.zeros(0, np.int64)
    first = int(time.min())
    span = int(time.max()) - first + 1
    if span * (int(group.max()) + 1) >= _WHOLE:
        # Absurd times, such as those with another epoch.
        return np.lexsort((time, group))
    # Sorting one key is several times faster than sorting two.
    return np.argsort(group * span + (time - first), kind="stable")


def _merged(segments: Segments, keep: np.ndarray) -> Segments:
    """Drop empty and unwanted segments; join neighbours of the same level."""
    kept = segments.take(np.flatnonzero(keep & (segments.start < segments.end)))
    if not len(kept.group):
        return kept
    new = np.ones(len(kept.group), bool)
    new[1:] = (
        (kept.group[1:] != kept.group[:-1])
        | (kept.start[1:] != kept.end[:-1])
        | (kept.level[1:] != kept.level[:-1])
    )
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(new)) - 1
    return Segments(kept.group[first], kept.start[first], kept.end[last], kept.level[first])


def is_inside(starts: np.ndarray, durations: np.ndarray, start: float, end: float) -> np.ndarray:
    """Mark the events that overlap a range, or lie in it when they have no length.

    ``eventsIn`` in ``js/model/search/range_statistics.ts`` finds the same.

    >>> is_inside(np.array([0, 5, 9, 9]), np.array([5, 4, 2, 0]), 5, 9).tolist()
    [False, True, False, True]
    """
    ends = starts + durations
    inside: np.ndarray = np.where(
        durations > 0, (ends > start) & (starts < end), (starts >= start) & (starts <= end)
    )
    return inside


def overlap(segments: Segments, group: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return how much of each interval the segments of its group cover (int64 ns).

    `segments` come from `tfvis_nb.core.intervals.union`. Reversed intervals count as empty.
    """
    covered = np.zeros(len(group), np.int64)
    if not len(group) or not len(segments.group):
        return covered
    before = np.concatenate([[0], np.cumsum(segments.length)])
    order = np.argsort(group, kind="stable")
    groups, first = np.unique(group[order], return_index=True)
    low, high = (np.searchsorted(segments.group, groups, side) for side in ("left", "right"))
    # Groups are few, such as steps; intervals are many.
    for index, members in enumerate(np.split(order, first[1:])):
        inside = slice(int(low[index]), int(high[index]))
        starts, ends, so_far = (segments.start[inside], segments.end[inside], before[low[index] :])
        reached = []
        for moment in (start[members], np.maximum(end, start)[members]):
            begun = np.searchsorted(starts, moment, "right")
            last = np.maximum(begun - 1, 0)
            over = np.maximum(ends[last] - moment, 0) if len(ends) else 0
            reached.append(np.where(begun > 0, so_far[begun] - over, so_far[0]))
        covered[members] = reached[1] - reached[0]
    return covered
