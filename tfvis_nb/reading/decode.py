"""One serialised step -> Arrow columns, still exactly what the source says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tfvis_nb.reading import protowire, schema
from tfvis_nb.reading.errors import EmptyTraceError, TraceFormatError

if TYPE_CHECKING:
    import pyarrow as pa

NO_EVENTS = (
    "run with options=tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE) "
    "and run_metadata=tf.compat.v1.RunMetadata() to have one recorded"
)


@dataclass
class RecordedStep:
    """What one traced run recorded.

    Attributes
    ----------
    devices, counts, threads
        For each ``DeviceStepStats`` in the order of the source: its device name, the
        number of its rows (int64), and its thread names by thread id.
    nodes
        All rows as an Arrow struct array of ``NodeExecStats``, entry after entry.
    graphs
        Serialised ``GraphDef`` of each partition.
    notes
        What had to be repaired to get here.
    """

    devices: list[str]
    counts: np.ndarray
    threads: list[dict[int, str]]
    nodes: pa.StructArray
    graphs: list[bytes]
    notes: list[str] = field(default_factory=list)


def text(value: bytes) -> str:
    """Decode a name; bytes that are not UTF-8 become U+FFFD."""
    return value.decode("utf-8", "replace")


def decode(data: bytes, label: str, message: str = "") -> RecordedStep:
    """Read a serialised RunMetadata or StepStats; which of them, is seen from the bytes when not told.

    Raises
    ------
    TraceFormatError
        When `data` is damaged or is neither; it says where.
    EmptyTraceError
        When it holds no rows.
    """
    message = message or kind_of(data)
    try:
        batch = schema.handler(message).list_to_record_batch([data])
    except ValueError as error:
        damage = protowire.find_damage(data, message)
        raise TraceFormatError(f"{label}: damaged {message}, {damage or error}") from None
    graphs: list[bytes] = []
    if message == "RunMetadata":
        graphs = batch.column("partition_graphs").values.to_pylist()
        entries = batch.column("step_stats").field("dev_stats").values
    else:
        entries = batch.column("dev_stats").values
    nodes = entries.field("node_stats").values
    if len(nodes) == 0:
        raise EmptyTraceError(f"{label}: {_what_is_there(data, message, graphs)}; {NO_EVENTS}")
    offsets = entries.field("node_stats").offsets.to_numpy()
    return RecordedStep(
        devices=[text(device) for device in entries.field("device").to_pylist()],
        counts=np.diff(offsets).astype(np.int64),
        threads=[
            {thread["key"]: text(thread["value"]) for thread in threads}
            for threads in entries.field("thread_names").to_pylist()
        ],
        nodes=nodes,
        graphs=graphs,
    )


def _what_is_there(data: bytes, message: str, graphs: list[bytes]) -> str:
    if not data:
        return "empty: no run was traced"
    if graphs:
        return f"a {message} with {len(graphs)} partition graphs, but no step_stats: no run was traced"
    return f"a {message} without any events: no run was traced"


def kind_of(data: bytes) -> str:
    """Tell a bare StepStats from a RunMetadata by the first fields.

    Both begin with field 1. In a StepStats it is a DeviceStepStats, whose own
    field 1 is a device name; in a RunMetadata it is a StepStats, whose own
    field 1 is again a message.
    """
    try:
        for outer in protowire.fields(data):
            if outer.number != 1:
                return "RunMetadata"
            for inner in protowire.fields(data, outer.start, outer.end):
                if inner.number != 1:
                    return "StepStats"
                return "RunMetadata" if _is_device_entry(data[inner.start : inner.end]) else "StepStats"
    except protowire.Damage:
        pass
    return "RunMetadata"


def _is_device_entry(data: bytes) -> bool:
    try:
        first = next(protowire.fields(data), None)
    except protowire.Damage as damage:
        # A truncated file ends inside the entry; a device name is no field from its first byte on.
        return damage.position == 0 and data[:1] in (b"\x0a", b"\x12", b"\x1a")
    return first is None or (first.number <= 3 and first.wire_type == protowire.LENGTH)
