"""Reject files of very many tiny records before memory is spent on each of them.

An empty row takes two bytes in a file and about a hundred in a table. Counting records takes a tenth of the
time and memory of decoding them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock

import numpy as np
import pyarrow as pa

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.protobuf.to_arrow import handler
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.texts import Text

SMALL = 1 << 20
"""In bytes; smaller files cannot fill the memory."""

_ROOM = 1 << 29
"""Bytes of memory that the records of any file may take."""

_TIMES = 24
"""The memory that records of a larger file may take, as a multiple of its size; traces take at most 12."""

_LARGEST = (1 << 31) - 1

_COSTS: Mapping[str, int] = {
    "node_stats": 450,
    "dev_stats": 2000,
    "step_stats": 500,
    "thread_names": 200,
    "output": 130,
    "memory": 90,
    "referenced_tensor": 130,
    "events": 250,
    "lines": 1000,
    "planes": 2000,
    "event_metadata": 200,
    "stat_metadata": 200,
    "stats": 60,
    "devices": 1000,
    "trace_events": 800,
    "args": 300,
    "sample": 3000,
    "location": 1000,
    "function": 500,
    "stack": 2,
}
"""Measured bytes of memory for reading a record; of a stack, for each character."""


class RecordMemory:
    """The memory for the records of a file or of all members of an archive, shared by several threads."""

    def __init__(self) -> None:
        self._size = self._taken = 0
        self._label = ""
        self._lock = Lock()

    def of(self, size: int, label: str) -> RecordMemory | None:
        """Return the room for a message of `size` bytes; None while all messages together are small.

        TraceFormatError if earlier messages have taken all of it.
        """
        self._size += size
        self._label = label
        self._take(0)
        return self if self._size >= SMALL else None

    def take_message(self, data: Data, message: str) -> None:
        """Decode a serialised `message` just far enough to take its records.

        The records of a DeviceStepStats are taken elsewhere, one by one, as are the stats of events.
        """
        if len(data) <= _LARGEST:
            offsets = pa.py_buffer(np.array([0, len(data)], np.int32))
            one = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(data)])
            self.take(handler(message, "crowding").array_to_record_batch(one))

    def take(self, batch: pa.RecordBatch) -> None:
        """Take all records of a batch."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            for kind, count in _counts(name, column):
                self.take_records(kind, count)

    def take_records(self, kind: str, count: int) -> None:
        """Reject records that, with earlier ones, would take far more memory than those of a trace."""
        self._take(count * _COSTS[kind])

    def _take(self, cost: int) -> None:
        most = max(_ROOM, _TIMES * self._size)
        with self._lock:
            self._taken += cost
            full = self._taken > most
        if full:
            raise TraceFormatError(
                Text("too_many_records", label=self._label, bytes=self._size, gigabytes=most / 1e9)
            )


def _counts(name: str, column: pa.Array) -> Iterator[tuple[str, int]]:
    """Yield the number of records of each kind."""
    if pa.types.is_list(column.type):
        yield name, len(column.values)
        for number, inner in enumerate(column.values.type):
            yield from _counts(inner.name, column.values.field(number))
