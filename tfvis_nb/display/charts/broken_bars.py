"""Broken bars, because one much longer step would flatten all others."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median_low
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfvis_nb.core.format import format_duration
from tfvis_nb.display.charts.style import Unit

if TYPE_CHECKING:
    from bokeh.plotting import figure

MOST_MEDIANS = 3
"""Longer bars are cut and labelled with their length."""
_ROOM = 1.25
"""The length of a cut bar, as a multiple of the longest other one."""
_GAP = (0.84, 0.89)
"""Where a cut bar is broken, as fractions of it."""
_MOST_LABELS = 8
"""With more cut bars, labels would overlap."""


class BrokenBars(NamedTuple):
    """How bars are drawn: cut ones in two pieces, others in one."""

    lengths: np.ndarray
    """Lengths of the bars."""
    limit: float
    """Length of a cut bar; infinite if none is cut."""
    rows: np.ndarray
    """The bar of each piece."""
    low: np.ndarray
    """Where each piece starts."""
    high: np.ndarray
    """The limit of each piece's end."""

    def ends(self, parts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the start and end of each part of each piece, as ``NAME_from`` and ``NAME_to``.

        The parts of a cut bar keep their proportions.
        """
        whole = np.where(self.lengths > 0, self.lengths, 1)
        scale = np.minimum(self.lengths, self.limit) / whole
        ends = {}
        reached = np.zeros(len(self.lengths))
        for name, values in parts.items():
            start, reached = reached, reached + values * scale
            ends[f"{name}_from"] = np.clip(start[self.rows], self.low, self.high)
            ends[f"{name}_to"] = np.clip(reached[self.rows], self.low, self.high)
        return ends

    def mark(self, made: figure, places: np.ndarray, unit: Unit, *, lying: bool = False) -> None:
        """Label each cut bar with its length at its end, with room for it; `places` are positions of bars."""
        from bokeh.models import ColumnDataSource
        from bokeh.models.annotations import LabelSet

        cut = np.flatnonzero(self.lengths > self.limit)
        if not len(cut):
            return
        along = made.x_range if lying else made.y_range
        along.update(end=self.limit * (_ROOM if lying else 1.15))
        if len(cut) > _MOST_LABELS:
            return
        ends = np.full(len(cut), self.limit)
        texts = [format_duration(float(self.lengths[bar] * unit.size)) for bar in cut]
        at = {"x": ends, "y": places[cut]} if lying else {"x": places[cut], "y": ends}
        style: dict[str, Any] = {"y_offset": 2, "text_align": "center"}
        if lying:
            style = {"x_offset": 4, "text_baseline": "middle"}
        source = ColumnDataSource({**at, "length": texts})
        made.add_layout(LabelSet(x="x", y="y", text="length", source=source, text_font_size="11px", **style))


def broken_bars(lengths: np.ndarray) -> BrokenBars:
    """Return how to draw bars of these lengths."""
    rows, count = np.arange(len(lengths)), len(lengths)
    median = median_low(lengths) if count else 0.0
    cut = lengths > MOST_MEDIANS * median
    if not median or not cut.any():
        return BrokenBars(lengths, np.inf, rows, np.zeros(count), np.full(count, np.inf))
    limit = _ROOM * float(lengths[~cut].max())
    before, after = (limit * part for part in _GAP)
    return BrokenBars(
        lengths,
        limit,
        np.concatenate([rows, rows[cut]]),
        np.concatenate([np.zeros(count), np.full(cut.sum(), after)]),
        np.concatenate([np.where(cut, before, np.inf), np.full(cut.sum(), np.inf)]),
    )
