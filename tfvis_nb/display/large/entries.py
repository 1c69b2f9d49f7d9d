"""Merged entries as bytes: the outline of a large trace, and requested parts of it.

``js/model/wire/entries.ts`` reads them. Columns are ordered like the entries, by slot and start; times are
nanoseconds from the origin. An entry has its extent, and everything that is drawn of its longest event.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.core.clock_bounds import to_json
from tfvis_nb.core.note_order import most_important_first
from tfvis_nb.core.palette import CATEGORIES
from tfvis_nb.core.prediction import prediction_sentence
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.level_of_detail import Entries
from tfvis_nb.display.wire.container import WireColumn, pack
from tfvis_nb.display.wire.drawn import VERSION, number_column
from tfvis_nb.display.wire.lane_times import lane_times, length_column, signed_column
from tfvis_nb.display.wire.scoped_names import scoped_names


def outline_bytes(layout: Layout, entries: Entries, *, title: str, shift: int, rest: str) -> bytes:
    """Write the whole run as merged entries, with the facts about the trace for the front end.

    `rest` is how the front end gets the events: ``"chunks"`` or ``"windows"``.
    """
    described = layout.lanes.table[["task", "device", "lane", "kind", "events"]].assign(rows=layout.lane_rows)
    header = {
        "title": title,
        "rest": rest,
        "total": len(layout.event),
        "bucket": 2**shift,
        "origin_ns": str(layout.origin),
        "span_ns": int(layout.end.max()) if len(layout.end) else 0,
        "lanes": described.to_dict("records"),
        "steps": layout.steps,
        "notes": most_important_first(layout.trace.notes),
        "predicted": prediction_sentence(layout.trace),
        "clocks": to_json(layout.trace.clock_bounds),
        "categories": CATEGORIES,
        "ops": layout.ops,
    }
    return _packed(layout, entries, header, None)


def part_bytes(
    layout: Layout, entries: Entries, *, start: int, end: int, shift: int, hits: np.ndarray | None
) -> bytes:
    """Write the part of the run from `start` to `end` (ns from the origin), as fine as `shift`.

    `hits` is the running count of events found by a search, one longer than `layout.event`.
    """
    return _packed(layout, entries, {"start": start, "end": end, "bucket": 2**shift}, hits)


def matching_entries(entries: Entries, hits: np.ndarray) -> np.ndarray:
    """Mark the entries that contain an event counted in `hits` (uint8)."""
    matches: np.ndarray = hits[entries.position + entries.count] > hits[entries.position]
    return matches.astype("u1")


@dataclass(frozen=True)
class DrawnBars:
    """Bars to send, ordered by slot and start; times in nanoseconds from the origin."""

    slot: np.ndarray
    start: np.ndarray
    end: np.ndarray
    busy: np.ndarray
    count: np.ndarray
    # The id and the drawn facts of the longest event of each bar.
    event: np.ndarray
    begin: np.ndarray
    duration: np.ndarray
    op: np.ndarray
    category: np.ndarray
    step: np.ndarray
    wait: np.ndarray
    name: np.ndarray  # Its index in the given names
    lit: np.ndarray | None  # 1 if a search found something; None without a search

    def __len__(self) -> int:
        return len(self.slot)


def packed_bars(
    bars: DrawnBars,
    header: dict[str, Any],
    *,
    slot_lane: np.ndarray,
    slot_row: np.ndarray,
    names: pa.Array,
    numbers: np.ndarray,
    ops: int,
    steps: int,
) -> bytes:
    """Write bars.

    `slot_lane` and `slot_row` have the lane and the row of each slot, `numbers` the number of each of `names`
    among all names ever sent.
    """
    slots, counts = np.unique(bars.slot, return_counts=True)
    times = lane_times(bars.start, bars.end - bars.start, counts)
    columns = {
        "gap": signed_column(times.gap),
        "extent": length_column(times.duration),
        "event": WireColumn(bars.event.astype("u4"), "delta-shuffle"),
        "op": number_column(bars.op, ops),
        "category": WireColumn(bars.category.astype("u1")),
        **_numbered(numbers[bars.name], names.take(pa.array(bars.name))),
    }
    is_exact = bool((bars.count == 1).all())
    if not is_exact:
        columns |= {
            "busy": length_column(bars.busy),
            "count": WireColumn(bars.count.astype("u4")),
            "after": length_column(bars.begin - bars.start),
            "duration": length_column(bars.duration),
        }
    if steps > 1:
        columns["step"] = number_column(bars.step, steps)
    if bars.wait.any():
        columns["wait"] = length_column(bars.wait)
    if bars.lit is not None:
        columns["lit"] = WireColumn(bars.lit.astype("u1"))
    described = {
        "lane": slot_lane[slots].tolist(),
        "row": slot_row[slots].tolist(),
        "entries": counts.tolist(),
        "first": times.first.tolist(),
        "unit": times.unit.tolist(),
    }
    return pack(
        {**header, "version": VERSION, "count": len(bars), "exact": is_exact, "slots": described}, columns
    )


def _packed(layout: Layout, entries: Entries, header: dict[str, Any], hits: np.ndarray | None) -> bytes:
    event = layout.event[entries.longest]
    begin = layout.start[entries.longest]
    bars = DrawnBars(
        slot=entries.slot,
        start=layout.start[entries.position],
        end=layout.end[entries.position + entries.count - 1],
        busy=entries.busy,
        count=entries.count,
        event=event,
        begin=begin,
        duration=layout.end[entries.longest] - begin,
        op=layout.op[event],
        category=layout.category[event],
        step=layout.step[event],
        wait=layout.wait[event],
        name=layout.name[event],
        lit=None if hits is None else matching_entries(entries, hits),
    )
    return packed_bars(
        bars,
        header,
        slot_lane=layout.slot_lane,
        slot_row=layout.slot_row,
        names=layout.names,
        numbers=np.arange(len(layout.names)),
        ops=len(layout.ops),
        steps=len(layout.steps),
    )


def _numbered(numbers: np.ndarray, names: pa.Array) -> dict[str, WireColumn]:
    """Store the names of entries, and their numbers among the trace's names, so that parts fit together."""
    columns = scoped_names(names)
    own = columns["name"].values
    known = np.zeros(len(columns["name_part"].values), "u4")
    known[own] = numbers
    return {**columns, "name_number": WireColumn(known, "delta-shuffle")}
