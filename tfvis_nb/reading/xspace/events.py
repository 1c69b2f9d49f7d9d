"""Decode lines of a plane to columns of events: times, names, stats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tfvis_nb.reading.protobuf.crowding import RecordMemory
from tfvis_nb.reading.protobuf.to_arrow import grouped, handler
from tfvis_nb.reading.protobuf.wire import Data, text
from tfvis_nb.reading.xspace.planes import Plane, Span, message
from tfvis_nb.reading.xspace.stats import Stats

_PIECE = 1 << 16
"""How many events are read at a time, which limits the memory for their stats."""


@dataclass
class Line:
    """A line of a plane: a thread, a stream, or something derived."""

    id: int
    name: str


@dataclass
class Events:
    """The events of some lines.

    - `plane`: Their plane.
    - `lines`: The lines, by their index in the plane.
    - `line`: The index of each event's line in the plane (int32).
    - `meta`: The index of each event's name in ``plane.events`` (int32).
    - `start`, `duration`: In ns, with the origin of the source (int64).
    - `stats`: Their stats.
    - `counted`: The number of records that only count occurrences; they are not among the events.
    """

    plane: Plane
    lines: dict[int, Line]
    line: np.ndarray
    meta: np.ndarray
    start: np.ndarray
    duration: np.ndarray
    stats: Stats
    counted: int

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: np.ndarray, numbers: Sequence[int]) -> Events:
        """Return the events of some lines."""
        return Events(
            plane=self.plane,
            lines={number: self.lines[number] for number in numbers},
            line=self.line[rows],
            meta=self.meta[rows],
            start=self.start[rows],
            duration=self.duration[rows],
            stats=self.stats.take(rows),
            counted=0,
        )


def portions(plane: Plane) -> list[list[int]]:
    """Group the lines of a plane for decoding: large ones alone, small ones together."""
    return grouped((number, line.end - line.start) for number, line in enumerate(plane.lines))


def decode(data: Data, plane: Plane, numbers: Sequence[int], room: RecordMemory | None) -> Iterator[Events]:
    """Decode lines of a plane, and yield their events in pieces that fit a processor's cache.

    Their stats are still serialised, and must fit into `room` before they are read.
    """
    batch = _batch(data, [plane.lines[number] for number in numbers])
    names = [
        text(shown or name)
        for shown, name in zip(
            batch.column("display_name").to_pylist(), batch.column("name").to_pylist(), strict=True
        )
    ]
    ids = batch.column("id").to_pylist()
    lists = batch.column("events")
    offsets = lists.offsets.to_numpy()
    events = lists.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    if room is not None:
        room.take_records("stats", len(events.field("stats").values))
    counts = np.diff(offsets)
    base = np.repeat(batch.column("timestamp_ns").to_numpy(), counts)
    line = np.repeat(np.array(numbers, np.int32), counts)
    lines = {number: Line(thread, name) for number, thread, name in zip(numbers, ids, names, strict=True)}
    for first in range(0, max(len(events), 1), _PIECE):
        piece = slice(first, first + _PIECE)
        yield _piece(plane, lines, line[piece], base[piece], events.slice(first, _PIECE))


def _piece(
    plane: Plane, lines: dict[int, Line], line: np.ndarray, base: np.ndarray, events: pa.StructArray
) -> Events:
    occurrences = events.field("num_occurrences").to_numpy()
    counted = int((occurrences > 0).sum())
    if counted:
        timed = np.flatnonzero(occurrences == 0)
        events, base, line = events.take(timed), base[timed], line[timed]
    offset = events.field("offset_ps").to_numpy()
    length = events.field("duration_ps").to_numpy()
    # Both ends are rounded the same way, so neighbours stay neighbours, and nested events stay nested.
    start = base + offset // 1000
    return Events(
        plane=plane,
        lines=lines,
        line=line,
        meta=plane.events.indexes(events.field("metadata_id").to_numpy()),
        start=start,
        duration=np.maximum(base + (offset + length) // 1000 - start, 0),
        stats=Stats(events.field("stats"), plane.stats),
        counted=counted,
    )


def _batch(data: Data, spans: list[Span]) -> pa.RecordBatch:
    if len(spans) == 1:
        return message(data, spans[0], "Line")
    return handler("Line", "xspace").list_to_record_batch(
        [bytes(data[span.start : span.end]) for span in spans]
    )
