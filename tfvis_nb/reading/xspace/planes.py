"""Read the planes of an XSpace: names, spans of lines, and tables for their ids."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.schema import messages
from tfvis_nb.reading.protobuf.to_arrow import handler
from tfvis_nb.reading.protobuf.wire import Data, text
from tfvis_nb.reading.stepstats.duplicates import repeated_spans
from tfvis_nb.texts import Text

_PLANE_NAME = re.compile(rb"/(?:host|device):|Task Environment|#Chip|\Z")
# A file that was converted as text has wrong lengths, but starts with this.
_FIRST_PLANE = re.compile(rb"\x0a[^/]{1,24}\x12.{1,3}?/(?:host|device):", re.DOTALL)
_UNUSED_PLANES = ("/host:__ScopeRangeCallStack__",)


class Span(NamedTuple):
    """The position of a message in the data."""

    start: int
    end: int


def is_xspace(data: Data) -> bool:
    r"""Identify an XSpace by its first plane, which starts with an id or one of a few kinds of names.

    Without planes, it has an error or a warning of the profiler.
    """
    try:
        for outer in wire.fields(data):
            if outer.number in (2, 3):
                return wire.fits(data, "Reports", messages("recognised"))
            if outer.number != 1:
                return False
            if outer.wire_type != wire.LENGTH:
                return False
            for inner in wire.fields(data, outer.start, outer.end):
                if inner.number == 2 and inner.wire_type == wire.LENGTH:
                    return _PLANE_NAME.match(bytes(data[inner.start : inner.end])) is not None
                if inner.number != 1 or inner.wire_type != wire.VARINT:
                    return False
            return False
    except wire.DamageError:
        return _FIRST_PLANE.match(bytes(data[:96])) is not None
    return False


class Names:
    """Texts of metadata by id; the last one is empty, for ids missing in the table."""

    def __init__(self, ids: np.ndarray, texts: list[str]) -> None:
        order = np.argsort(ids, kind="stable")
        self._ids = ids[order]
        self.texts = [*(texts[index] for index in order.tolist()), ""]
        self._direct: np.ndarray | None = None
        highest = int(self._ids[-1]) if len(ids) else 0
        if len(ids) and self._ids[0] >= 0 and highest < 4 * len(ids) + 65536:
            self._direct = np.full(highest + 2, len(ids), np.int32)
            self._direct[self._ids] = np.arange(len(ids))

    def indexes(self, ids: np.ndarray) -> np.ndarray:
        """Return the index in `texts` of each id (int32)."""
        if self._direct is not None:
            last = len(self._direct) - 1
            known: np.ndarray = self._direct[np.where((ids < 0) | (ids > last), last, ids)]
            return known
        if not len(self._ids):
            return np.zeros(len(ids), np.int32)
        index = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[index] == ids, index, len(self._ids)).astype(np.int32)


@dataclass
class Plane:
    """One plane of an XSpace.

    - `name`: Such as ``/device:GPU:0``, ``/host:CPU`` or ``Task Environment``.
    - `lines`: The position of each line in the data.
    - `events`, `shown`: Name by an event's ``metadata_id``, and the short name to show, often empty.
    - `stats`: The names for the ``metadata_id`` and reference value of stats.
    - `event_stats`: The stats of the event metadata, as Arrow lists in the order of `events`.
    - `own_stats`: The plane's own stats, serialised.
    """

    name: str
    lines: list[Span]
    events: Names
    shown: list[str]
    stats: Names
    event_stats: pa.ListArray
    own_stats: pa.Array

    @property
    def device(self) -> str:
        """The device of its events, without a task."""
        return "/device:CPU:0" if self.name.startswith("/host:") else self.name

    def own_list(self) -> pa.ListArray:
        """The plane's own stats as the stats of a single event."""
        return pa.ListArray.from_arrays(pa.array([0, len(self.own_stats)], pa.int32()), self.own_stats)


def count_planes(data: Data) -> int:
    """Return the number of planes without decoding them."""
    return sum(part.number == 1 for part in wire.fields(data))


def planes(data: Data) -> list[Plane]:
    """Find the planes of an XSpace with events; raise if `data` is not an XSpace.

    DamageError and ValueError state the byte.
    """
    of_file = []
    for part in wire.fields(data):
        if part.number != 1:
            continue
        if part.wire_type != wire.LENGTH:
            raise wire.DamageError(
                part.position, Text("wire_type_in_place_of_plane", wire_type=part.wire_type)
            )
        name = _name(data, part)
        if name not in _UNUSED_PLANES:
            of_file.append(_plane(data, part, name))
    return of_file


def hostnames(data: Data) -> list[str]:
    """Return the names of the hosts in an XSpace."""
    return [text(bytes(data[part.start : part.end])) for part in wire.fields(data) if part.number == 4]


def _name(data: Data, plane: wire.WireField) -> str:
    for inner in wire.fields(data, plane.start, plane.end):
        if inner.number == 2:
            return text(bytes(data[inner.start : inner.end]))
    return ""


def _plane(data: Data, where: wire.WireField, name: str) -> Plane:
    lines = [
        Span(inner.start, inner.end)
        for inner in wire.fields(data, where.start, where.end)
        if inner.number == 3
    ]
    batch = message(data, Span(where.start, where.end), "Plane")
    events = batch.column("event_metadata").values
    stats = batch.column("stat_metadata").values
    ids = events.field("key").to_numpy()
    order = np.argsort(ids, kind="stable")
    described = events.field("value")
    shown = _texts(described.field("display_name"))
    return Plane(
        name=name,
        lines=lines,
        events=Names(ids, _texts(described.field("name"))),
        shown=[*(shown[index] for index in order.tolist()), ""],
        stats=Names(stats.field("key").to_numpy(), _texts(stats.field("value").field("name"))),
        event_stats=described.field("stats").take(order),
        own_stats=batch.column("stats").values,
    )


def _texts(values: pa.Array) -> list[str]:
    return [text(value or b"") for value in values.to_pylist()]


def message(data: Data, span: Span, name: str) -> pa.RecordBatch:
    """Decode the message of a span without copying it."""
    content = pa.py_buffer(data).slice(span.start, span.end - span.start)
    offsets = pa.py_buffer(np.array([0, span.end - span.start], np.int32))
    one = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, content])
    return handler(name, "xspace").array_to_record_batch(one)


def doubled_planes(data: Data, planes: Sequence[Plane]) -> list[str]:
    """Return a note if planes of an XSpace with lines have the same name."""
    filled = [plane for plane in planes if plane.lines]
    count = Counter(plane.name for plane in filled)
    names = [name for name, times in count.items() if times > 1]
    if not names:
        return []
    lines = [(plane.name, line) for plane in filled if count[plane.name] > 1 for line in plane.lines]
    same = sorted({lines[index][0] for index in repeated_spans(data, [line for _, line in lines])})
    if same:
        return [Text("planes_given_again", planes=_listed(names), same=_listed(same))]
    return [Text("planes_named_alike", planes=_listed(names))]


def _listed(names: list[str]) -> str:
    return ", ".join(name[:80] for name in names[:8])
