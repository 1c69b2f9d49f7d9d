"""The layout of lanes and rows in a picture."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.events.row_packing import pack_rows
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.labels import device_location, lane_name, matches_lane, printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.pictures.lettering import FONT_SIZE
from tfvis_nb.texts import Text

ROW = 10.0
"""Distance between rows of bars, in CSS pixels."""
HEADING = 15.0
"""Height of the heading with the device above its lanes, in CSS pixels."""
_TALLEST_LANE = 6 * ROW
"""Lanes with more rows than fit have thinner rows."""
_BETWEEN = 3.0
_LINE = 1.2
"""Height of a line of text in font sizes."""
_LOWEST_ROW = 0.2
MOST_LANES = 80


@dataclass(frozen=True)
class Lane:
    """A lane in the picture: its task, device and name, top, and rows of `pitch` CSS pixels each."""

    place: tuple[str, ...]
    label: str
    top: float
    rows: int
    pitch: float


@dataclass(frozen=True)
class Layout:
    """Positions of everything below the ruler, in CSS pixels from its lower edge.

    `events` are the drawn rows of ``trace.events``, `top` and `pitch` those of each event's row. `hidden`
    counts the lanes without room.
    """

    lanes: list[Lane]
    headings: list[tuple[str, float]]
    events: np.ndarray
    track: np.ndarray
    top: np.ndarray
    pitch: np.ndarray
    height: float
    hidden: int

    @property
    def name_size(self) -> float:
        """The font size in CSS pixels with which names of lanes next to each other do not touch."""
        nearest = min((lane.rows * lane.pitch for lane in self.lanes), default=ROW) + _BETWEEN
        return min(FONT_SIZE, nearest / _LINE)


def layout(trace: Trace, lanes: str, ends: tuple[int, int], height: float | None) -> Layout:
    """Place the lanes with events in a range (epoch ns) whose names contain all words of `lanes`.

    ValueError if there is none, or `height` is too low for them.
    """
    events = trace.events
    order = order_lanes(events)
    names = order.table[["task", "device", "lane"]].to_numpy().tolist()
    words = lanes.lower().split()
    wanted = np.array([matches_lane(name, words) for name in names], bool)
    if len(names) and not wanted.any():
        raise ValueError(Text("no_lane_has", words=lanes, lanes=len(names)))
    rows = order.rows
    start, duration = (events[name].to_numpy(np.int64)[rows] for name in ("start_ns", "duration_ns"))
    row = pack_rows(start, duration, order.table["events"].to_numpy())
    lane = order.of_event[rows]
    inside = wanted[lane] & is_inside(start, duration, *ends)
    shown = np.unique(lane[inside])
    hidden = max(len(shown) - MOST_LANES, 0)
    shown = shown[:MOST_LANES]
    inside &= np.isin(lane, shown)
    counts = [int(row[inside & (lane == one)].max()) + 1 for one in shown.tolist()]
    made = _placed(order.table.iloc[shown], counts, height)
    place = np.searchsorted(shown, lane[inside])
    pitch = np.array([one.pitch for one in made[0]])[place] if len(shown) else np.zeros(0)
    top = np.array([one.top for one in made[0]])[place] + pitch * row[inside] if len(shown) else np.zeros(0)
    first = np.concatenate([[0], np.cumsum(counts)])
    track = (first[place] + row[inside]).astype(np.int64)
    return Layout(made[0], made[1], rows[inside], track, top, pitch, made[2], hidden)


def _placed(
    table: pd.DataFrame, counts: list[int], height: float | None
) -> tuple[list[Lane], list[tuple[str, float]], float]:
    """Return lanes, headings and the total height, scaled to `height` if given."""
    devices = table["device"].where(table["device"] != "", table["task"]).tolist()
    headings = [at for at in range(len(devices)) if at == 0 or devices[at] != devices[at - 1]]
    natural = [min(count * ROW, _TALLEST_LANE) for count in counts]
    fixed = len(headings) * HEADING + len(counts) * _BETWEEN
    scale = 1.0 if height is None else (height - fixed) / max(sum(natural), 1)
    if any(size * scale / count < _LOWEST_ROW for size, count in zip(natural, counts, strict=True)):
        raise ValueError(Text("picture_too_low", lanes=len(counts)))
    lanes, named, top = [], [], 0.0
    for at, (size, count) in enumerate(zip(natural, counts, strict=True)):
        if at in headings:
            named.append((printable(device_location(devices[at]) or "no device", 80), top))
            top += HEADING
        place = tuple(map(str, table[["task", "device", "lane"]].iloc[at]))
        lanes.append(Lane(place, printable(lane_name(place[2]), 80), top, count, size * scale / count))
        top += size * scale + _BETWEEN
    return lanes, named, top
