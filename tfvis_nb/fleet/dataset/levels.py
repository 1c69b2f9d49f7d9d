"""A part of a dataset for drawing: bars merged in advance, from coarse to fine.

A row of the table ``levels`` is a bar that represents neighbours in one row of a lane, merged in buckets of
``2 ** level`` nanoseconds. Events of different steps are not merged. Lanes are numbered in the order of
`order_lanes`. After them, each device has a lane whose single row shows when anything ran on it. If the
device runs kernels, copies or collectives, only these count, because records of the host or a profiler last
longer. If steps overlap on a device, bars of its lane are merged across steps, and a further lane, numbered
after all of these, shows when each step ran there.
The bars of device lanes come first, then those of the other lanes. Both are ordered by level, the coarsest
first, then by lane, row and start, so that the bounds of row groups find those of given lanes and times.

The description has these bounds. Parquet's own statistics are not used: `RowGroupMetaData.column` of
pyarrow 26 aborts the process if they do not fit their column.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.communication.waits import waits
from tfvis_nb.analysis.events.bar_categories import categories
from tfvis_nb.analysis.events.lane_order import LaneOrder, order_lanes
from tfvis_nb.analysis.events.merging import merge_neighbours, pieces
from tfvis_nb.analysis.events.row_packing import pack_rows
from tfvis_nb.core.step_spans import within_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import DEVICE, NETWORK

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
DEVICE_WORK = (*DEVICE, *NETWORK)
"""Kinds of events that determine whether a device is busy, if it has any."""

_NUMBERS = ("start_ns", "end_ns", "busy_ns", "begin_ns", "duration_ns", "event")

_PIECE = ("start_ns", "end_ns", "step")

BAR_BOUNDS = ("level_low", "level_high", "lane_low", "lane_high", "start_ns_low", "end_ns_high")
EVENT_BOUNDS = ("start_ns_low", "end_ns_high")
"""Bounds of row groups: the least (``low``) or greatest (``high``) value of a column.

