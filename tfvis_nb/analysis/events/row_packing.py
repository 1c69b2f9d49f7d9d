"""Pack the events of each lane into rows, so that bars do not overlap.

``js/model/lod/rows.ts`` does the same for traces that are completely in the browser. Both give each event the
first row that is free at its start.
"""

import heapq

import numpy as np

_MOST_CHAINS = 24
"""How many rows are found one by one, each with one search over the rest of the lane."""


def pack_rows(start: np.ndarray, duration: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the row of each event in its lane, 0 on top; events are ordered by lane and start.

    Events may touch. An event without length occupies the nanosecond in which it starts.
    """
    rows = np.zeros(len(start), "i4")
    until = start + np.maximum(duration, 1)
    end = 0
    for count in counts.tolist():
        begin, end = end, end + count
        _pack_lane(start[begin:end], until[begin:end], rows[begin:end])
    return rows


def _pack_lane(start: np.ndarray, until: np.ndarray, rows: np.ndarray) -> None:
    # Packing restarts where everything before has ended: events that overlap nothing are already in row 0.
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
    """Mark the events of the first row: the first event, then always the next one for which it is free."""
    following = np.searchsorted(start, until).data
    count = len(start)
    taken = bytearray(count)
    event = 0
    while event < count:
        taken[event] = 1
        event = following[event]
    return np.frombuffer(taken, "?")


def _first_free(start: np.ndarray, until: np.ndarray) -> np.ndarray:
    """Give each event the lowest free row, all rows at once, for lanes with many rows."""
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
