"""Chrome trace events: identify the program that wrote them, and its reader."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.dialects import dialect_of
from tfvis_nb.reading.chrome.generic import GenericReader
from tfvis_nb.reading.chrome.horovod_timeline import HorovodReader
from tfvis_nb.reading.chrome.json_stream import documents, is_json
from tfvis_nb.reading.chrome.kineto import KinetoReader
from tfvis_nb.reading.chrome.slices import LOST_BARS
from tfvis_nb.reading.chrome.tfprof import TfprofReader
from tfvis_nb.reading.chrome.tfvis import OwnReader
from tfvis_nb.reading.chrome.timeline_py import TimelineReader
from tfvis_nb.reading.chrome.trace_viewer import ViewerReader
from tfvis_nb.reading.chrome.values import listed, text
from tfvis_nb.reading.concat import concatenate
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import briefly
from tfvis_nb.reading.unlike import days_apart
from tfvis_nb.texts import Text, id_of

__all__ = ["is_json", "read"]

_READERS: dict[str, type] = {
    "tfvis_nb": OwnReader,
    "tfprof": TfprofReader,
    "timeline.py": TimelineReader,
    "Horovod": HorovodReader,
    "PyTorch's profiler": KinetoReader,
    "the trace viewer": ViewerReader,
}
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
                if reader is None:
                    dialect = dialect_of(events, document.keys)
                    reader = _READERS.get(dialect.program, GenericReader)()
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
            if dialect.program not in ("", "tfvis_nb"):
                trace.notes.append(Text("dialect", program=dialect.program, signs=dialect.signs))
            traces.append(trace)
        elif trace is not None:
            lost += [note for note in trace.notes if id_of(note) in LOST_BARS] + document.notes
    if not traces and lost:
        raise EmptyTraceError(Text("no_usable_bars", label=label, lost=", ".join(lost)))
    if not traces:
        raise EmptyTraceError(Text("no_bars", label=label))
    if len(traces) == 1:
        return traces[0]
    trace = concatenate(traces, traces[0].title)
    trace.notes += [Text("documents_in_file", documents=len(traces)), *days_apart(trace)]
    return trace


def _unread_keys(keys: Mapping[str, Any], reader: Reader | None) -> list[str]:
    """Return a note with the unread keys of a document, except flags and empty values."""
    read_keys = _READ_KEYS.get(type(reader), set()) | _FOR_VIEWERS
    unread = [text(key) for key, value in keys.items() if key not in read_keys and value not in _FLAGS]
    return [Text("document_keys_left_out", keys=listed(unread))] if unread else []
