"""Bars as named columns, from the files to the front end."""

from collections.abc import Sequence

import numpy as np

from tfvis_nb.analysis.events.merging import begins
from tfvis_nb.fleet.dataset.levels import merged_bars

Bars = dict[str, np.ndarray]
"""Columns of `tfvis_nb.fleet.dataset.levels`, ``slot`` for lane and row; names, ops, steps as numbers."""

COLUMNS = {
    "slot": "i8",
    "start_ns": "i8",
    "end_ns": "i8",
    "busy_ns": "i8",
    "count": "i8",
    "event": "i8",
    "begin_ns": "i8",
    "duration_ns": "i8",
    "step": "i8",
    "category": "u1",
    "wait_ns": "i8",
    "name": "i8",
    "op": "i8",
}


def chosen(bars: Bars, mask: np.ndarray) -> Bars:
    """Select bars by mask or index."""
    return {name: column[mask] for name, column in bars.items()}


def joined(parts: Sequence[Bars]) -> Bars:
    """Concatenate bars, ordered by slot and start."""
    columns = {
        name: np.concatenate([part[name] for part in parts]).astype(dtype) if parts else np.zeros(0, dtype)
        for name, dtype in COLUMNS.items()
    }
    return chosen(columns, np.lexsort((columns["start_ns"], columns["slot"])))


def at_most(bars: Bars, shift: int, most: int) -> tuple[Bars, int]:
    """Merge bars, starting with buckets of `shift`, to at most `most`; also return the shift used.

    If long bars alone exceed the limit, they are all kept.
    """
    if len(bars["slot"]) <= most:
        return bars, shift
    slot, start = bars["slot"], bars["start_ns"]
    length = bars["end_ns"] - start
    last = int(length.max()).bit_length() + 1
    while shift < last and np.count_nonzero(begins(slot, start, length, shift)) > most:
        shift += 1
    return merged_bars(bars, [slot], shift), shift
