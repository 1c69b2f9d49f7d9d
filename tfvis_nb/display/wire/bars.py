"""Bars on the wire: all events of a trace, the outline of a large one, or a part of it.

``js/model/wire/bars.ts`` reads them. Times are nanoseconds from the origin. Columns are ordered by slot, then
by start: neighbours in a slot are similar and compress to half the size of the order by time.

A *slot* is one row of one lane. But the front end packs the rows of a whole trace itself, for any chosen
steps, so there a slot is a whole lane. Its column ``slot`` has the lane of each event in the order of
``trace.events``, which also shows where an event is in the other columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.communication.waits import tails, waits
from tfvis_nb.analysis.events.bar_categories import categories
from tfvis_nb.analysis.events.lane_order import LaneOrder, order_lanes
from tfvis_nb.core.prediction import moved
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.container import WireColumn, pack
from tfvis_nb.display.wire.header import (
    MOST_LANES,
    op_table,
    origin_ns,
    sent_lanes,
    step_table,
    trace_header,
)
from tfvis_nb.display.wire.lane_times import lane_times, length_column, number_column, signed_column
from tfvis_nb.display.wire.string_table import number_texts, stored_texts

_MOST_PARTS = 16

_DRAWN = ["step", "name", "op", "start_ns", "duration_ns"]


@dataclass(frozen=True)
class Bars:
    """Bars, ordered by slot and start, with what is drawn of the event, of several events of the longest."""

    slot: np.ndarray
    start: np.ndarray
    end: np.ndarray
    op: np.ndarray
    category: np.ndarray
    step: np.ndarray
    name: pd.Series | pa.Array
    optional: Mapping[str, np.ndarray]  # Those of `OPTIONAL` that are known


@dataclass(frozen=True)
class PartOfTrace:
    """What bars need besides if they are not all events of a trace."""

    # slot_lane, slot_row: Lane and row of each slot
    slot_lane: np.ndarray
    slot_row: np.ndarray
    event: np.ndarray  # Id of the longest event
    name_number: np.ndarray  # Number of its name among all names, so that parts fit together
    # The longest event's start and duration, the number of events, and their summed durations
    begin: np.ndarray
    duration: np.ndarray
    count: np.ndarray
    busy: np.ndarray
    lit: np.ndarray | None = None  # 1 if a search found something; None without a search


class SlotTimes(TypedDict):
    """The start of each slot's first bar, and the common divisor of its gaps and lengths; in ns."""

    first: list[int]
    unit: list[int]


class Slots(SlotTimes):
    """The lane and row of each slot, and how many bars it has."""

    lane: list[int]
    row: list[int]
    entries: list[int]


class BarsHeader(TypedDict):
    """All events of a trace."""

    count: int
    slots: SlotTimes


class EntriesHeader(TypedDict):
    """Bars of an outline or a part."""

    count: int
    exact: bool  # Whether each bar is one event
    slots: Slots


def _changes(trace: Trace) -> np.ndarray:
    """Mark the events whose durations a prediction changed."""
    recorded = moved(trace)
    if recorded is None:
        return np.zeros(len(trace.events), "?")
    # Rounding can move an end by a nanosecond.
    marks: np.ndarray = abs(recorded.duration_ns - trace.events["duration_ns"].to_numpy()) > 1
    return marks


OPTIONAL = {"wait": waits, "tail": tails, "changed": _changes}
"""Whole numbers from 0, sent if not all are 0; also in ``optionalColumns`` of ``js/model/types.ts``."""


def optional_columns(trace: Trace) -> dict[str, np.ndarray]:
    """Return the optional columns of a trace, by event id."""
    return {name: values_of(trace) for name, values_of in OPTIONAL.items()}


def bar_bytes(trace: Trace, lanes: LaneOrder | None = None, *, title: str | None = None) -> bytes:
    """Write all events of a trace, whose slots are its lanes."""
    lanes = lanes or order_lanes(trace.events, at_most=MOST_LANES)
    rows = lanes.rows
    # Labels are most of a table's bytes, and not drawn.
    events = trace.events[_DRAWN].take(rows)
    start = events["start_ns"].to_numpy() - origin_ns(trace.events)
    end = start + events["duration_ns"].to_numpy()
    steps, step = step_table(trace, events)
    ops, op = op_table(events)
    bars = Bars(
        slot=lanes.of_event[rows],
        start=start,
        end=end,
        op=op,
        category=categories(trace)[rows],
        step=step,
        name=events["name"],
        optional={name: values[rows] for name, values in optional_columns(trace).items()},
    )
    header = trace_header(
        trace,
        title=trace.title if title is None else title,
        span=int(end.max(initial=0)),
        lanes=sent_lanes(lanes.table),
        steps=steps,
        ops=ops,
    )
    times, columns = _stored(bars, (len(ops), len(steps)))
    columns |= {"slot": WireColumn(lanes.of_event.astype("u2")), **_scoped_names(bars.name)}
    own: BarsHeader = {"count": len(start), "slots": times}
    return pack({**header, **own}, columns)


