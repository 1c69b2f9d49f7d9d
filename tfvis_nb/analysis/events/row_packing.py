"""Packs the events of each lane into rows, so that nothing is drawn over anything else.

``js/model/lod/rows.ts`` does the same for a trace that the browser holds whole: both
give every event the first row that is free at its start.
"""

import heapq

import numpy as np

_MOST_CHAINS = 24
"""Rows that are found one by one, with one search over what is left of the lane for each."""


def pack_rows(start: np.ndarray, duration: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Give each event its row in its lane, 0 on top; events are ordered by lane and start.

    Events may touch. One without length takes up the nanosecond it starts in.
    """
    rows = np.zeros(len(start), "i4")
    until = start + np.maximum(duration, 1)
    end = 0
    for count in counts.tolist():
        begin, end = end, end + count
        _pack_lane(start[begin:end], until[begin:end], rows[begin:end])
    return rows


def _pack_lane(start: np.ndarray, until: np.ndarray, rows: np.ndarray) -> None:
    # Where everything before has ended, packing starts anew: events that overlap nothing are in row 0
    # already.
    reached = np.maximum.accumulate(until[:-1])
    apart = np.concatenate([[True], start[1:] >= reached, [True]])
    left = np.flatnonzero(~(apart[:-1] & apart[1:]))
    row = 0
    while len(left) and row < _MOST_CHAINS:
        taken = _chain(start[left], until[left])
        rows[left[taken]] = row
        left = left[~taken]
        row += 1
    if len(left):
        rows[left] = row + _first_free(start[left], until[left])


def _chain(start: np.ndarray, until: np.ndarray) -> np.ndarray:
    """Mark what goes into the first row: the first event, then always the next that finds it free."""
    following = np.searchsorted(start, until).data
    count = len(start)
    taken = bytearray(count)
    event = 0
    while event < count:
        taken[event] = 1
        event = following[event]
    return np.frombuffer(taken, "?")


def _first_free(start: np.ndarray, until: np.ndarray) -> np.ndarray:
    """Give each event the lowest free row, all rows at once: for lanes of very many rows."""
    rows = np.empty(len(start), "i4")
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    opened = 0
    for event, (begin, end) in enumerate(zip(start.tolist(), until.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            row = heapq.heappop(free)
        else:
            row, opened = opened, opened + 1
        rows[event] = row
        heapq.heappush(busy, (end, row))
    return rows
