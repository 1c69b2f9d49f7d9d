"""Sorted durations of events by group, with percentiles."""

import numpy as np

PERCENTILES = (50, 90, 99)
"""The percentiles of `tfvis_nb.analysis.op_statistics`."""


class SortedDurations:
    """The durations of groups of events, ordered within each group.

    Parameters
    ----------
    group
        The group of each event, from 0 to `count` - 1. No group is empty.
    count
        Number of groups.
    duration
        Length of each event, in ns (int64).
    """

    def __init__(self, group: np.ndarray, count: int, duration: np.ndarray) -> None:
        shortest_first = np.argsort(duration)
        # Numpy sorts 16-bit integers in linear time.
        narrow = group.astype(np.uint16) if count <= 1 << 16 else group
        self.order = shortest_first[np.argsort(narrow[shortest_first], kind="stable")]
        """Indexes of the events: group by group, in each the shortest first."""
        self.sorted = duration[self.order]
        self.counts = np.bincount(group, minlength=count)
        self.starts = np.cumsum(self.counts) - self.counts

    def percentile(self, percent: int) -> np.ndarray:
        """Return the nearest-rank percentile of each group: 0 is the shortest duration, 100 the longest."""
        rank = np.maximum(-(-self.counts * percent // 100), 1)
        values: np.ndarray = self.sorted[self.starts + rank - 1]
        return values

    def sums(self, amount: np.ndarray) -> np.ndarray:
        """Return the sum of an amount of each event by group."""
        summed: np.ndarray = np.add.reduceat(amount[self.order], self.starts)
        return summed
