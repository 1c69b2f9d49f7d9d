"""Merge short neighbouring events into entries: the cost of a picture then depends on pixels, not events."""

from dataclasses import dataclass

import numpy as np

from tfvis_nb.analysis.events.merging import begins, merge_neighbours
from tfvis_nb.display.large.layout import Layout


@dataclass(frozen=True)
class Runs:
    """Positions of a layout, a contiguous run per slot: ``low[s]`` to ``high[s]``; int64."""

    low: np.ndarray
    high: np.ndarray

    @property
    def events(self) -> int:
        """The number of positions."""
        return int((self.high - self.low).sum())

    def slots(self) -> np.ndarray:
        """The slot of each position; int64."""
        return np.repeat(np.arange(len(self.low)), self.high - self.low)

    def positions(self) -> np.ndarray:
        """All positions, slot by slot; int64."""
        lengths = self.high - self.low
        before = np.cumsum(lengths) - lengths
        return np.repeat(self.low - before, lengths) + np.arange(lengths.sum())


@dataclass(frozen=True)
class Entries:
    """The drawn entries: each represents the events of one slot at ``count`` neighbouring positions."""

    slot: np.ndarray  # int64; entries are ordered by it, then by start
    position: np.ndarray  # The first of its positions
    count: np.ndarray  # Their number
    longest: np.ndarray  # Position of its longest event, the first of several
    busy: np.ndarray  # Summed duration of its events, nanoseconds

    def __len__(self) -> int:
        return len(self.slot)


def everything(layout: Layout) -> Runs:
    """All events of a trace."""
    return Runs(layout.bounds[:-1], layout.bounds[1:])


def merge(layout: Layout, runs: Runs, shift: int) -> Entries:
    """Merge neighbours of a slot that start in the same bucket and are all shorter than it.

    A bucket is ``2 ** shift`` nanoseconds; with 0 every event is an entry.
    """
    positions, slots = runs.positions(), runs.slots()
    start = layout.start[positions]
    duration = layout.end[positions] - start
    if shift == 0 or not len(positions):
        return Entries(slots, positions, np.ones(len(positions), "i8"), positions, duration)
    merged = merge_neighbours(slots, start, duration, duration, shift)
    heads = merged.heads
    busy = np.add.reduceat(duration, heads)
    return Entries(slots[heads], positions[heads], merged.count, positions[merged.longest], busy)


def coarsest_needed(layout: Layout, runs: Runs, shift: int, most: int) -> int:
    """Find the smallest shift, at least `shift`, with which the events merge into at most `most` entries.

    A run whose long events alone exceed `most` keeps them all.
    """
    if runs.events <= most:
        return shift
    positions, slots = runs.positions(), runs.slots()
    start = layout.start[positions]
    duration = layout.end[positions] - start
    last = int(start.max()).bit_length() + 1
    while shift < last and np.count_nonzero(begins(slots, start, duration, shift)) > most:
        shift += 1
    return shift


def concat_entries(parts: list[Entries]) -> Entries:
    """Concatenate the entries of runs that do not overlap, in order."""
    columns = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("slot", "position", "count", "longest", "busy")
    ]
    order = np.argsort(columns[1], kind="stable")
    return Entries(*(column[order] for column in columns))


def overlapping(layout: Layout, outline: Entries, start: int, end: int) -> tuple[Runs, Runs]:
    """Return the runs of outline entries that overlap a time range, and the runs of single events.

    Times are nanoseconds from the origin. An entry overlaps if it ends after `start` and starts before `end`.
    """
    slots = len(layout.slot_lane)
    wide = np.zeros((2, slots), "i8")
    near = np.zeros((2, slots), "i8")
    entry_bounds = np.searchsorted(outline.slot, np.arange(slots + 1))
    ends = layout.end[outline.position + outline.count - 1]
    starts = layout.start[outline.position]
    behind = outline.position + outline.count
    for slot in range(slots):
        low, high = int(entry_bounds[slot]), int(entry_bounds[slot + 1])
        first = low + int(np.searchsorted(ends[low:high], start, "right"))
        last = max(low + int(np.searchsorted(starts[low:high], end, "left")), first)
        if first == last:
            continue
        wide[:, slot] = from_, to = int(outline.position[first]), int(behind[last - 1])
        near_from = from_ + int(np.searchsorted(layout.end[from_:to], start, "right"))
        near_to = from_ + int(np.searchsorted(layout.start[from_:to], end, "left"))
        near[:, slot] = near_from, max(near_from, near_to)
    return Runs(*wide), Runs(*near)
