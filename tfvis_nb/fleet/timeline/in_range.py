"""The events of all parts in a time range."""

from collections.abc import Sequence

import numpy as np

from tfvis_nb.analysis.events.nesting import nesting_lanes
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.display.store.totals import Spans, lane_labels, wraps_and_calls
from tfvis_nb.fleet.timeline.part import DatasetPart
from tfvis_nb.fleet.timeline.places import DatasetLayout
from tfvis_nb.fleet.timeline.row_groups import Columns, Shared
from tfvis_nb.texts import Text

MOST_COUNTED = 10_000_000
"""Maximum events that are read to sum up a range, which takes about 100 bytes of memory for each."""


def rows_in_range(
    parts: Sequence[DatasetPart],
    places: DatasetLayout,
    ends: tuple[float, float],
    lanes: Sequence[int] | None,
    steps: Sequence[int] | None,
) -> list[tuple[int, Columns]]:
    """Return the rows that overlap a range (ns from the origin), with the number of their part.

    ValueError, before anything is read, if there could be more than `MOST_COUNTED`.
    """
    start, end = (int(time) + places.origin for time in (ends[0], np.ceil(ends[1])))
    wanted = []
    for number, part in enumerate(parts):
        own = places.lane_of[number][: len(part.lanes)]
        held = np.ones(len(own), "?") if lanes is None else np.isin(own, lanes)
        if held.any():
            wanted += [(number, group, held) for group in part.event_groups(start, end).tolist()]
    read = sum(parts[number].rows_in(np.array([group]), level=False) for number, group, _ in wanted)
    if read > MOST_COUNTED:
        raise ValueError(Text("range_too_large", events=read, most=MOST_COUNTED))
    in_range = []
    for number, group, held in wanted:
        rows = parts[number].drawn(group)
        columns = rows.columns
        inside = is_inside(columns["start_ns"] - places.origin, columns["duration_ns"], *ends)
        inside &= held[columns["lane"]]
        if steps is not None:
            inside &= np.isin(columns["step"], steps)
        in_range.append((number, rows.pick(inside)))
    return in_range


def spans_in_range(
    parts: Sequence[DatasetPart],
    places: DatasetLayout,
    ends: tuple[float, float],
    lanes: Sequence[int] | None,
    steps: Sequence[int] | None,
    by: str,
    shared: Shared,
) -> tuple[Spans, list[str]]:
    """Return the events that overlap a range, and the labels of `by`: ops, lanes, or names."""
    in_range = rows_in_range(parts, places, ends, lanes, steps)
    by = by if by in ("op", "lane") else "name"
    columns = {
        name: np.concatenate([each[name] for _, each in in_range]) if in_range else np.zeros(0, "i8")
        for name in ("start_ns", "duration_ns", "op", "name", "category")
    }
    columns["lane"] = np.concatenate(
        [np.zeros(0, "i8"), *(places.lane_of[number][each["lane"]] for number, each in in_range)]
    ).astype("i8")
    lanes_of = places.lanes.iloc[: len(places.lanes) - places.devices]
    labels = lane_labels(lanes_of) if by == "lane" else (shared.ops if by == "op" else shared.names).all()
    event = [places.first_event[number] + each["event"].astype("i8") for number, each in in_range]
    order = np.argsort(columns["start_ns"], kind="stable")
    spans = Spans(
        start=columns["start_ns"][order] - places.origin,
        duration=columns["duration_ns"][order],
        event=(np.concatenate(event) if event else np.zeros(0, "i8"))[order],
        label=columns[by][order].astype("i8"),
        category=columns["category"][order],
        lane=columns["lane"][order],
        nests=nesting_lanes(lanes_of)[columns["lane"]][order],
        **wraps_and_calls(shared.ops.all(), columns["op"][order].astype("i8")),
    )
    return spans, labels
