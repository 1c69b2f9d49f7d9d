"""Bars as named columns, from files to what is sent."""

from collections.abc import Sequence

import numpy as np

from tfvis_nb.analysis.events.merging import begins
from tfvis_nb.dataset.levels import merged_bars

Bars = dict[str, np.ndarray]
"""Columns of `tfvis_nb.dataset.levels`, with ``slot`` for lane and row, and names, ops, steps as numbers."""

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
    """Keep the bars that a mask or their places name."""
    return {name: column[mask] for name, column in bars.items()}


def joined(parts: Sequence[Bars]) -> Bars:
    """Put bars in one order, by slot and start."""
    columns = {
        name: np.concatenate([part[name] for part in parts]).astype(dtype) if parts else np.zeros(0, dtype)
        for name, dtype in COLUMNS.items()
    }
    return chosen(columns, np.lexsort((columns["start_ns"], columns["slot"])))


def at_most(bars: Bars, shift: int, most: int) -> tuple[Bars, int]:
    """Merge bars, from the buckets of `shift` on, until they are at most `most`; the shift that took.

    Long bars alone may be more than that, however coarse the buckets: then all are kept.
    """
    if len(bars["slot"]) <= most:
        return bars, shift
    slot, start = bars["slot"], bars["start_ns"]
    length = bars["end_ns"] - start
    last = int(length.max()).bit_length() + 1
    while shift < last and np.count_nonzero(begins(slot, start, length, shift)) > most:
        shift += 1
    return merged_bars(bars, ["slot"], shift), shift
