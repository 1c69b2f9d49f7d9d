"""How much of some intervals lies where others are: time of one thing during another."""

from __future__ import annotations

import numpy as np

from tfvis_nb.core.intervals import Segments


def covered(segments: Segments, group: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return how much of each interval the segments of its group cover.

    Parameters
    ----------
    segments
        Of `tfvis_nb.core.intervals.union`: apart within their group, ordered by group and time.
    group
        The group of each interval (int64); one without segments covers nothing.
    start, end
        The intervals, in any order (int64 ns). One that ends before it starts is taken for empty.

    Returns
    -------
    numpy.ndarray
        int64 ns.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.core.coverage import covered
    >>> from tfvis_nb.core.intervals import union
    >>> busy = union(np.array([0, 0]), np.array([0, 10]), np.array([4, 20]))
    >>> covered(busy, np.array([0, 0, 1]), np.array([2, 5, 0]), np.array([12, 9, 9])).tolist()
    [4, 0, 0]
    """
    found = np.zeros(len(group), np.int64)
    if not len(group) or not len(segments.group):
        return found
    before = np.concatenate([[0], np.cumsum(segments.length)])
    order = np.argsort(group, kind="stable")
    groups, first = np.unique(group[order], return_index=True)
    low, high = (np.searchsorted(segments.group, groups, side) for side in ("left", "right"))
    # Groups are few, such as steps; intervals are many.
    for place, members in enumerate(np.split(order, first[1:])):
        there = slice(int(low[place]), int(high[place]))
        starts, ends, so_far = segments.start[there], segments.end[there], before[low[place] :]
        reached = []
        for moment in (start[members], np.maximum(end, start)[members]):
            begun = np.searchsorted(starts, moment, "right")
            last = np.maximum(begun - 1, 0)
            over = np.maximum(ends[last] - moment, 0) if len(ends) else 0
            reached.append(np.where(begun > 0, so_far[begun] - over, so_far[0]))
        found[members] = reached[1] - reached[0]
    return found
