"""When the tensors of a channel moved, and the bounds of that time."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

_FEWEST = 4
"""With fewer tensors, a rate depends more on when their ends were noticed than on the channel."""


class Moving(NamedTuple):
    """When each tensor started to move (epoch ns) and how long it moved: estimate, minimum, maximum (ns)."""

    start: np.ndarray
    length: np.ndarray
    least: np.ndarray
    most: np.ndarray


def moving(channel: np.ndarray, start: np.ndarray, end: np.ndarray, size: np.ndarray) -> Moving:
    """Return when each tensor moved; `channel` numbers connections, `size` is -1 if unknown.

    A channel serves tensors in the order of their ends, so each starts to move when the one before it ends
    (TicTac's rule). But tensors that arrive together are noticed within microseconds of each other; by that
    rule alone, megabytes would move at terabits per second. So a tensor faster than its channel is pooled
    with those before it until the pool is not faster. Within a pool, time is shared in proportion to bytes.

    Parameters
    ----------
    channel, start, end, size
        One value for each tensor (int64): channel, recorded start and end (ns), bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.analysis.communication.channels import moving
    >>> ends = np.array([1000, 1010, 1020, 1030])
    >>> found = moving(np.zeros(4, int), np.zeros(4, int), ends, np.full(4, 500))
    >>> found.length.tolist(), found.most.tolist()
    ([258, 257, 257, 258], [1000, 1010, 1020, 1030])
    """
    order = np.lexsort((start, end, channel))
    channel, start, end, size = channel[order], start[order], end[order], size[order]
    is_first = np.diff(channel, prepend=channel[:1] - 1) != 0
    free = np.where(is_first, start, np.roll(end, 1))
    begin = np.maximum(start, free)
    length = end - begin
    least, most = length.copy(), length.copy()
    for burst in _bursts(is_first, start, end):
        if (size[burst] < 0).any():
            continue
        # Each tensor moved within its own time, so the channel is at least that fast.
        least_rate = float((size[burst] / np.maximum(end[burst] - start[burst], 1)).max())
        for pool, rate in _pools(size[burst], length[burst], least_rate):
            members = slice(burst.start + pool.start, burst.start + pool.stop)
            whole = end[members.stop - 1] - begin[members.start]
            share = np.cumsum(size[members]) / max(int(size[members].sum()), 1)
            edges = begin[members.start] + np.append(0, np.rint(share * whole)).astype(np.int64)
            if (edges[:-1] >= start[members]).all():
                begin[members], length[members] = edges[:-1], np.diff(edges)
            least[members] = np.minimum(length[members], np.ceil(size[members] / rate))
            # Before the first end, any tensor in transfer may have moved.
            since = begin[members.start] if pool.start else int(start[burst].min())
            most[members] = np.minimum(end[members] - start[members], end[members.stop - 1] - since)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Moving(begin[back], length[back], least[back], most[back])


def _bursts(is_first: np.ndarray, start: np.ndarray, end: np.ndarray) -> list[slice]:
    """Return the slice of each burst of several tensors; after a burst the channel is empty."""
    starts = [*np.flatnonzero(is_first).tolist(), len(start)]
    found = []
    for low, high in pairwise(starts):
        earliest = np.minimum.accumulate(start[low:high][::-1])[::-1]
        cuts = [0, *(np.flatnonzero(earliest[1:] >= end[low : high - 1]) + 1).tolist(), high - low]
        found += [slice(low + a, low + b) for a, b in pairwise(cuts) if b - a > 1]
    return found


def _pools(size: np.ndarray, length: np.ndarray, least_rate: float) -> list[tuple[slice, float]]:
    """Return the pools of a burst that have several tensors, and the channel's fastest rate (bytes/ns)."""
    rate = max(_fastest(size, length), least_rate)
    stack: list[tuple[int, int, int]] = []
    for pool in zip(range(len(size)), size.tolist(), length.tolist(), strict=True):
        stack.append(pool)
        while len(stack) > 1 and stack[-1][1] > rate * stack[-1][2] * (1 + 1e-9):
            _, amount, time = stack.pop()
            first, before, earlier = stack.pop()
            stack.append((first, before + amount, earlier + time))
    firsts = [first for first, _, _ in stack] + [len(size)]
    return [(slice(low, high), rate) for low, high in pairwise(firsts) if high - low > 1]


def _fastest(size: np.ndarray, length: np.ndarray) -> float:
    """Return the highest rate (bytes/ns) over more than half of a burst and at least `_FEWEST` tensors.

    The best ratio over all stretches, by Dinkelbach's method.
    """
    count = max(len(size) // 2 + 1, min(len(size), _FEWEST))
    moved, taken = (np.append(0, np.cumsum(one)).astype(np.float64) for one in (size, length))
    rate = moved[-1] / max(taken[-1], 1.0)
    while True:
        gain = moved - rate * taken
        lowest = np.minimum.accumulate(gain[: len(gain) - count])
        high = count + int(np.argmax(gain[count:] - lowest))
        low = int(np.argmin(gain[: high - count + 1]))
        better = (moved[high] - moved[low]) / max(taken[high] - taken[low], 1.0)
        if better <= rate * (1 + 1e-9):
            return float(rate)
        rate = better
