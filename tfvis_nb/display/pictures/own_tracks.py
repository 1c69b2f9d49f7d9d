"""The user's own tracks in a picture: bars, and values as a filled step line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tfvis_nb.core.format import format_amount
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.labels import printable
from tfvis_nb.core.markup import element
from tfvis_nb.display.pictures.layout import ROW
from tfvis_nb.display.pictures.lettering import FONT_SIZE, NAME_ROOM, NAME_SIZE, cut, readable, width_of
from tfvis_nb.display.pictures.themes import Theme
from tfvis_nb.display.shaping.tracks import OwnTrack

_VALUES = 26.0
_BETWEEN = 4.0
_MOST_ROWS = 6
"""Maximum height of bars, in rows; more rows are drawn thinner."""


class Frame(NamedTuple):
    """Where tracks are drawn (CSS px): labels from `margin`, times from `left` to `right`."""

    margin: float
    left: float
    right: float
    ends: tuple[int, int]

    def x(self, times: np.ndarray) -> np.ndarray:
        """Return the x positions of times, those outside at the edges."""
        share = (np.clip(times, *self.ends) - self.ends[0]) / max(self.ends[1] - self.ends[0], 1)
        placed: np.ndarray = self.left + share * (self.right - self.left)
        return placed


def tracks_height(tracks: Mapping[str, OwnTrack]) -> float:
    """Return the height of tracks in CSS pixels."""
    return sum(_height(track) + _BETWEEN for track in tracks.values())


def names_width(tracks: Mapping[str, OwnTrack]) -> float:
    """Return the width of the longest name or highest value in CSS pixels."""
    names = [width_of(name, FONT_SIZE) for name in tracks]
    return max([*names, *(width_of(_most(track), NAME_SIZE) for track in tracks.values())], default=0)


def tracks_svg(tracks: Mapping[str, OwnTrack], frame: Frame, top: float, theme: Theme) -> str:
    """Write tracks below each other."""
    parts = []
    for track in tracks.values():
        room = frame.left - 3 * frame.margin
        name = cut(printable(track.name, 80), room, FONT_SIZE)
        # Part of a figure would be another one.
        most = next(
            (text for text in (_most(track), _amount(track)) if width_of(text, NAME_SIZE) <= room), ""
        )
        middle = top + min(_height(track), 2 * ROW) / 2 + (0 if most else 3)
        left = {"x": frame.margin * 2, "fill": theme.faint}
        parts.append(element("text", text=name, y=middle, **left))
        if most:
            parts.append(element("text", text=most, y=middle + 11, font_size=NAME_SIZE, **left))
        draw = _bars if track.value is None else _values
        parts.append(draw(track, frame, top, theme))
        top += _height(track) + _BETWEEN
    return element("g", *parts, class_="tracks") if parts else ""


def _height(track: OwnTrack) -> float:
    if track.value is not None:
        return _VALUES
    rows = int(track.rows.max()) + 1 if len(track.start) else 1
    return min(rows, _MOST_ROWS) * ROW


def _amount(track: OwnTrack) -> str:
    """Return the highest value with its unit; empty for bars."""
    if track.value is None or not len(track.value):
        return ""
    return printable(format_amount(float(track.value.max()), track.unit), 80)


def _most(track: OwnTrack) -> str:
    amount = _amount(track)
    return amount and f"max {amount}"


def _bars(track: OwnTrack, frame: Frame, top: float, theme: Theme) -> str:
    if track.duration is None or not len(track.start):
        return ""
    rows = track.rows
    pitch = _height(track) / (int(rows.max()) + 1)
    left, right = frame.x(track.start), frame.x(track.start + track.duration)
    seen = is_inside(track.start, track.duration, *frame.ends)
    # With a gap, because adjacent bars have the same colour.
    width = np.maximum(right - left - 0.5, 0.4)
    shapes, names = [], []
    for at in np.flatnonzero(seen).tolist():
        y, tall = top + rows[at] * pitch, max(pitch - 1, pitch / 2)
        shapes.append(f"M{left[at]:.2f} {y:.2f}h{width[at]:.2f}v{tall:.2f}h{-width[at]:.2f}z")
        if width[at] < NAME_ROOM or pitch < NAME_SIZE:
            continue
        text = cut(printable(track.names[at], 200), width[at] - 4, NAME_SIZE)
        if len(text) > 1:
            names.append(element("text", text=text, x=left[at] + 2, y=y + pitch / 2 + 2.2))
    colour = theme.colours["none"]
    bars = element("path", fill=colour, **theme.stroke, d="".join(shapes))
    return bars + element("g", *names, font_size=NAME_SIZE, fill=readable(colour))


def _values(track: OwnTrack, frame: Frame, top: float, theme: Theme) -> str:
    # A value lasts until the next one, so the first one drawn may be from before the range.
    before, end = np.searchsorted(track.start, frame.ends, "right").tolist()
    if track.value is None or not end:
        return ""
    drawn = slice(max(before - 1, 0), end)
    low, high = min(float(track.value.min()), 0.0), max(float(track.value.max()), 0.0)
    # Halves: a difference of extremes may be more than a number holds.
    scale = high / 2 - low / 2 or 1.0
    bottom = top + _VALUES

    def y(values: np.ndarray) -> np.ndarray:
        placed: np.ndarray = bottom - (values / 2 - low / 2) / scale * (_VALUES - 2)
        return placed

    x = frame.x(track.start[drawn])
    after = np.append(x[1:], frame.right)
    steps = "".join(
        f"L{a:.2f} {v:.2f}L{b:.2f} {v:.2f}"
        for a, b, v in zip(x.tolist(), after.tolist(), y(track.value[drawn]).tolist(), strict=True)
    )
    ground = float(y(np.zeros(1))[0])
    line = f"M{x[0]:.2f} {ground:.2f}{steps}L{after[-1]:.2f} {ground:.2f}"
    colour = theme.colours["host_compute"]
    return element("path", fill=colour, fill_opacity=".3", stroke=colour, stroke_width=".75", d=line)
