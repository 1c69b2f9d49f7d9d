"""The layout of the events of all parts: lanes of the whole timeline, rows, steps and times.

Events are numbered part by part. A task may have several parts, one after the other; if two of them overlap
in time, the rows of the later one are below those of the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.display.wire.header import MOST_LANES
from tfvis_nb.fleet.timeline.part import DatasetPart
from tfvis_nb.texts import Text

_PLACES = ["task", "device", "lane"]


@dataclass(frozen=True)
class DatasetLayout:
    """Maps numbers of parts to those of the whole timeline."""

    lanes: pd.DataFrame  # task, device, lane, kind, events, rows, busy (ns); the lanes of devices come last
    devices: int  # The number of lanes of devices
    # For each part, by number: the slot of row 0 of its lanes, and the whole timeline's lane of each of its
    # lanes
    first_slot: list[np.ndarray]
    lane_of: list[np.ndarray]
    slot_lane: np.ndarray
    slot_row: np.ndarray
    first_event: np.ndarray  # The first event of each part, one longer than the parts
    origin: int  # The origin of times in epoch nanoseconds
    span: int
    steps: pd.DataFrame  # step, start, end (ns from the origin), events, label


def places_of(parts: Sequence[DatasetPart], steps: frozenset[int] | None) -> DatasetLayout:
    """Lay out parts, with only the given steps; ValueError if that is more than can be shown."""
    lanes = _lane_table(parts, "lanes", steps)
    devices = _lane_table(parts, "devices", steps).assign(lane="", rows=1)
    if not len(lanes):
        raise ValueError(Text("dataset_without_events"))
    coded = lanes[[*_PLACES, "kind"]].astype("category")
    order = order_lanes(coded)
    lanes["whole"] = order.of_event
    place, _ = number_rows(devices["task"], devices["device"])
    devices["whole"] = place + len(order.table)
    every = pd.concat([lanes, devices], ignore_index=True)
    if every["whole"].max() >= MOST_LANES:
        tasks = every["task"].nunique()
        raise ValueError(
            Text("dataset_lanes", lanes=int(every["whole"].max()) + 1, tasks=tasks, at_most=MOST_LANES)
        )
    bands = _bands(parts)
    every["band"] = bands[every["part"]]
    # Each band of a lane has as many rows as its largest part needs.
    rows = every.groupby(["whole", "band"])["rows"].max()
    above = rows.groupby(level=0).cumsum() - rows
    lane_rows = rows.groupby(level=0).sum().to_numpy()
    head = np.cumsum(lane_rows) - lane_rows
    within = above.loc[pd.MultiIndex.from_frame(every[["whole", "band"]])].to_numpy()
    every["slot"] = head[every["whole"]] + within
    sums = every.groupby("whole").agg(
        task=("task", "first"),
        device=("device", "first"),
        lane=("lane", "first"),
        kind=("kind", "first"),
        events=("events", "sum"),
        busy=("busy", "sum"),
    )
    own = [part for _, part in every.groupby("part", sort=True)]
    events = np.array([part.described["events"] for part in parts])
    origin, span, table = _times(parts, steps)
    return DatasetLayout(
        lanes=sums.assign(rows=lane_rows),
        devices=int(place.max()) + 1,
        first_slot=[part["slot"].to_numpy() for part in own],
        lane_of=[part["whole"].to_numpy() for part in own],
        slot_lane=np.repeat(np.arange(len(lane_rows)), lane_rows),
        slot_row=np.arange(lane_rows.sum()) - np.repeat(head, lane_rows),
        first_event=np.concatenate([[0], np.cumsum(events)]),
        origin=origin,
        span=span,
        steps=table,
    )


def _lane_table(parts: Sequence[DatasetPart], of: str, steps: frozenset[int] | None) -> pd.DataFrame:
    columns = ["task", "device", "kind", "events", "busy", *(["lane", "rows"] if of == "lanes" else [])]
    rows = []
    for number, part in enumerate(parts):
        figures = None if steps is None else part.figures_of(steps)
        for at, each in enumerate(part.described[of], start=0 if of == "lanes" else len(part.lanes)):
            own = {} if figures is None else dict(zip(("events", "busy"), figures[at].tolist(), strict=True))
            rows.append({"part": number, "task": part.task, **each, **own})
    return pd.DataFrame(rows, columns=["part", *columns])


def _bands(parts: Sequence[DatasetPart]) -> np.ndarray:
    """Number the parts of each task so that parts with the same number do not overlap in time."""
    bands = np.zeros(len(parts), "i8")
    free: dict[str, list[int]] = {}
    for number in sorted(range(len(parts)), key=lambda each: int(parts[each].described["start"])):
        described = parts[number].described
        ends = free.setdefault(parts[number].task, [])
        band = next((at for at, end in enumerate(ends) if end <= described["start"]), len(ends))
        if band == len(ends):
            ends.append(0)
        # Events without length occupy one nanosecond.
        ends[band] = described["end"] + 1
        bands[number] = band
    return bands


def _times(parts: Sequence[DatasetPart], steps: frozenset[int] | None) -> tuple[int, int, pd.DataFrame]:
    """Return the origin, the length in nanoseconds, and the steps."""
    every: list[dict[str, Any]] = [each for part in parts for each in part.described["steps"]]
    table = pd.DataFrame(every, columns=["step", "start", "end", "first", "last", "events", "label"])
    if steps is not None:
        # Without the steps before it, a step starts with its first event, which older parts lack.
        table = table[table["step"].isin(steps)]
        table["start"], table["end"] = (
            table["first"].fillna(table["start"]),
            table["last"].fillna(table["end"]),
        )
        table = table.astype({"start": "int64", "end": "int64"})
    if table.empty:
        raise ValueError(Text("dataset_without_events"))
    origin = int(table["start"].min())
    times = table.groupby("step").agg(
        start=("start", "min"), end=("end", "max"), events=("events", "sum"), label=("label", "first")
    )
    times[["start", "end"]] -= origin
    return origin, int(times["end"].max()), times.reset_index()
