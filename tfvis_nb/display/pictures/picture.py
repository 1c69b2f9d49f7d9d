"""A trace as SVG: lanes with their bars, a ruler and a legend, at a size for a page or a slide."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.waits import waits
from tfvis_nb.analysis.events.activity import ACTIVITIES
from tfvis_nb.analysis.events.bar_categories import drawn_activity
from tfvis_nb.core.format import MINUS, TIME_UNITS
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.labels import one_line, printable
from tfvis_nb.core.markup import element
from tfvis_nb.core.options import check_title
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.prediction import is_predicted
from tfvis_nb.core.time_ranges import TimeRange, recorded_range
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.pictures.annotations import FLAGS, annotations_svg, drawn_annotations
from tfvis_nb.display.pictures.layout import HEADING, ROW, layout
from tfvis_nb.display.pictures.lettering import (
    BOLD,
    FONT_SIZE,
    NAME_ROOM,
    NAME_SIZE,
    cut,
    cut_middle,
    lines_of,
    readable,
    width_of,
)
from tfvis_nb.display.pictures.own_tracks import Frame, names_width, tracks_height, tracks_svg
from tfvis_nb.display.pictures.themes import THEMES, Theme
from tfvis_nb.display.shaping.tracks import OwnTrack, checked_tracks
from tfvis_nb.display.wire.header import origin_ns
from tfvis_nb.texts import Text

_FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_MARGIN, _HEAD, _RULER, _LEGEND = 4.0, 16.0, 15.0, 15.0
_NARROW = 1.0
"""The width in CSS pixels below which events are merged, and half of it, the unit for their shares."""
_MOST_NAMES = 2_000
_THINNEST = 0.4
"""Minimum width of an isolated event, in CSS pixels."""
MOST_BYTES = 1_900_000
_FARTHEST = 2**62
_MERGED = "low bars: several events, as high as their share of the time"


class Picture(NamedTuple):
    """An SVG with its width and height in CSS pixels."""

    svg: str
    width: float
    height: float


class _Entry(NamedTuple):
    """One entry of the legend: the fill of its swatch, empty for none, and its position."""

    fill: str
    label: str
    x: float
    line: int


def picture(
    trace: Trace,
    *,
    time_range: TimeRange | None = None,
    lanes: str = "",
    width: str | float = "16 cm",
    height: str | float | None = None,
    theme: str = "light",
    title: str | None = None,
    tracks: Mapping[str, Any] | None = None,
) -> Picture:
    """Draw a trace; `tfvis_nb.Trace.to_svg` has the parameters and errors."""
    check_title(title)
    if not isinstance(lanes, str):
        raise TypeError(Text("lanes_no_text", lanes=lanes))
    if theme not in THEMES:
        choices = ", ".join(map(repr, THEMES))
        raise ValueError(Text("no_such_value", name="theme", value=theme, choices=choices))
    wide, high = size_of(width, "width"), None if height is None else size_of(height, "height")
    own = checked_tracks(tracks, trace)
    drawing = _Drawing(trace, _ends(trace, time_range), lanes, wide, high, THEMES[theme], title or "", own)
    part = _NARROW
    while True:
        text = drawing.text(part)
        if len(text) <= MOST_BYTES or part > wide.pixels:
            return Picture(text, wide.pixels, drawing.height)
        part *= 2


def _ends(trace: Trace, time_range: TimeRange | None) -> tuple[int, int]:
    events = trace.events
    origin = origin_ns(events)
    latest = int((events["start_ns"] + events["duration_ns"]).max()) if len(events) else 1
    if time_range is None:
        return origin, latest
    start, end = recorded_range(events, time_range)
    # Beyond these times differences do not fit into an int64.
    start, end = (start if start > -_FARTHEST else origin), (end if end < _FARTHEST else latest)
    if (
        start == end
        or not is_inside(events["start_ns"].to_numpy(), events["duration_ns"].to_numpy(), start, end).any()
    ):
        raise ValueError(Text("no_event_in_range", time_range=time_range))
    return start, end


class _Drawing:
    """The content of a picture that does not depend on how finely bars are drawn."""

    def __init__(
        self,
        trace: Trace,
        ends: tuple[int, int],
        lanes: str,
        width: Size,
        height: Size | None,
        theme: Theme,
        title: str,
        own: dict[str, OwnTrack],
    ) -> None:
        self.trace, self.ends, self.theme, self.width = trace, ends, theme, width
        self.title = printable(title, 200)
        self.layout = layout(trace, lanes, ends, None)
        self.annotations = drawn_annotations(trace.annotations, self.layout, ends)
        self.ruler = _MARGIN + (_HEAD if title else 0) + _RULER
        self.head = self.ruler + (FLAGS if self.annotations else 0)
        self.activity = drawn_activity(trace)[self.layout.events]
        self.waiting = waits(trace)[self.layout.events]
        self.legend = self._legend()
        self.own, below = own, tracks_height(own)
        foot = below + 2 * _MARGIN + _LEGEND * (self.legend[-1].line + 1 if self.legend else 0)
        if height is not None:
            self.layout = layout(trace, lanes, ends, height.pixels - self.head - foot)
        self.height = self.head + self.layout.height + foot if height is None else height.pixels
        self.tall = "" if height is None else height.text
        names = [width_of(lane.label, FONT_SIZE) for lane in self.layout.lanes]
        longest = max([*names, names_width(own)]) + 3 * _MARGIN
        # Short names stay whole in small pictures.
        most = max(width.pixels * 0.3, min(width.pixels * 0.4, 60.0))
        self.left = min(max(longest, 40.0), most)
        self.plot = width.pixels - self.left - _MARGIN
        self.frame = Frame(_MARGIN, self.left, self.left + self.plot, ends)
        self.scale = self.plot / max(ends[1] - ends[0], 1)
        start = trace.events["start_ns"].to_numpy(np.int64)[self.layout.events]
        end = start + trace.events["duration_ns"].to_numpy(np.int64)[self.layout.events]
        self.x = [self._x(times) for times in (start, start + self.waiting, end)]

    def _x(self, times: np.ndarray) -> np.ndarray:
        placed: np.ndarray = (np.clip(times, *self.ends) - self.ends[0]) * self.scale
        return placed

    def text(self, narrow: float) -> str:
        """Write the picture, merging events of less than `narrow` CSS pixels."""
        width, height = round(self.width.pixels, 2), round(self.height, 2)
        title = self._bold(self.title)
        bars = {"class": "bars", "transform": f"translate({self.left:g} {self.head:g})"}
        return element(
            "svg",
            element("title", text=one_line(self.trace, self.title)),
            element("rect", width=width, height=height, fill=self.theme.paper),
            element("text", text=title, x=_MARGIN, y=_MARGIN + 9, font_weight="bold") if title else "",
            self._ruler(),
            self._lanes(),
            element("g", self._bars(narrow), **bars),
            tracks_svg(self.own, self.frame, self.head + self.layout.height + _MARGIN, self.theme),
            annotations_svg(self.annotations, self.layout, self.frame, self.head, self._bottom(), self.theme),
            element("g", self._foot(), class_="legend"),
            xmlns="http://www.w3.org/2000/svg",
            width=self.width.text,
            height=self.tall or _in_unit(self.height, self.width),
            viewBox=f"0 0 {width:g} {height:g}",
            font_family=_FONT,
            font_size=FONT_SIZE,
            fill=self.theme.ink,
            role="img",
        )

    def _ruler(self) -> str:
        origin = origin_ns(self.trace.events)
        start, end = (edge - origin for edge in self.ends)
        parts = []
        for tick in ticks(start, end, self.plot):
            x = self.left + (tick.time - start) * self.scale
            # Centred labels would be cut at the edges.
            anchor = "start" if x - self.left < 12 else "end" if self.plot + self.left - x < 20 else "middle"
            parts += [
                self._line(f"M{x:.2f} {self.ruler - 3:g}V{self._bottom():.2f}"),
                self._faint(tick.label, x, self.ruler - 5, text_anchor=anchor),
            ]
        return element("g", *parts, class_="ruler")

    def _line(self, path: str) -> str:
        return element("path", d=path, stroke=self.theme.line, stroke_width=".5")

    def _faint(self, text: str, x: float, y: float, **attributes: object) -> str:
        return element("text", text=text, x=x, y=y, fill=self.theme.faint, **attributes)

    def _bold(self, text: str) -> str:
        """Cut a text in bold that starts at the left edge."""
        return cut(text, self.width.pixels - 2 * _MARGIN, FONT_SIZE * BOLD)

    def _lanes(self) -> str:
        room, size = self.left - 3 * _MARGIN, self.layout.name_size
        smaller = f"{size:.3g}" if size < FONT_SIZE else None
        parts = []
        for label, top in self.layout.headings:
            y = self.head + top
            name = self._bold(label)
            parts += [
                self._line(f"M0 {y + 2:.2f}H{self.width.pixels:.2f}"),
                element("text", text=name, x=_MARGIN, y=y + HEADING - 4, font_weight="bold"),
            ]
        for lane in self.layout.lanes:
            middle = self.head + lane.top + min(lane.rows * lane.pitch, 2 * ROW) / 2 + size * 0.35
            name = cut_middle(lane.label, room, size)
            parts.append(self._faint(name, _MARGIN * 2, middle, font_size=smaller))
        return element("g", *parts, class_="lanes")

    def _bars(self, narrow: float) -> str:
        left, waited, right = self.x
        places = (self.layout.top, self.layout.pitch, self.activity)
        wide = right - left >= narrow
        # An isolated event is a line as high as wider bars.
        wide |= alone(left, right, self.layout.track, narrow)
        few = [column[~wide] for column in (left, right, *places, self.layout.track)]
        colours = self.theme.colours
        seen = np.maximum(right, left + _THINNEST)
        bars = wide_boxes(*(column[wide] for column in (left, seen, *places)))
        merged = merged_boxes(*few, part=narrow / 2)
        drawn = [(merged, "merged", {}), (bars, "event", self.theme.stroke)]
        paths = [
            element("path", class_=f"{what} {name}", fill=colours[name], **stroke, d=boxes.path(number))
            for boxes, what, stroke in drawn
            for number, name in enumerate(ACTIVITIES)
            if (boxes.category == number).any()
        ]
        heads = wide & (waited > left + 0.05)
        if heads.any():
            boxes = wide_boxes(*(column[heads] for column in (left, waited, *places)))
            covered = "".join(boxes.path(number) for number in range(len(ACTIVITIES)))
            paths.append(
                element("path", class_="waiting", fill=self.theme.paper, fill_opacity=".55", d=covered)
            )
        return "".join(paths) + self._names(wide)

    def _names(self, wide: np.ndarray) -> str:
        """Write the names of bars that have room for them, the widest first if there are many."""
        _, waited, right = self.x
        room = np.where(wide & (self.layout.pitch >= FONT_SIZE), right - waited, 0)
        chosen = np.flatnonzero(room >= NAME_ROOM)
        chosen = chosen[np.argsort(-room[chosen], kind="stable")][:_MOST_NAMES]
        names = self.trace.events["name"].to_numpy()[self.layout.events[chosen]].tolist()
        parts = []
        for at, name in zip(chosen.tolist(), names, strict=True):
            text = cut(printable(name.rpartition("/")[2] or name, 200), room[at] - 3, NAME_SIZE)
            if len(text) < 2:
                continue
            ink = readable(self.theme.colours[ACTIVITIES[self.activity[at]]])
            y = self.layout.top[at] + self.layout.pitch[at] / 2 + NAME_SIZE * 0.28
            parts.append(element("text", text=text, x=waited[at] + 2, y=y, fill=ink))
        return element("g", *parts, font_size=NAME_SIZE) if parts else ""

    def _bottom(self) -> float:
        """Return the lower edge of lanes and tracks."""
        return self.head + self.layout.height + tracks_height(self.own)

    def _legend(self) -> list[_Entry]:
        """Place an entry for each drawn activity, and for everything else that needs an explanation."""
        used = [ACTIVITIES[one] for one in np.unique(self.activity)[::-1]]
        listed = [(self.theme.colours[one], LABELS[one]) for one in used]
        if self.waiting.any():
            listed.append(("waiting", "waiting"))
        listed += [("", "predicted")] if is_predicted(self.trace) else []
        listed += [("", _MERGED)] if len(self.activity) > 1 else []
        listed += [] if len(self.activity) else [("", "no events")]
        if self.layout.hidden:
            listed.append(("", f"{self.layout.hidden:,} more lanes are not drawn"))
        entries: list[_Entry] = []
        x, line = _MARGIN, 0
        for fill, label in listed:
            swatch, end = (12 if fill else 0), self.width.pixels - _MARGIN
            if x > _MARGIN and x + swatch + width_of(label, FONT_SIZE) > end:
                x, line = _MARGIN, line + 1
            first, *more = lines_of(label, end - x - swatch, FONT_SIZE)
            entries.append(_Entry(fill, first, x, line))
            entries += [_Entry("", text, x, line + at) for at, text in enumerate(more, 1)]
            line += len(more)
            x += swatch + width_of(entries[-1].label, FONT_SIZE) + 14
        return entries

    def _foot(self) -> str:
        parts = []
        top = self.height - _MARGIN - _LEGEND * (self.legend[-1].line + 1 if self.legend else 0)
        for fill, label, x, line in self.legend:
            y = top + line * _LEGEND + 3
            colour = self.theme.colours["communication"] if fill == "waiting" else fill
            faded = ".45" if fill == "waiting" else None
            if fill:
                box = {"x": x, "y": y, "width": 8, "height": 8, "fill": colour, "fill_opacity": faded}
                parts.append(element("rect", **box, **self.theme.stroke))
            parts.append(element("text", text=label, x=x + (12 if fill else 0), y=y + 7.3))
        return "".join(parts)


def _in_unit(pixels: float, like: Size) -> str:
    """Format a length in the unit of another one."""
    unit = like.text.lstrip("0123456789.")
    return f"{pixels * float(like.text.removesuffix(unit)) / like.pixels:.4g}{unit}"


_PIXELS = {"px": 1.0, "pt": 96 / 72, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
"""The size of each unit in CSS pixels."""
_SIZE = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(px|pt|mm|cm|in)?\s*")
SMALLEST, LARGEST = 100.0, 20_000.0
"""Limits of a picture's width and height, in CSS pixels."""


