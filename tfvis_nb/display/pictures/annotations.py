"""Annotations in a picture: names above the lanes, lines at times, shades over ranges, outlines of events.

``js/view/canvas/overlay.ts`` draws them in the view.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.annotations import to_json
from tfvis_nb.core.labels import printable
from tfvis_nb.core.markup import element
from tfvis_nb.display.pictures.layout import Layout
from tfvis_nb.display.pictures.lettering import NAME_SIZE, cut, width_of
from tfvis_nb.display.pictures.own_tracks import Frame
from tfvis_nb.display.pictures.themes import Theme

FLAGS = 13.0
"""Height of the line with the names, in CSS pixels."""
_NEAR, _BETWEEN = 36.0, 4.0
"""Names closer than `_NEAR` share a flag; both in CSS pixels."""


class Annotation(NamedTuple):
    """A time or range (epoch ns); `event` and `lanes` are indices of the drawn ones, no lanes for all."""

    name: str
    start: int
    end: int
    event: int | None
    lanes: list[int]


def drawn_annotations(table: pd.DataFrame, made: Layout, ends: tuple[int, int]) -> list[Annotation]:
    """Return the annotations within `ends` (epoch ns), but not of events and lanes that are not drawn."""
    numbers = {lane.place: number for number, lane in enumerate(made.lanes)}
    drawn = []
    for row in to_json(table):
        lanes = [numbers[tuple(lane)] for lane in row["lanes"] if tuple(lane) in numbers]
        events = [] if row["event"] is None else np.flatnonzero(made.events == row["event"]).tolist()
        is_drawn = bool(events) if row["event"] is not None else bool(lanes) or not row["lanes"]
        if is_drawn and row["start_ns"] <= ends[1] and row["end_ns"] >= ends[0]:
            event = events[0] if events else None
            drawn.append(
                Annotation(printable(row["name"], 200), row["start_ns"], row["end_ns"], event, lanes)
            )
    return drawn


def annotations_svg(
    annotations: list[Annotation], made: Layout, frame: Frame, top: float, bottom: float, theme: Theme
) -> str:
    """Write annotations over lanes that start at `top`, and their names above it."""
    if not annotations:
        return ""
    marks = (_mark(each, made, frame, top, bottom) for each in annotations)
    flags = _flags(annotations, frame, top, theme)
    return element("g", *marks, class_="annotations", fill=theme.note, color=theme.note) + element(
        "g", *flags, class_="flags", font_size=NAME_SIZE
    )


def _mark(annotation: Annotation, made: Layout, frame: Frame, top: float, bottom: float) -> str:
    """Write lines at the ends in view and a shade between them, or the outline of an event."""
    ends = (annotation.start, annotation.end)
    x, right = frame.x(np.array(ends)).tolist()
    seen = [at for at, time in zip((x, right), ends, strict=True) if frame.ends[0] <= time <= frame.ends[1]]
    if annotation.event is not None:
        y, high = top + made.top[annotation.event], max(made.pitch[annotation.event] - 1, 1)
        line = element("path", opacity=".55", d=f"M{x:.2f} {top:g}h.75V{y:.2f}h-.75z") if x in seen else ""
        corner, wide = min(4.0, max(right - x, 1), high), max(right - x, 1)
        flag = f"M{x:.2f} {y:.2f}h{corner:.2f}l{-corner:.2f} {corner:.2f}z"
        box = f"M{x:.2f} {y:.2f}h{wide:.2f}v{high:.2f}H{x:.2f}z"
        return line + element("path", d=flag) + element("path", fill="none", stroke="currentColor", d=box)
    lanes = [made.lanes[lane] for lane in annotation.lanes]
    strips = [(top + lane.top, lane.rows * lane.pitch) for lane in lanes] or [(top, bottom - top)]
    shades = "".join(f"M{x:.2f} {y:.2f}H{right:.2f}v{high:.2f}H{x:.2f}z" for y, high in strips)
    lines = "".join(f"M{at:.2f} {y:.2f}h.75v{high:.2f}h-.75z" for y, high in strips for at in seen)
    above = f"M{x:.2f} {top:.2f}H{max(right, x + 1):.2f}v1.5H{x:.2f}z" if lanes else ""
    return element("path", opacity=".12", d=shades) + element("path", d=lines + above)


def _flags(annotations: list[Annotation], frame: Frame, top: float, theme: Theme) -> list[str]:
    """Write the names at their times; instead of several that are too close, how many they are."""
    starts = np.minimum(frame.x(np.array([each.start for each in annotations])), frame.right - _NEAR)
    flags: list[tuple[float, list[str]]] = []
    for at in np.argsort(starts, kind="stable").tolist():
        if flags and starts[at] - flags[-1][0] < _NEAR:
            flags[-1][1].append(annotations[at].name)
        else:
            flags.append((float(starts[at]), [annotations[at].name]))
    nexts = [x for x, _ in flags[1:]] + [frame.right + _BETWEEN]
    parts = []
    for (x, names), after in zip(flags, nexts, strict=True):
        room, text = after - x - _BETWEEN - 6, ", ".join(names)
        if len(names) > 1 and width_of(text, NAME_SIZE) > room:
            text = f"{len(names)}"
        text = cut(text, room, NAME_SIZE)
        wide = width_of(text, NAME_SIZE) + 6
        box = f"V{top:.2f}H{x:.2f}z"
        start = f"M{x:.2f} {top - FLAGS + 1:.2f}"
        # Viewers show the title at the pointer.
        parts.append(
            element(
                "g",
                element("title", text=", ".join(names)),
                element("path", fill=theme.note, fill_opacity=".2", d=f"{start}h{wide:.2f}{box}"),
                element("path", fill=theme.note, d=f"{start}h1.5{box}"),
                element("text", text=text, x=x + 4, y=top - 3),
            )
        )
    return parts
