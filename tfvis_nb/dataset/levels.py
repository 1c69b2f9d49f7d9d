"""A part of a dataset for drawing: bars merged in advance, from coarse to fine.

A row of the table ``levels`` is a bar that represents neighbours in one row of a lane, merged in buckets of
``2 ** level`` nanoseconds. Lanes are numbered in the order of `order_lanes`. After them, each device has a
lane whose single row shows when anything ran on it. If the device runs kernels, copies or collectives, only
these count, because records of the host or a profiler last longer. The bars of device lanes come first, then
those of the other lanes. Both are ordered by level, the coarsest first, then by lane, row and start, so that
Parquet's statistics find those of given lanes and times.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.events.bar_categories import categorise
from tfvis_nb.analysis.events.lane_order import LaneOrder, order_lanes
from tfvis_nb.analysis.events.merging import merge_neighbours, pieces
from tfvis_nb.analysis.events.row_packing import pack_rows
from tfvis_nb.analysis.events.waits import waits
from tfvis_nb.core.trace import Trace

KEY = b"tfvis_nb.part"
"""The key in the schema of ``levels`` for the description of its part, as JSON."""

FOLDER = "levels"
"""The folder of these parts in their dataset."""
ROW_GROUP = 1 << 16
"""Rows of a row group of events, the least that a search by time reads."""
LEVEL_ROW_GROUP = 1 << 14
"""Rows of a row group of bars, the least that is read of a part to draw it as one line."""
SHIFTS = range(10, 40, 2)
"""Possible levels of a part: the coarsest, and those with at most half as many bars as events."""
DEVICE_WORK = ("kernel", "memcpy", "memset", "transfer", "collective")
"""Kinds of events that determine whether a device is busy, if it has any."""

_NUMBERS = ("start_ns", "end_ns", "busy_ns", "begin_ns", "duration_ns", "event")

Bars = dict[str, np.ndarray]


def rows_of(events: pd.DataFrame) -> np.ndarray:
    """Return the row of each event in its lane, 0 on top, from `pack_rows`; int32."""
    return _rows(events, order_lanes(events))


def level_table(trace: Trace, events: np.ndarray, steps: np.ndarray) -> pa.Table:
    """Return the bars of all levels of one part, with its description in the schema's metadata.

    `events` are the ids of the part's events, in order, and `steps` the number of the step of each.
    """
    table = trace.events.take(events)
    lanes = order_lanes(table)
    bars = _single_bars(table, lanes, steps) | {"wait_ns": waits(trace)[events]}
    devices = _devices(lanes)
    sums = _device_bars(lanes, bars, devices)
    order = np.lexsort((bars["start_ns"], bars["row"], bars["lane"]))
    singles = [{name: column[order] for name, column in bars.items()}, sums]
    parts: tuple[list[Bars], list[Bars]] = ([], [])
    held: dict[str, list[int]] = {}
    for shift in reversed(SHIFTS):
        merged = [merged_bars(each, ["lane", "row"], shift) for each in singles]
        used = [
            shift == SHIFTS[-1] or 2 * len(many["start_ns"]) <= len(one["start_ns"])
            for many, one in zip(merged, singles, strict=True)
        ]
        held[str(shift)] = [
            len(each["start_ns"]) if use else -1 for each, use in zip(merged, used, strict=True)
        ]
        for own, each, use in zip(parts, merged, used, strict=True):
            if use:
                own.append({"level": np.full(len(each["start_ns"]), shift, "u1"), **each})
    every = [*parts[1], *parts[0]]
    columns = {name: np.concatenate([part[name] for part in every]) for name in _COLUMNS}
    written = pa.table(
        {name: pa.array(columns[name].astype(dtype)) for name, dtype in _COLUMNS.items()}
        | {text: _texts(table[text], columns["event"]) for text in ("name", "op")}
    )
    labels = {
        int(steps[at]): trace.step_labels.get(int(recorded), "") for recorded, at in _firsts(table["step"])
    }
    described = _described(table, lanes, bars, devices, sums) | {"levels": held}
    described["steps"] = [{**step, "label": labels[step["step"]]} for step in described["steps"]]
    return written.replace_schema_metadata({KEY: json.dumps(described, separators=(",", ":")).encode()})


def _firsts(steps: pd.Series) -> Iterator[tuple[int, int]]:
    """Yield each step that occurs, and where first."""
    yield from zip(*np.unique(steps.to_numpy(), return_index=True), strict=True)


def write(table: pa.Table, file: Path) -> None:
    """Write the bars of a part, with times as differences, which halves the size and the reading time."""
    import pyarrow.parquet as pq

    lanes = len(json.loads(table.schema.metadata[KEY])["lanes"])
    of_device = pc.greater_equal(table["lane"], lanes)
    texts = [name for name in table.column_names if name not in _NUMBERS]
    encodings = dict.fromkeys(_NUMBERS, "DELTA_BINARY_PACKED")
    with pq.ParquetWriter(
        file, table.schema, compression="zstd", use_dictionary=texts, column_encoding=encodings
    ) as writer:
        # No row group has bars of both, so the bars drawn first are in the first one.
        for bars in (table.filter(of_device), table.filter(pc.invert(of_device))):
            writer.write_table(bars, row_group_size=LEVEL_ROW_GROUP)


def merged_bars(bars: Bars, slot: list[str], shift: int) -> Bars:
    """Merge neighbouring bars, which are ordered by the columns of their `slot` and by start."""
    start, end = bars["start_ns"], bars["end_ns"]
    slots = np.zeros(len(start), "i8")
    for name in slot:
        slots = (slots << 20) + bars[name]
    merged = merge_neighbours(slots, start, end - start, bars["duration_ns"], shift)
    heads, longest = merged.heads, merged.longest
    if not len(heads):
        return bars
    last = heads + merged.count - 1
    return {
        **{name: column[longest] for name, column in bars.items()},
        "start_ns": start[heads],
        "end_ns": end[last],
        "busy_ns": np.add.reduceat(bars["busy_ns"], heads),
        "count": np.add.reduceat(bars["count"], heads),
    }


_COLUMNS = {
    "level": "u1",
    "lane": "u2",
    "row": "u4",
    "start_ns": "i8",
    "end_ns": "i8",
    "busy_ns": "i8",
    "count": "u4",
    # Number in the part, and drawn data, of the longest merged event.
    "event": "u4",
    "begin_ns": "i8",
    "duration_ns": "i8",
    "step": "i4",
    "category": "u1",
    "wait_ns": "i8",
}


def _rows(events: pd.DataFrame, lanes: LaneOrder) -> np.ndarray:
    order = lanes.rows
    start, duration = (events[name].to_numpy()[order] for name in ("start_ns", "duration_ns"))
    rows = np.empty(len(order), "i4")
    rows[order] = pack_rows(start, duration, np.bincount(lanes.of_event, minlength=len(lanes.table)))
    return rows


def _single_bars(events: pd.DataFrame, lanes: LaneOrder, steps: np.ndarray) -> Bars:
    """Make a bar from each event, in order."""
    start, duration = (events[name].to_numpy() for name in ("start_ns", "duration_ns"))
    return {
        "lane": lanes.of_event.astype("i8"),
        "row": _rows(events, lanes).astype("i8"),
        "start_ns": start,
        "end_ns": start + duration,
        "busy_ns": duration,
        "count": np.ones(len(start), "i8"),
        "event": np.arange(len(start)),
        "begin_ns": start,
        "duration_ns": duration,
        "step": steps,
        "category": categorise(events),
    }


def _devices(lanes: LaneOrder) -> pd.DataFrame:
    """Return the devices in the order of their lanes, with the kind and the counted lanes of each."""
    table = lanes.table.assign(number=np.arange(len(lanes.table)))
    found = []
    for device, own in table.groupby("device", sort=False):
        work = own[own["kind"].isin(DEVICE_WORK)]
        members = own if work.empty else work
        kind = str(members["kind"].iloc[int(members["events"].to_numpy().argmax())])
        found.append((device, kind, members["number"].tolist(), int(members["events"].sum())))
    return pd.DataFrame(found, columns=["device", "kind", "members", "events"])


def _device_bars(lanes: LaneOrder, bars: Bars, devices: pd.DataFrame) -> Bars:
    """Make the pieces of all devices, each a bar, ordered by device."""
    device_of = np.full(len(lanes.table), -1)
    for device, members in enumerate(devices["members"]):
        device_of[members] = device
    of_event = device_of[lanes.of_event]
    parts = []
    for device in range(len(devices)):
        chosen = np.flatnonzero(of_event == device)
        parts.append(
            device_bars({name: column[chosen] for name, column in bars.items()}, len(lanes.table) + device)
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in bars}


def device_bars(bars: Bars, lane: int) -> Bars:
    """Make the single row of a device lane from bars of single events, ordered by start."""
    has, until = pieces(bars["start_ns"], bars["end_ns"])
    chosen = {name: column[has] for name, column in bars.items()}
    length = until - chosen["start_ns"]
    changed = {
        "lane": np.full(len(has), lane),
        "row": np.zeros(len(has), "i8"),
        "end_ns": until,
        "busy_ns": length,
        "duration_ns": length,
        "wait_ns": np.zeros(len(has), "i8"),
    }
    return {**chosen, **changed}


def _texts(column: pd.Series, events: np.ndarray) -> pa.DictionaryArray:
    """Return the texts of some events."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()[events].astype("i4")
        texts = pa.array(list(map(str, column.cat.categories)), pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
    texts = pa.array(column.take(events), pa.string(), from_pandas=True)
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    return texts.dictionary_encode()


def _described(
    events: pd.DataFrame, lanes: LaneOrder, bars: Bars, devices: pd.DataFrame, sums: Bars
) -> dict[str, Any]:
    start, end = bars["start_ns"], bars["end_ns"]
    heads = np.arange(0, len(start), ROW_GROUP)
    count = len(lanes.table)
    device_busy = np.bincount(sums["lane"] - count, sums["busy_ns"], len(devices)).astype("i8")
    rows = np.zeros(count, "i8")
    np.maximum.at(rows, lanes.of_event, bars["row"] + 1)
    table = lanes.table.assign(rows=rows, busy=_lane_busy(lanes, start, end))
    steps = pd.DataFrame({"step": bars["step"], "start": start, "end": end}).groupby("step")
    grouped = steps.agg(start=("start", "min"), end=("end", "max"), events=("start", "size"))
    return {
        "events": len(events),
        "start": int(start.min()),
        "end": int(end.max()),
        "lanes": table[["device", "lane", "kind", "events", "rows", "busy"]].to_dict("records"),
        "devices": devices.assign(busy=device_busy).to_dict("records"),
        "steps": grouped.reset_index().to_dict("records"),
        "ops": sorted({"", *map(str, events["op"].cat.remove_unused_categories().cat.categories)}),
        # The latest end in each row group of ``events``, because long events extend into the times of later
        # ones.
        "ends": np.maximum.reduceat(end, heads).tolist(),
    }


def _lane_busy(lanes: LaneOrder, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return how long anything ran in each lane, in nanoseconds."""
    busy = np.zeros(len(lanes.table), "i8")
    order = lanes.rows
    bounds = np.cumsum(np.bincount(lanes.of_event, minlength=len(busy)))
    for lane, own in enumerate(np.split(order, bounds[:-1])):
        has, until = pieces(start[own], end[own])
        busy[lane] = (until - start[own][has]).sum()
    return busy
