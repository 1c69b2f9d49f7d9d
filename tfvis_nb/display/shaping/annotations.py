"""A trace's annotations, converted between the front end's form and that of `tfvis_nb.core.annotations`.

The front end (``Annotation`` in ``js/model/annotations.ts``) has times in nanoseconds from the earliest drawn
start, lanes by index, and events by id.
"""

from typing import Any

import pandas as pd

from tfvis_nb.analysis.events.lane_order import LaneOrder, order_lanes
from tfvis_nb.core import annotations
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.shaping.gap_compression import moved_time
from tfvis_nb.display.shaping.selection import are_lanes, is_drawn_time
from tfvis_nb.display.wire.header import MOST_LANES, origin_ns
from tfvis_nb.texts import Text

Annotation = dict[str, Any]
_PLACE = ("task", "device", "lane")
_KEYS = {"id", "kind", "start", "end", "lanes", "event", "event_name", "name", "text"}


def drawn_annotations(trace: Trace, shown: Trace, lanes: LaneOrder | None = None) -> list[Annotation]:
    """Return the annotations of a trace for the front end; `shown` has its events at their drawn times."""
    table = trace.annotations
    if not len(table):
        return []
    lanes = order_lanes(trace.events, at_most=MOST_LANES) if lanes is None else lanes
    origin = origin_ns(shown.events)
    numbers = {place: number for number, place in enumerate(_places(lanes))}
    drawn = []
    for row in annotations.to_json(table):
        ends = [moved_time(trace, shown, row[name]) - origin for name in ("start_ns", "end_ns")]
        drawn.append(
            {name: row[name] for name in ("id", "kind", "event", "event_name", "name", "text")}
            | {"start": ends[0], "end": ends[1]}
            | {"lanes": [numbers[tuple(lane)] for lane in row["lanes"]] or None}
        )
    return drawn


def recorded_annotations(values: Any, trace: Trace, shown: Trace, lanes: LaneOrder) -> pd.DataFrame:
    """Return annotations from the front end; ValueError if they do not fit the trace."""
    places = _places(lanes)
    origin = origin_ns(shown.events)
    rows = []
    for row, value in enumerate(values):
        _check(value, row, len(places))
        rest = {name: value[name] for name in ("id", "name", "text")}
        if value["event"] is not None:
            rows.append({**rest, "event": value["event"]})
            continue
        start, end = (moved_time(shown, trace, origin + round(value[name])) for name in ("start", "end"))
        chosen = [places[number] for number in value["lanes"] or ()]
        times = {"start_ns": start, "end_ns": end, "lanes": chosen}
        rows.append({**rest, **times, "kind": value["kind"], "event_name": value["event_name"]})
    return annotations.build(rows, trace.events)


def _check(value: Any, row: int, lanes: int) -> None:
    """Raise ValueError unless a value of the front end has the form of an annotation."""
    if not isinstance(value, dict) or value.keys() != _KEYS:
        raise ValueError(Text("annotation_no_mapping", row=row, value=value))
    for name in ("start", "end"):
        if not is_drawn_time(value[name]):
            raise ValueError(Text("annotation_number", row=row, column=f"{name}_ns", value=value[name]))
    if value["lanes"] is not None and not are_lanes(value["lanes"], lanes):
        raise ValueError(Text("annotation_lanes", row=row, lanes=value["lanes"]))


def _places(lanes: LaneOrder) -> list[tuple[str, ...]]:
    return list(lanes.table[[*_PLACE]].astype(str).itertuples(index=False, name=None))
