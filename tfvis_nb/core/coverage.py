"""How much of one set of intervals overlaps another."""

import numpy as np

from tfvis_nb.core.intervals import Segments


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
