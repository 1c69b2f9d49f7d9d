"""A still picture of a trace: one strip of activity per lane, as SVG without script."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import ACTIVITIES
from tfvis_nb.analysis.events.bar_categories import drawn_activity
from tfvis_nb.analysis.events.lane_order import LaneOrder, order_lanes
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.labels import lane_label, printable
from tfvis_nb.core.markup import element
from tfvis_nb.core.palette import COLOURS
from tfvis_nb.core.prediction import is_predicted
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.pictures.themes import NOTE
from tfvis_nb.display.wire.header import origin_ns

LABELS, FOOT = 200, 22
"""Width of the labels to the left, and height of the line at the bottom."""
_WIDTH, _ROW, _LEVELS = 760, 16, 13
_MOST_LANES = 24
_MOST_BYTES = 10_000
_MOST_LETTERS = 34
MOST_ANNOTATIONS = 30
_NUMBERS = 12


def picture(trace: Trace, *, annotated: bool = True) -> str:
    """Draw the busy times of at most 24 lanes as an SVG of about 10 kB, coarser with more lanes."""
    lanes = order_lanes(trace.events)
    shown = min(len(lanes.table), _MOST_LANES)
    colours = _lane_colours(trace, lanes)
    bins = _WIDTH - LABELS
    while True:
        levels = _levels(trace, lanes, shown, bins)
        strips = "".join(_strip(levels[lane], lane, colours[lane]) for lane in range(shown))
        if len(strips) <= _MOST_BYTES or bins <= 16:
            break
        bins //= 2
    notes = _annotations(trace, shown) if annotated else ""
    labels = "".join(_label(lanes, lane) for lane in range(shown))
    hidden = len(lanes.table) - shown
    height = _ROW * shown + FOOT + (_NUMBERS if notes else 0)
    events = trace.events
    span = int((events["start_ns"] + events["duration_ns"]).max()) - origin_ns(events) if len(events) else 0
    foot = f"0 to {format_duration(span)}{', predicted' if is_predicted(trace) else ''}" + (
        f"; {hidden} more lanes are not drawn" if hidden else ""
    )
    size = {"width": _WIDTH, "height": height}
    return element(
        "svg",
        element("rect", **size, fill="#fff"),
        *(labels, strips, notes),
        element("text", text=foot, x=LABELS, y=height - 6, fill="#6b7280"),
        xmlns="http://www.w3.org/2000/svg",
        **size,
        viewBox=f"0 0 {_WIDTH} {height}",
        font_family="sans-serif",
        font_size=11,
        fill="#1f2430",
    )


def _levels(trace: Trace, lanes: LaneOrder, shown: int, bins: int) -> np.ndarray:
    """Return the busy level (0 to `_LEVELS`) of the first `shown` lanes in `bins` parts of the trace."""
    events = trace.events
    start = (events["start_ns"].to_numpy() - origin_ns(events)).astype("f8")
    end = start + events["duration_ns"].to_numpy()
    part = max(float(end.max()) if len(end) else 0.0, 1.0) / bins
    drawn = lanes.of_event < shown
    lane, start, end = (column[drawn] for column in (lanes.of_event, start, end))
    start, end = _uncovered(lane, start, end)
    first, last = (np.minimum((edge / part).astype("i8"), bins - 1) for edge in (start, end))
    busy = np.zeros((shown, bins + 1))
    # Whole parts between the first and the last are added as steps up and down, accumulated below.
    steps = np.zeros((shown, bins + 1))
    inner = last > first
    np.add.at(busy, (lane, first), np.where(inner, (first + 1) * part, end) - start)
    np.add.at(busy, (lane[inner], last[inner]), (end - last * part)[inner])
    np.add.at(steps, (lane[inner], first[inner] + 1), part)
    np.add.at(steps, (lane[inner], last[inner]), -part)
    share = (busy + np.cumsum(steps, axis=1))[:, :bins] / part
    level = np.rint(np.clip(share, 0, 1) * _LEVELS).astype("i8")
    # Every event is visible, no matter how short.
    np.maximum.at(level, (lane, first), 1)
    return level


def _uncovered(lane: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Remove from each event the time covered by earlier events of its lane; events are ordered by start."""
    reached = pd.Series(end).groupby(lane).cummax()
    before = reached.groupby(lane).shift(fill_value=0.0).to_numpy()
    return np.maximum(start, np.minimum(before, end)), end


def _strip(levels: np.ndarray, lane: int, colour: str) -> str:
    """Return one filled path for the runs of equal level."""
    width = (_WIDTH - LABELS) / len(levels)
    ends = np.flatnonzero(np.diff(levels, append=-1)) + 1
    base = _ROW * (lane + 1) - 1
    pieces = []
    start = 0
    for end in ends.tolist():
        if levels[start]:
            high = round((_ROW - 3) * int(levels[start]) / _LEVELS)
            pieces.append(f"M{LABELS + start * width:g} {base}v-{high}h{(end - start) * width:g}v{high}")
        start = end
    return element("path", fill=colour, d="".join(pieces))


def _annotations(trace: Trace, shown: int) -> str:
    """Draw lines at the starts of annotations, numbered as in their list, and shades over ranges."""
    table = trace.annotations.head(MOST_ANNOTATIONS)
    if not len(table):
        return ""
    origin = origin_ns(trace.events)
    span = max(int((trace.events["start_ns"] + trace.events["duration_ns"]).max()) - origin, 1)
    pieces = []
    for number, (start, end) in enumerate(zip(table["start_ns"], table["end_ns"], strict=True), 1):
        ends = (min(max(int(time) - origin, 0), span) for time in (start, end))
        x, right = (LABELS + round(time * (_WIDTH - LABELS) / span, 1) for time in ends)
        wide, high = max(right - x, 1), _ROW * shown + 2
        pieces += [
            element("rect", x=x, width=wide, height=high, fill=NOTE, fill_opacity=".15"),
            element("rect", x=x, width=1, height=high, fill=NOTE),
            element("text", text=number, x=min(x + 3, _WIDTH - 14), y=high + 10, fill=NOTE),
        ]
    return "".join(pieces)


def _label(lanes: LaneOrder, lane: int) -> str:
    row = lanes.table.iloc[lane]
    text = lane_label(row["task"], row["device"], row["lane"])
    return element("text", text=printable(text, _MOST_LETTERS), x=4, y=_ROW * (lane + 1) - 4)


def _lane_colours(trace: Trace, lanes: LaneOrder) -> list[str]:
    """Return the colour of the activity with the most time in each lane."""
    time = np.zeros((len(lanes.table), len(ACTIVITIES)))
    np.add.at(time, (lanes.of_event, drawn_activity(trace)), trace.events["duration_ns"].to_numpy() + 1)
    return [COLOURS[ACTIVITIES[number]] for number in time.argmax(axis=1)]
