"""Read ``local.trace``, the profile of TensorFlow 1.14 to 2.0.

The profiler wrote a StepStats as trace events of the trace viewer: devices are those of ``dev_stats``, events
are named after their op type, with the node in an argument, and times count from the start of the profile.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from tfvis_nb.core.devices import place
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.protobuf import schema, wire
from tfvis_nb.reading.protobuf.crowding import RecordMemory
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import damaged_message
from tfvis_nb.reading.stepstats.decode import decode
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.texts import Text

_EVENTS = 4
_MOST = 10_000
_PS_PER_US = 10**6
_LARGEST = 2**63 - 1


def is_local_trace(data: Data) -> bool:
    """Return whether `data` starts like a message of devices and trace events."""
    if not wire.fits(data, "Trace", schema.messages("recognised")):
        return False
    try:
        return any(field.number == _EVENTS for field in islice(wire.fields(data), _MOST))
    except wire.DamageError:
        return False


def read(data: Data, label: str, *, room: RecordMemory | None) -> RecordedStep:
    """Read a local.trace as a step."""
    from google.protobuf.message import DecodeError

    try:
        if room is not None and (own := room.of(len(data), label)) is not None:
            own.take_message(data, "Trace")
        trace = schema.trace_class().FromString(bytes(data))
    except TraceFormatError:
        raise
    except (DecodeError, ValueError) as error:
        reason = damaged_message(data, "a local.trace", "Trace", error, schema.messages("recognised"))
        raise TraceFormatError(reason.named(label)) from None
    devices = {entry.key: entry.value for entry in trace.devices}
    step: Any = schema.message_class("StepStats")()
    entries: dict[str, Any] = {}
    for event in trace.trace_events:
        device = devices.get(event.device_id)
        name = device.name.decode("utf-8", "replace") if device is not None else f"device {event.device_id}"
        where = place(name)
        threads = {one.key: one.value.name for one in device.resources} if device is not None else {}
        thread = threads.get(event.resource_id, b"").decode("utf-8", "replace")
        if where.family == "unknown" and thread not in ("", "0"):
            name = f"{name}/{thread}"
        if name not in entries:
            entries[name] = step.dev_stats.add(device=name.encode())
            for key, value in threads.items() if where.family == "host" else ():
                entries[name].thread_names.add(key=key, value=value)
        _add(entries[name], event, {one.key: one.value for one in event.args}, where.family)
    read = decode(step.SerializeToString(), label, "StepStats", room)
    read.notes += [Text("times_from_start"), Text("local_trace_lacks")]
    return read


def _add(entry: Any, event: Any, arguments: Mapping[bytes, bytes], family: str) -> None:
    duration = min(event.duration_ps // _PS_PER_US, _LARGEST)
    label = arguments.get(b"label", b"")
    if annotation := arguments.get(b"annotation"):
        label += b"@@" + annotation
    entry.node_stats.add(
        node_name=arguments.get(b"long name", event.name),
        timeline_label=label,
        all_start_micros=min(event.timestamp_ps // _PS_PER_US, _LARGEST),
        all_end_rel_micros=duration,
        op_end_rel_micros=duration if family == "executor" else 0,
        # Elsewhere it is the row in which the viewer drew the event.
        thread_id=event.resource_id if family == "host" else 0,
    )