class Size(NamedTuple):
    """A length as given by the user: ``text`` with its unit as in SVG, and the CSS pixels."""

    text: str
    pixels: float


def size_of(value: Any, name: str) -> Size:
    """Read a size such as ``"16 cm"``; a number is in CSS pixels.

    ValueError if it is invalid, or not between `SMALLEST` and `LARGEST`.

    >>> size_of("16 cm", "width").text, round(size_of("16 cm", "width").pixels, 1)
    ('16cm', 604.7)
    """
    # Larger numbers may be too large for a float.
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    text = f"{float(value):.6f}" if is_number and SMALLEST <= value <= LARGEST else value
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    pixels = float(match[1]) * _PIXELS[match[2] or "px"] if match else math.nan
    if match is None or not SMALLEST <= pixels <= LARGEST:
        raise ValueError(Text("no_picture_size", name=name, value=value))
    return Size(f"{float(match[1]):g}{match[2] or 'px'}", pixels)


APART = 60
"""Minimum distance between ticks, in CSS pixels."""


class Tick(NamedTuple):
    """A time in ns from the trace's origin, and its label."""

    time: float
    label: str


def ticks(start: float, end: float, width: float) -> list[Tick]:
    """Return ticks at 1, 2 or 5 times a power of ten ns, all labelled in one unit.

    >>> [tick.label for tick in ticks(0, 4_500_000, 400)]
    ['0 ms', '1 ms', '2 ms', '3 ms', '4 ms']
    """
    if not end > start:
        return []
    least = max((end - start) / width * APART, 1)
    power = 10 ** math.floor(math.log10(least) + 1e-9)
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    largest = max(abs(start), abs(end), step)
    unit = min(int(math.log10(largest) // 3), len(TIME_UNITS) - 1)
    decimals = max(3 * unit - math.floor(math.log10(step) + 1e-9), 0)
    first, last = math.ceil(start / step), math.floor(end / step)
    return [
        Tick(n * step, _label(n * step / 1000**unit, decimals, TIME_UNITS[unit]))
        for n in range(first, last + 1)
    ]


def _label(value: float, decimals: int, unit: str) -> str:
    return f"{MINUS if value < 0 else ''}{abs(value):,.{decimals}f} {unit}"


LEVELS = 8
"""Heights of bars that stand for several events."""


class Boxes(NamedTuple):
    """Rectangles in CSS pixels, and their categories."""

    x: np.ndarray
    y: np.ndarray
    width: np.ndarray
    height: np.ndarray
    category: np.ndarray

    def path(self, category: int) -> str:
        """Return the rectangles of a category as the data of a single path."""
        chosen = self.category == category
        columns = (column[chosen].round(2).tolist() for column in (self.x, self.y, self.width, self.height))
        return "".join(f"M{x:g} {y:g}h{w:g}v{h:g}h{-w:g}z" for x, y, w, h in zip(*columns, strict=True))


def wide_boxes(
    left: np.ndarray, right: np.ndarray, top: np.ndarray, pitch: np.ndarray, category: np.ndarray
) -> Boxes:
    """Return a rectangle for each event, with gaps between rows that are high enough."""
    return Boxes(left, top, right - left, _bar(pitch), category)


def alone(left: np.ndarray, right: np.ndarray, track: np.ndarray, distance: float) -> np.ndarray:
    """Return a mask of events further than `distance` from their neighbours on the same track."""
    order = np.lexsort([left, track])
    apart = np.ones(len(order) + 1, bool)
    apart[1:-1] = (np.diff(track[order]) != 0) | (left[order][1:] - right[order][:-1] > distance)
    is_alone = np.zeros(len(order), bool)
    is_alone[order] = apart[:-1] & apart[1:]
    return is_alone


def merged_boxes(
    left: np.ndarray,
    right: np.ndarray,
    top: np.ndarray,
    pitch: np.ndarray,
    category: np.ndarray,
    track: np.ndarray,
    *,
    part: float,
) -> Boxes:
    """Return rectangles for narrow events, whose height is their share of each `part` CSS pixels.

    The category is the one with the most time in the part. Every event is visible, because the lowest level
    is not empty.
    """
    column = np.floor((left + right) / 2 / part).astype(np.int64)
    table = pd.DataFrame({"track": track, "column": column, "category": category, "busy": right - left})
    table["top"], table["pitch"] = top, pitch
    keys = ["track", "column"]
    cells = table.groupby(keys).agg(busy=("busy", "sum"), top=("top", "first"), pitch=("pitch", "first"))
    by_category = table.groupby([*keys, "category"])["busy"].sum().reset_index()
    most = by_category.sort_values("busy", kind="stable").drop_duplicates(keys, keep="last")
    level = np.clip(np.rint(cells["busy"].to_numpy() / part * LEVELS), 1, LEVELS).astype(np.int64)
    of_track, at = (cells.index.get_level_values(name).to_numpy() for name in keys)
    main = most.sort_values(keys)["category"].to_numpy()
    same = (np.diff(of_track) == 0) & (np.diff(at) == 1) & (np.diff(level) == 0) & (np.diff(main) == 0)
    first = np.flatnonzero(np.concatenate([[True], ~same])) if len(at) else np.zeros(0, np.int64)
    last = np.append(first[1:], len(at)) - 1 if len(first) else first
    bar = _bar(cells["pitch"].to_numpy())[first]
    height = bar * level[first] / LEVELS
    y = cells["top"].to_numpy()[first] + bar - height
    return Boxes(at[first] * part, y, (at[last] - at[first] + 1) * part, height, main[first])


def _bar(pitch: np.ndarray) -> np.ndarray:
    return np.where(pitch >= 4, pitch - 1, pitch)
