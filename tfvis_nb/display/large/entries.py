"""Merged entries as bytes: the outline of a large trace, and the parts of it that are asked for.

``js/model/wire/entries.ts`` reads them. Columns are in the order of the entries, by slot
and start; times are nanoseconds from the origin. Besides its extent an entry has
all that is drawn of the longest of its events.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.core.clock_bounds import to_json
from tfvis_nb.core.prediction import prediction_sentence
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.level_of_detail import Entries
from tfvis_nb.display.wire.categories import CATEGORIES
from tfvis_nb.display.wire.container import WireColumn, pack
from tfvis_nb.display.wire.drawn import VERSION, number_column
from tfvis_nb.display.wire.lane_times import lane_times, length_column, signed_column
from tfvis_nb.display.wire.scoped_names import scoped_names


def outline_bytes(layout: Layout, entries: Entries, *, title: str, shift: int, rest: str) -> bytes:
    """Write the whole run as merged entries, with all that the front end knows of the trace as such.

    `rest` is how the front end gets the events themselves: ``"chunks"`` or ``"windows"``.
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
        "notes": layout.trace.notes,
        "predicted": prediction_sentence(layout.trace),
        "clocks": to_json(layout.trace.clock_bounds),
        "categories": CATEGORIES,
        "ops": layout.ops,
        "names": len(layout.names),
    }
    return _packed(layout, entries, header, None)


def part_bytes(
    layout: Layout, entries: Entries, *, start: int, end: int, shift: int, hits: np.ndarray | None
) -> bytes:
    """Write the part of the run from `start` to `end` (ns from the origin) that is as fine as `shift`.

    `hits` is the running count of the events that a search found, one longer than `layout.event`.
    """
    return _packed(layout, entries, {"start": start, "end": end, "bucket": 2**shift}, hits)


def matching_entries(entries: Entries, hits: np.ndarray) -> np.ndarray:
    """Mark the entries that stand for an event counted in `hits`; uint8."""
    matches: np.ndarray = hits[entries.position + entries.count] > hits[entries.position]
    return matches.astype("u1")


def _packed(layout: Layout, entries: Entries, header: dict[str, Any], hits: np.ndarray | None) -> bytes:
    start = layout.start[entries.position]
    end = layout.end[entries.position + entries.count - 1]
    event = layout.event[entries.longest]
    slots, counts = np.unique(entries.slot, return_counts=True)
    times = lane_times(start, end - start, counts)
    names = layout.names.take(pa.array(layout.name[event]))
    columns = {
        "gap": signed_column(times.gap),
        "extent": length_column(times.duration),
        "event": WireColumn(event.astype("u4"), "delta-shuffle"),
        "op": number_column(layout.op[event], len(layout.ops)),
        "category": WireColumn(layout.category[event]),
        **_numbered(layout.name[event], names),
    }
    is_exact = bool((entries.count == 1).all())
    if not is_exact:
        columns |= {
            "busy": length_column(entries.busy),
            "count": WireColumn(entries.count.astype("u4")),
            "after": length_column(layout.start[entries.longest] - start),
            "duration": length_column(layout.end[entries.longest] - layout.start[entries.longest]),
        }
    if len(layout.steps) > 1:
        columns["step"] = number_column(layout.step[event], len(layout.steps))
    if layout.wait.any():
        columns["wait"] = length_column(layout.wait[event])
    if hits is not None:
        columns["lit"] = WireColumn(matching_entries(entries, hits))
    described = {
        "lane": layout.slot_lane[slots].tolist(),
        "row": layout.slot_row[slots].tolist(),
        "entries": counts.tolist(),
        "first": times.first.tolist(),
        "unit": times.unit.tolist(),
    }
    return pack(
        {**header, "version": VERSION, "count": len(entries), "exact": is_exact, "slots": described}, columns
    )


def _numbered(numbers: np.ndarray, names: pa.Array) -> dict[str, WireColumn]:
    """Store the names of entries, and which of the trace's names each is, so that parts fit together."""
    columns = scoped_names(names)
    own = columns["name"].values
    known = np.zeros(len(columns["name_part"].values), "u4")
    known[own] = numbers
    return {**columns, "name_number": WireColumn(known, "delta-shuffle")}
