"""Exact starts and durations lane by lane, in as few bytes as possible.

An event mostly starts soon after the end of the previous one on its lane, and GPU tracers record whole
microseconds. So a start is stored as the gap to the previous end, in the largest unit of which all times of
the lane are multiples.
"""

from dataclasses import dataclass

import numpy as np

from tfvis_nb.display.wire.container import WireColumn


@dataclass(frozen=True)
class LaneTimes:
    """The times of events that are ordered by lane, then by event id."""

    first: np.ndarray  # Start of each lane's first event, nanoseconds from the origin
    unit: np.ndarray  # Nanoseconds in one unit of each lane, at least 1
    gap: np.ndarray  # For each event ``start - end of the one before`` in units; 0 for the first of a lane
    duration: np.ndarray  # In units


def lane_times(start: np.ndarray, duration: np.ndarray, counts: np.ndarray) -> LaneTimes:
    """Encode the times (ns) of events that are ordered by lane; no lane is empty."""
    heads = np.cumsum(counts) - counts
    first = start[heads]
    relative = start - np.repeat(first, counts)
    common = np.gcd(relative, duration)
    unit = np.gcd.reduceat(common, heads) if len(heads) else common
    unit[unit == 0] = 1
    each = np.repeat(unit, counts)
    begin, length = relative // each, duration // each
    before = np.concatenate([[0], (begin + length)[:-1]])
    before[heads] = 0
    return LaneTimes(first, unit, begin - before, length)


def signed_column(values: np.ndarray) -> WireColumn:
    """Store signed whole numbers as uint32: 0, -1, 1, -2 as 0, 1, 2, 3. Large ones are float64."""
    folded = (values << 1) ^ (values >> 63)
    if len(values) and (int(folded.max()) >= 2**32 or int(folded.min()) < 0):
        return WireColumn(values.astype("f8"))
    return WireColumn(folded.astype("u4"))


def optional_column(values: np.ndarray, known: np.ndarray) -> WireColumn:
    """Store whole numbers: missing ones as 0, others as 1 + `signed_column`. Large ones are float64."""
    folded = np.where(known, ((values << 1) ^ (values >> 63)) + 1, 0)
    if len(values) and (int(folded.max()) >= 2**32 or int(folded.min()) < 0):
        return WireColumn(np.where(known, values.astype("f8"), np.nan))
    return WireColumn(folded.astype("u4"))


def length_column(values: np.ndarray) -> WireColumn:
    """Store whole numbers from 0 as uint32, or as float64 if that is too small."""
    fits = not len(values) or int(values.max()) < 2**32
    return WireColumn(values.astype("u4" if fits else "f8"))


def number_column(numbers: np.ndarray, count: int) -> WireColumn:
    """Store indexes into a list of `count` entries, in two bytes if they fit."""
    return WireColumn(numbers.astype("u2" if count <= 2**16 else "u4"))
