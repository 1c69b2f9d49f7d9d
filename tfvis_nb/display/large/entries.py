"""Merged entries as bytes: the outline of a large trace, and requested parts of it."""

from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.large.level_of_detail import Entries
from tfvis_nb.display.wire.bars import Bars, PartOfTrace, pack_part
from tfvis_nb.display.wire.header import trace_header


def outline_bytes(layout: Layout, entries: Entries, *, title: str, shift: int, rest: str) -> bytes:
    """Write the whole run as merged entries, with the facts about the trace for the front end.

    `rest` is how the front end gets the events: ``"chunks"`` or ``"windows"``.
    """
    lanes = layout.lanes.table[["task", "device", "lane", "kind", "events"]].assign(rows=layout.lane_rows)
    span = int(layout.end.max(initial=0))
    header = trace_header(
        layout.trace,
        title=title,
        span=span,
        lanes=lanes.to_dict("records"),
        steps=layout.steps,
        ops=layout.ops,
    )
    own = {"rest": rest, "total": len(layout.event), "bucket": 2**shift}
    return _packed(layout, entries, {**header, **own}, None)


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


def _packed(layout: Layout, entries: Entries, header: dict[str, Any], hits: np.ndarray | None) -> bytes:
    event = layout.event[entries.longest]
    begin = layout.start[entries.longest]
    bars = Bars(
        slot=entries.slot,
        start=layout.start[entries.position],
        end=layout.end[entries.position + entries.count - 1],
        op=layout.op[event],
        category=layout.category[event],
        step=layout.step[event],
        wait=layout.wait[event],
        turn=layout.turn[event],
        name=layout.names.take(pa.array(layout.name[event])),
        changed=None if layout.changed is None else layout.changed[event],
    )
    part = PartOfTrace(
        slot_lane=layout.slot_lane,
        slot_row=layout.slot_row,
        event=event,
        name_number=layout.name[event],
        begin=begin,
        duration=layout.end[entries.longest] - begin,
        count=entries.count,
        busy=entries.busy,
        lit=None if hits is None else matching_entries(entries, hits),
    )
    return pack_part(bars, header, part, (len(layout.ops), len(layout.steps)))