Ends have some of their own, because long events extend into the times of later ones.
"""

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
    bars = _single_bars(table, lanes, steps, categories(trace)[events]) | {"wait_ns": waits(trace)[events]}
    devices = _devices(lanes)
    of_devices = _of_devices(lanes, bars, devices)
    sums = _pieces_of(of_devices, ["lane"])
    each_step = _pieces_of(of_devices, ["lane", "step"])
    first = len(lanes.table)
    mixed = [_is_mixed(sums, each_step, first + device) for device in range(len(devices))]
    added = {name: column[np.array(mixed)[each_step["lane"] - first]] for name, column in each_step.items()}
    added["lane"] = added["lane"] + len(devices)
    order = np.lexsort((bars["start_ns"], bars["row"], bars["lane"]))
    # Bars of a device whose steps overlap are merged across steps: there are others for each step.
    slots = np.where(np.array(mixed)[sums["lane"] - first], NO_STEP, sums["step"])
    singles = [{name: column[order] for name, column in bars.items()}, sums, added]
    parts: tuple[list[Bars], ...] = ([], [], [])
    held: dict[str, list[int]] = {}
    for shift in reversed(SHIFTS):
        merged = [
            merged_bars(each, [each["lane"], each["row"], step], shift)
            for each, step in zip(singles, (singles[0]["step"], slots, added["step"]), strict=True)
        ]
        used = [
            shift == SHIFTS[-1] or 2 * len(many["start_ns"]) <= len(one["start_ns"])
            for many, one in zip(merged, singles, strict=True)
        ]
        used[2] &= used[1]
        held[str(shift)] = [
            len(each["start_ns"]) if use else -1 for each, use in zip(merged, used, strict=True)
        ]
        for own, each, use in zip(parts, merged, used, strict=True):
            if use:
                own.append({"level": np.full(len(each["start_ns"]), shift, "u1"), **each})
    every = [*parts[1], *parts[2], *parts[0]]
    columns = {name: np.concatenate([part[name] for part in every]) for name in _COLUMNS}
    written = pa.table(
        {name: pa.array(columns[name].astype(dtype)) for name, dtype in _COLUMNS.items()}
        | {text: _texts(table[text], columns["event"]) for text in ("name", "op")}
    )
    described = _described(table, lanes, bars, devices.assign(mixed=mixed), sums) | {"levels": held}
    # No row group has bars of both, so the bars drawn first are in the first ones.
    others = sum(len(part["lane"]) for part in (*parts[1], *parts[2]))
    heads = [*range(0, others, LEVEL_ROW_GROUP), *range(others, len(written), LEVEL_ROW_GROUP)]
    described["bar_groups"] = _bounds(columns, heads, BAR_BOUNDS)
    figures = _step_figures(bars, of_devices)
    rows = _steps(trace, events, steps).to_dict("records")
    described["steps"] = [{**step, "lanes": figures[step["step"]]} for step in rows]
    return written.replace_schema_metadata({KEY: json.dumps(described, separators=(",", ":")).encode()})


def _steps(trace: Trace, events: np.ndarray, steps: np.ndarray) -> pd.DataFrame:
    """Return the times, number of events and label of each step of a part.

    ``first`` and ``last`` are of all its events, ``start`` and ``end`` of what lies within the step.
    """
    start, end = within_steps(trace)
    own = trace.events.take(events)
    first = own["start_ns"].to_numpy(np.int64)
    table = pd.DataFrame({"step": steps, "recorded": own["step"].to_numpy(), "first": first})
    table = table.assign(
        start=start[events], end=end[events], last=first + own["duration_ns"].to_numpy(np.int64)
    )
    by_step = table.groupby("step").agg(
        start=("start", "min"),
        end=("end", "max"),
        first=("first", "min"),
        last=("last", "max"),
        events=("start", "size"),
        label=("recorded", "first"),
    )
    by_step["label"] = [trace.step_labels.get(step, "") for step in by_step["label"].tolist()]
    return by_step.reset_index()


def write(table: pa.Table, file: Path) -> None:
    """Write the bars of a part, with times as differences, which halves the size and the reading time."""
    import pyarrow.parquet as pq

    heads = [group[0] for group in json.loads(table.schema.metadata[KEY])["bar_groups"]]
    texts = [name for name in table.column_names if name not in _NUMBERS]
    encodings = dict.fromkeys(_NUMBERS, "DELTA_BINARY_PACKED")
    with pq.ParquetWriter(
        file,
        table.schema,
        compression="zstd",
        use_dictionary=texts,
        column_encoding=encodings,
        write_page_checksum=True,
    ) as writer:
        for start, end in pairwise([*heads, len(table)]):
            writer.write_table(table.slice(start, end - start))


def merged_bars(bars: Bars, slot: Sequence[np.ndarray], shift: int) -> Bars:
    """Merge neighbouring bars with the same values in the columns `slot`; bars are ordered row by row."""
    start, end = bars["start_ns"], bars["end_ns"]
    slots = np.cumsum(_changes(slot))
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


def _single_bars(events: pd.DataFrame, lanes: LaneOrder, steps: np.ndarray, category: np.ndarray) -> Bars:
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
        "category": category,
    }


def _devices(lanes: LaneOrder) -> pd.DataFrame:
    """Return the devices in the order of their lanes, with the kind and the counted lanes of each."""
    table = lanes.table.assign(number=np.arange(len(lanes.table)))
    devices = []
    for device, own in table.groupby("device", sort=False):
        work = own[own["kind"].isin(DEVICE_WORK)]
        members = own if work.empty else work
        kind = str(members["kind"].iloc[int(members["events"].to_numpy().argmax())])
        devices.append((device, kind, members["number"].tolist(), int(members["events"].sum())))
    return pd.DataFrame(devices, columns=["device", "kind", "members", "events"])


def _of_devices(lanes: LaneOrder, bars: Bars, devices: pd.DataFrame) -> Bars:
    """Select the bars of single events that count for devices, in the lanes of these."""
    lane_of = np.full(len(lanes.table), -1)
    for device, members in enumerate(devices["members"]):
        lane_of[members] = len(lanes.table) + device
    lane = lane_of[lanes.of_event]
    return {name: column[lane >= 0] for name, column in {**bars, "lane": lane}.items()}


def _changes(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Mark the rows that differ from the row before in any of the columns."""
    changed = np.zeros(len(columns[0]), "?")
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def _groups(bars: Bars, names: list[str]) -> Iterator[Bars]:
    """Yield the bars with the same values in some columns, in their order."""
    order = np.lexsort([bars[name] for name in reversed(names)])
    bounds = np.flatnonzero(_changes([bars[name][order] for name in names]))
    for own in np.split(order, bounds):
        yield {name: column[own] for name, column in bars.items()}


