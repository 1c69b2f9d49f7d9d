"""Merge short neighbours of a row into bars: the cost of a picture then depends on pixels, not events.

A *slot* is one row of one lane; its events do not overlap. All functions take columns ordered by slot,
then by start; times are nanoseconds.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Merged:
    """Bars made of neighbours: bar ``i`` stands for ``count[i]`` events starting with ``heads[i]``."""

    heads: np.ndarray
    count: np.ndarray
    longest: np.ndarray  # The first of the longest among them


def begins(slot: np.ndarray, start: np.ndarray, length: np.ndarray, shift: int) -> np.ndarray:
    """Mark where bars start; a bar continues while neighbours start in one bucket and are shorter than it.

    A bucket is ``2 ** shift`` nanoseconds.
    """
    bucket = start >> shift
    short = length < (1 << shift)
    first = np.ones(len(start), "?")
    first[1:] = (bucket[1:] != bucket[:-1]) | (slot[1:] != slot[:-1]) | ~short[1:] | ~short[:-1]
    return first


def merge_neighbours(
    slot: np.ndarray, start: np.ndarray, length: np.ndarray, duration: np.ndarray, shift: int
) -> Merged:
    """Merge events that are shorter than a bucket and start in the same one.

    `length` is the length of each bar, `duration` that of the longest event in it; both are equal for single
    events.
    """
    heads = np.flatnonzero(begins(slot, start, length, shift))
    if not len(heads):
        return Merged(heads, heads, heads)
    count = np.diff(np.append(heads, len(start)))
    longest = np.maximum.reduceat(duration, heads)
    as_long = np.flatnonzero(duration == np.repeat(longest, count))
    bar = np.searchsorted(heads, as_long, "right") - 1
    return Merged(heads, count, as_long[np.flatnonzero(np.diff(bar, prepend=-1))])


def pieces(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Flatten overlapping events, ordered by start, to one row; return the events in it and their ends.

    A piece lasts until the next event starts or nothing runs, so all pieces together cover the time in which
    anything runs. If several events start together, the last one gets the piece. An event without length gets
    an empty piece where nothing else runs.
    """
    if not len(start):
        return np.zeros(0, "i8"), np.zeros(0, "i8")
    reached = np.maximum.accumulate(end)
    until = np.minimum(reached, np.append(start[1:], reached[-1]))
    alone = (start == end) & (np.append(np.iinfo("i8").min, reached[:-1]) < start)
    has = np.flatnonzero((until > start) | alone)
    return has, until[has]
