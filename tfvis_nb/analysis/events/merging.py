"""Merges short neighbours of a row into one bar, so that a picture costs by its pixels, not by its events.

A *slot* is one row of one lane: what is in it does not overlap. All functions take columns ordered by slot,
then by start; times are nanoseconds.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Merged:
    """Bars made of neighbours: bar ``i`` stands for those from ``heads[i]`` on, ``count[i]`` of them."""

    heads: np.ndarray
    count: np.ndarray
    longest: np.ndarray  # Which of them is the longest, the first of several


def begins(slot: np.ndarray, start: np.ndarray, length: np.ndarray, shift: int) -> np.ndarray:
    """Mark where a bar begins; with neighbours that start in one bucket, all shorter than it, it goes on.

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
    """Merge what is shorter than a bucket and starts in the same one.

    `length` is how long each is, `duration` how long the longest event in it: the same for single events.
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
    """Make one row of events that overlap, ordered by start: which have a piece in it, and where those end.

    A piece lasts until the next event starts or nothing runs any more: all pieces together are as long as
    anything runs. Of events that start together the last one has it. One without length has one, also
    without length, where nothing runs.
    """
    if not len(start):
        return np.zeros(0, "i8"), np.zeros(0, "i8")
    reached = np.maximum.accumulate(end)
    until = np.minimum(reached, np.append(start[1:], reached[-1]))
    alone = (start == end) & (np.append(np.iinfo("i8").min, reached[:-1]) < start)
    has = np.flatnonzero((until > start) | alone)
    return has, until[has]