def pack_part(bars: Bars, header: Mapping[str, Any], part: PartOfTrace, counts: tuple[int, int]) -> bytes:
    """Write bars of a trace with these numbers of ops and steps."""
    names = _scoped_names(bars.name)
    number_of = names["name"].values  # noqa: PD011 - of a column on the wire
    known = np.zeros(len(names["name_part"].values), "u4")
    known[number_of] = part.name_number
    times, columns = _stored(bars, counts)
    columns |= {
        "event": WireColumn(part.event.astype("u4"), "delta-shuffle"),
        **names,
        "name_number": WireColumn(known, "delta-shuffle"),
    }
    is_exact = bool((part.count == 1).all())
    if not is_exact:
        columns |= {
            "busy": length_column(part.busy),
            "count": WireColumn(part.count.astype("u4")),
            "after": length_column(part.begin - bars.start),
            "duration": length_column(part.duration),
        }
    if part.lit is not None:
        columns["lit"] = WireColumn(part.lit.astype("u1"))
    entries = np.bincount(bars.slot)
    used = np.flatnonzero(entries)
    own: EntriesHeader = {
        "count": len(bars.start),
        "exact": is_exact,
        "slots": {
            **times,
            "lane": part.slot_lane[used].tolist(),
            "row": part.slot_row[used].tolist(),
            "entries": entries[used].tolist(),
        },
    }
    return pack({**header, **own}, columns)


def _stored(bars: Bars, counts: tuple[int, int]) -> tuple[SlotTimes, dict[str, WireColumn]]:
    """Return the columns that all bars have; `counts` are the numbers of ops and steps of the trace."""
    ops, steps = counts
    entries = np.bincount(bars.slot)
    times = lane_times(bars.start, bars.end - bars.start, entries[entries > 0])
    columns = {
        "gap": signed_column(times.gap),
        "extent": length_column(times.duration),
        "op": number_column(bars.op, ops),
        "category": WireColumn(bars.category.astype("u1")),
    }
    if steps > 1:
        columns["step"] = number_column(bars.step, steps)
    for name, values in bars.optional.items():
        if values.any():
            columns[name] = length_column(values)
    return {"first": times.first.tolist(), "unit": times.unit.tolist()}, columns


def _scoped_names(names: pd.Series | pa.Array) -> dict[str, WireColumn]:
    """Number the distinct names and split them at their slashes: each scope is sent once.

    ``a/b/c`` and ``a/b/d`` share the part before the last slash, which takes a third of the compressed bytes
    of whole names. All numbers are in order of first appearance. Columns: ``name`` is for each row the number
    of its name; ``name_scope`` and ``name_part`` are for each name its scope, counted from 1, 0 without one,
    and the part after it; ``scope_parent`` and ``scope_part`` the same for each scope, whose parent always
    has a smaller number.
    """
    (numbers,), distinct = number_texts([names])
    parts: dict[str, int] = {}
    scopes: dict[str, int] = {}
    scope_rows: list[tuple[int, int]] = []

    def scope_number(scope: str, left: int) -> int:
        if scope in scopes:
            return scopes[scope]
        # A name may be anything, even ten thousand slashes, so deeper parts stay in one piece.
        parent, slash, part = scope.rpartition("/") if left else ("", "", scope)
        above = scope_number(parent, left - 1) if slash else 0
        scope_rows.append((above, parts.setdefault(part, len(parts))))
        scopes[scope] = len(scope_rows)
        return len(scope_rows)

    name_rows = np.zeros((len(distinct), 2), "u4")
    for number, name in enumerate(distinct.to_pylist()):
        scope, slash, part = name.rpartition("/")
        above = scope_number(scope, _MOST_PARTS) if slash else 0
        name_rows[number] = above, parts.setdefault(part, len(parts))
    above_and_part = np.array(scope_rows, "u4").reshape(-1, 2)
    texts = stored_texts(parts)
    return {
        "name": WireColumn(numbers, "delta-shuffle"),
        "name_scope": WireColumn(name_rows[:, 0], "delta-shuffle"),
        "name_part": WireColumn(name_rows[:, 1]),
        "scope_parent": WireColumn(above_and_part[:, 0], "delta-shuffle"),
        "scope_part": WireColumn(above_and_part[:, 1]),
        "parts_bytes": texts["strings_bytes"],
        "parts_offsets": texts["strings_offsets"],
    }
