"""Merges short neighbouring events into entries, so that a picture costs by its pixels, not by its events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tfvis_nb.display.large.layout import Layout


@dataclass(frozen=True)
class Runs:
    """Some places of a layout, a contiguous run of each slot: ``low[s]`` to ``high[s]``; int64."""

    low: np.ndarray
    high: np.ndarray

    @property
    def events(self) -> int:
        """How many places they are."""
        return int((self.high - self.low).sum())

    def slots(self) -> np.ndarray:
        """The slot of each place; int64."""
        return np.repeat(np.arange(len(self.low)), self.high - self.low)

    def places(self) -> np.ndarray:
        """Every place, slot by slot; int64."""
        lengths = self.high - self.low
        before = np.cumsum(lengths) - lengths
        return np.repeat(self.low - before, lengths) + np.arange(lengths.sum())


@dataclass(frozen=True)
class Entries:
    """What is drawn: each entry stands for the events of one slot at ``count`` neighbouring places.

    Parameters
    ----------
    slot
        int64; entries are ordered by it, then by start.
    place
        The first of its places; int64.
    count
        How many they are; int64.
    longest
        Place of the longest of its events, the first of several; int64.
    busy
        Summed duration of its events, nanoseconds; int64.
    """

    slot: np.ndarray
    place: np.ndarray
    count: np.ndarray
    longest: np.ndarray
    busy: np.ndarray

    def __len__(self) -> int:
        return len(self.slot)


def everything(layout: Layout) -> Runs:
    """All events of a trace."""
    return Runs(layout.bounds[:-1], layout.bounds[1:])


def merge(layout: Layout, runs: Runs, shift: int) -> Entries:
    """Merge neighbours of a slot that start in the same bucket and are all shorter than it.

    Parameters
    ----------
    layout, runs
        The events.
    shift
        A bucket is ``2 ** shift`` nanoseconds; with 0 every event is an entry.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.events.lane_order import order_lanes
    >>> from tfvis_nb.display.large.layout import lay_out
    >>> from tfvis_nb.display.large.level_of_detail import everything, merge
    >>> columns = {"start_ns": [0, 2, 9, 40], "duration_ns": [1, 3, 20, 1], "kind": ["op"] * 4}
    >>> trace = Trace(events.build(columns))
    >>> layout = lay_out(trace, order_lanes(trace.events))
    >>> entries = merge(layout, everything(layout), 4)
    >>> entries.count.tolist(), entries.busy.tolist(), entries.longest.tolist()
    ([2, 1, 1], [4, 20, 1], [1, 2, 3])
    """
    places, slots = runs.places(), runs.slots()
    start = layout.start[places]
    duration = layout.end[places] - start
    if shift == 0 or not len(places):
        return Entries(slots, places, np.ones(len(places), "i8"), places, duration)
    heads = np.flatnonzero(_begins(slots, start, duration, shift))
    count = np.diff(np.append(heads, len(places)))
    longest = np.maximum.reduceat(duration, heads)
    as_long = np.flatnonzero(duration == np.repeat(longest, count))
    entry = np.searchsorted(heads, as_long, "right") - 1
    first = as_long[np.flatnonzero(np.diff(entry, prepend=-1))]
    return Entries(slots[heads], places[heads], count, places[first], np.add.reduceat(duration, heads))


def coarsest_needed(layout: Layout, runs: Runs, shift: int, most: int) -> int:
    """Find the smallest shift from `shift` with which the events merge into at most `most` entries.

    A run of so many long events that even one bucket would hold more keeps them all.
    """
    if runs.events <= most:
        return shift
    places, slots = runs.places(), runs.slots()
    start = layout.start[places]
    duration = layout.end[places] - start
    last = int(start.max()).bit_length() + 1
    while shift < last and np.count_nonzero(_begins(slots, start, duration, shift)) > most:
        shift += 1
    return shift


def joined(parts: list[Entries]) -> Entries:
    """Put the entries of runs that do not overlap in one order."""
    columns = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("slot", "place", "count", "longest", "busy")
    ]
    order = np.argsort(columns[1], kind="stable")
    return Entries(*(column[order] for column in columns))


def overlapping(layout: Layout, outline: Entries, start: int, end: int) -> tuple[Runs, Runs]:
    """Find the events of all outline entries that overlap a range of time, and those that do so themselves.

    Parameters
    ----------
    layout, outline
        The trace, merged.
    start, end
        Nanoseconds from the origin. An entry overlaps when it ends after `start` and begins before `end`.

    Returns
    -------
    tuple
        The runs of the outline's entries, and within them the runs of single events.
    """
    slots = len(layout.slot_lane)
    wide = np.zeros((2, slots), "i8")
    near = np.zeros((2, slots), "i8")
    entry_bounds = np.searchsorted(outline.slot, np.arange(slots + 1))
    ends = layout.end[outline.place + outline.count - 1]
    starts = layout.start[outline.place]
    behind = outline.place + outline.count
    for slot in range(slots):
        low, high = int(entry_bounds[slot]), int(entry_bounds[slot + 1])
        first = low + int(np.searchsorted(ends[low:high], start, "right"))
        last = max(low + int(np.searchsorted(starts[low:high], end, "left")), first)
        if first == last:
            continue
        wide[:, slot] = from_, to = int(outline.place[first]), int(behind[last - 1])
        near_from = from_ + int(np.searchsorted(layout.end[from_:to], start, "right"))
        near_to = from_ + int(np.searchsorted(layout.start[from_:to], end, "left"))
        near[:, slot] = near_from, max(near_from, near_to)
    return Runs(*wide), Runs(*near)


def _begins(slots: np.ndarray, start: np.ndarray, duration: np.ndarray, shift: int) -> np.ndarray:
    """Mark the places at which an entry begins."""
    bucket = start >> shift
    short = duration < (1 << shift)
    begins = np.ones(len(start), "?")
    begins[1:] = (bucket[1:] != bucket[:-1]) | (slots[1:] != slots[:-1]) | ~short[1:] | ~short[:-1]
    return begins
