"""Chrome trace events: identify the program that wrote them, and its reader."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.generic import GenericReader
from tfvis_nb.reading.chrome.horovod_timeline import HorovodReader
from tfvis_nb.reading.chrome.json_stream import documents, is_json
from tfvis_nb.reading.chrome.kineto import KinetoReader
from tfvis_nb.reading.chrome.slices import LOST_BARS
from tfvis_nb.reading.chrome.tfvis import OwnReader, is_own
from tfvis_nb.reading.chrome.timeline_py import TimelineReader
from tfvis_nb.reading.chrome.trace_viewer import ViewerReader
from tfvis_nb.reading.chrome.values import listed, text
from tfvis_nb.reading.concat import concatenate
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import briefly
from tfvis_nb.texts import Text, id_of

__all__ = ["is_json", "read"]

_LOOKED_AT = 5000
_KINETO = {
    "cpu_op",
    "kernel",
    "cuda_runtime",
    "cuda_driver",
    "gpu_memcpy",
    "user_annotation",
    "python_function",
}
_KINETO_KEYS = {"schemaVersion", "deviceProperties", "distributedInfo"}
_READ_KEYS: dict[type, set[str]] = {
    OwnReader: {"otherData"},
    KinetoReader: {"deviceProperties", "distributedInfo", "baseTimeNanoseconds"},
    ViewerReader: {"metadata"},
}
"""Keys of a document that readers use in addition to events; metadata of the trace viewer is for viewers."""

_FLAGS: tuple[Any, ...] = (None, 0, 1, "", [], {})
_FOR_VIEWERS = {"displayTimeUnit", "schemaVersion", "traceName"}


class Reader(Protocol):
    """Reads one document, a list of events at a time."""

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; `keys` are the keys of the document except the events."""


def read(data: Data, label: str) -> Trace:
    """Read a file of trace events of any program."""
    traces: list[Trace] = []
    lost: list[str] = []
    for document in documents(data, label):
        reader: Reader | None = None
        try:
            for events in document:
                reader = reader or reader_of(events, document.keys)
                reader.add(events)
        except TraceFormatError as error:
            if not traces:
                raise
            # If two programs write one file, the end of the longer output remains behind the shorter one.
            byte, size = document.place
            reason = briefly(error, label)
            traces[-1].notes.append(Text("json_rest_left_out", byte=byte, bytes=size, reason=reason))
            break
        trace = reader.finish(document.keys) if reader else None
        if trace is not None and len(trace.events):
            trace.notes += [*_unread_keys(document.keys, reader), *document.notes]
            traces.append(trace)
        elif trace is not None:
            lost += [note for note in trace.notes if id_of(note) in LOST_BARS] + document.notes
    if not traces and lost:
        raise EmptyTraceError(Text("no_usable_bars", label=label, lost=", ".join(lost)))
    if not traces:
        raise EmptyTraceError(Text("no_bars", label=label))
    return traces[0] if len(traces) == 1 else concatenate(traces, traces[0].title)


def _unread_keys(keys: Mapping[str, Any], reader: Reader | None) -> list[str]:
    """Return a note with the unread keys of a document, except flags and empty values."""
    read_keys = _READ_KEYS.get(type(reader), set()) | _FOR_VIEWERS
    unread = [text(key) for key, value in keys.items() if key not in read_keys and value not in _FLAGS]
    return [Text("document_keys_left_out", keys=listed(unread))] if unread else []


def reader_of(events: Sequence[Any], keys: Mapping[str, Any]) -> Reader:
    """Recognise the program by its first events, and return its reader."""
    first = [event for event in events[:_LOOKED_AT] if isinstance(event, dict)]
    categories = {text for event in first if isinstance(text := event.get("cat"), str)}
    named = [(event.get("name"), event["args"]) for event in first if isinstance(event.get("args"), dict)]
    processes = {str(args.get("name", "")) for name, args in named if name == "process_name"}
    metadata = keys.get("otherData")
    if (isinstance(metadata, dict) and metadata.get("writer") == "tfvis_nb") or is_own(named):
        return OwnReader()
    if "Allocators" in processes or any(name.endswith((" Compute", " Tensors")) for name in processes):
        return TimelineReader()
    if any("start_time_since_epoch_in_micros" in args for _, args in named) or any(
        str(event.get("name", "")).startswith("NEGOTIATE_") for event in first if event.get("ph") == "B"
    ):
        return HorovodReader()
    if categories & _KINETO or _KINETO_KEYS & keys.keys():
        return KinetoReader()
    if any("/host:" in name or "/device:" in name for name in processes):
        return ViewerReader()
    return GenericReader()
