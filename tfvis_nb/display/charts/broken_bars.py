"""Bars that are cut: one step of many times the others' length would flatten all of them."""

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
"""A longer bar is cut and labelled with its length."""
_ROOM = 1.25
"""A cut bar is this many times as long as the longest other one."""
_GAP = (0.84, 0.89)
"""Where a cut bar is broken, as parts of it."""
_MOST_LABELS = 8
"""More lengths would cover each other."""


class BrokenBars(NamedTuple):
    """How bars are drawn: a cut one in two pieces, another in one."""

    lengths: np.ndarray
    """Lengths of the bars."""
    limit: float
    """Length of a cut bar; infinite where none is."""
    rows: np.ndarray
    """The bar of each piece."""
    low: np.ndarray
    """Where each piece starts."""
    high: np.ndarray
    """Where each piece ends, at most."""

    def ends(self, parts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return from where to where each part of each piece is drawn, as ``NAME_from`` and ``NAME_to``.

        The parts of a cut bar share its length as they would share the whole one.
        """
        whole = np.where(self.lengths > 0, self.lengths, 1)
        scale = np.minimum(self.lengths, self.limit) / whole
        found = {}
        reached = np.zeros(len(self.lengths))
        for name, values in parts.items():
            start, reached = reached, reached + values * scale
            found[f"{name}_from"] = np.clip(start[self.rows], self.low, self.high)
            found[f"{name}_to"] = np.clip(reached[self.rows], self.low, self.high)
        return found

    def mark(self, made: figure, places: np.ndarray, unit: Unit, *, lying: bool = False) -> None:
        """Write the length of each cut bar at its end, and leave room for it; `places` are where bars are."""
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
    """Return how bars of these lengths are drawn."""
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