def _pieces_of(bars: Bars, names: list[str]) -> Bars:
    """Make the pieces of each group of bars, one group after the other."""
    parts = [device_bars(own, own["lane"][0]) for own in _groups(bars, names)]
    return {name: np.concatenate([part[name] for part in parts]) for name in bars}


def _is_mixed(sums: Bars, each_step: Bars, lane: int) -> bool:
    """Return whether steps overlap in the lane of a device: then their pieces are not those of the device."""
    own, each = ({name: bars[name][bars["lane"] == lane] for name in _PIECE} for bars in (sums, each_step))
    order = np.argsort(each["start_ns"], kind="stable")
    return any(not np.array_equal(own[name], each[name][order]) for name in _PIECE)


def _step_figures(*every: Bars) -> dict[int, list[tuple[int, int, int]]]:
    """Return of each step the lanes with events, how many these are, and how long (ns) any of them ran."""
    figures: dict[int, list[tuple[int, int, int]]] = {}
    for bars in every:
        for own in _groups(bars, ["step", "lane"]):
            has, until = pieces(own["start_ns"], own["end_ns"])
            busy = int((until - own["start_ns"][has]).sum())
            step, lane = int(own["step"][0]), int(own["lane"][0])
            figures.setdefault(step, []).append((lane, len(own["step"]), busy))
    return figures


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
    count = len(lanes.table)
    device_busy = np.bincount(sums["lane"] - count, sums["busy_ns"], len(devices)).astype("i8")
    rows = np.zeros(count, "i8")
    np.maximum.at(rows, lanes.of_event, bars["row"] + 1)
    table = lanes.table.assign(rows=rows, busy=_lane_busy(lanes, start, end))
    return {
        "events": len(events),
        "start": int(start.min()),
        "end": int(end.max()),
        "lanes": table[["device", "lane", "kind", "events", "rows", "busy"]].to_dict("records"),
        "devices": devices.assign(busy=device_busy).to_dict("records"),
        "ops": sorted({"", *map(str, events["op"].cat.remove_unused_categories().cat.categories)}),
        "event_groups": _bounds(bars, range(0, len(start), ROW_GROUP), EVENT_BOUNDS),
    }


def _bounds(columns: Bars, heads: Sequence[int], names: Sequence[str]) -> list[list[int]]:
    """Return the first row of each row group, and its bounds."""
    bounds = []
    for name in names:
        column, _, side = name.rpartition("_")
        bounds.append((np.minimum if side == "low" else np.maximum).reduceat(columns[column], heads).tolist())
    return [list(group) for group in zip(heads, *bounds, strict=True)]


def _lane_busy(lanes: LaneOrder, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return how long anything ran in each lane, in nanoseconds."""
    busy = np.zeros(len(lanes.table), "i8")
    order = lanes.rows
    bounds = np.cumsum(np.bincount(lanes.of_event, minlength=len(busy)))
    for lane, own in enumerate(np.split(order, bounds[:-1])):
        has, until = pieces(start[own], end[own])
        busy[lane] = (until - start[own][has]).sum()
    return busy
