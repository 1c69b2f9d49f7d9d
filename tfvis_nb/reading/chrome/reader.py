"""Chrome trace events: identify the program that wrote them, and its reader."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow.compute as pc

from tfvis_nb.core.devices import canonical, place, task_of
from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.horovod_timeline import OPERATIONS, HorovodReader
from tfvis_nb.reading.chrome.json_stream import documents, is_json
from tfvis_nb.reading.chrome.kineto import KinetoReader
from tfvis_nb.reading.chrome.slices import LOST_BARS, Slices
from tfvis_nb.reading.chrome.table import (
    activities,
    category,
    make_trace,
    of_texts,
    thread_lanes,
    thread_numbers,
)
from tfvis_nb.reading.chrome.tfvis import OwnReader
from tfvis_nb.reading.chrome.timeline_py import TimelineReader
from tfvis_nb.reading.chrome.trace_viewer import ViewerReader
from tfvis_nb.reading.chrome.values import listed, origin_of, text
from tfvis_nb.reading.concat import concatenate
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import briefly
from tfvis_nb.reading.unlike import days_apart
from tfvis_nb.reading.xspace.name_grammar import class_of
from tfvis_nb.texts import Text, id_of

_PROCESS = re.compile(r"(Op (?P<where>execution|scheduling) threads|mem usage on): ?(?P<device>/\S*)")


class TfprofReader:
    """Reads tfprof's timelines.

    "Op execution threads" are the kernels of a GPU, named after the nodes that launched them; "Op scheduling
    threads" are the ops of a device, on the host. The file has no op types, launches and kernel names: ``op``
    is the end of the node's name without its number.
    """

    def __init__(self) -> None:
        self._bars = Slices()

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._bars.add(events)

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; `keys` are not used."""
        del keys
        columns = self._bars.finish()
        matches = {pid: _PROCESS.match(name) for pid, name in self._bars.processes.items()}
        tasks = {task_of(match["device"]) for match in matches.values() if match} - {""}
        # GPUs do not have the task in their names.
        task = next(iter(tasks)) if len(tasks) == 1 else ""
        for pid, match in matches.items():
            if match:
                device = _device(match["device"], task)
                self._bars.places[pid] = task_of(device), device
        rows = [matches.get(pid) for pid, _ in columns.threads]
        executed = [match is not None and match["where"] == "execution" for match in rows]
        devices = [self._bars.places.get(pid, ("", ""))[1] for pid, _ in columns.threads]
        lanes = ["stream:all" if on_gpu else "ops" for on_gpu in executed]
        ops = [class_of(name.rpartition("/")[2]) for name in columns.name.to_pylist()]
        table = {
            "task": category([task_of(device) for device in devices], columns.thread),
            "device": category(devices, columns.thread),
            "lane": category(lanes, columns.thread),
            "kind": category(["kernel" if on_gpu else "op" for on_gpu in executed], columns.thread),
            "op": category(ops, np.arange(len(ops))),
            "thread": thread_numbers(columns),
        }
        return make_trace(columns, table, self._bars, notes=[Text("tfprof_lacks")], is_run=True)


def _device(name: str, task: str) -> str:
    """Return the full name of a device, without the stream."""
    where = place(name)
    device = where.device if where.family != "unknown" else canonical(name)
    return device if where.task or not device.startswith("/device:") else task + device


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


class GenericReader:
    """Reads trace events of unknown programs.

    The ``op`` of a bar is its category if it has one, else its name without numbers.
    """

    def __init__(self) -> None:
        self._bars = Slices()
        self._origin = 0

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._origin = origin_of(events) or self._origin
        self._bars.add(events)

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; `keys` are not used."""
        del keys
        columns = self._bars.finish()
        devices = [self._device(pid) for pid, _ in columns.threads]
        blank = not pc.any(pc.not_equal(columns.category, "")).as_py()
        table = {
            "device": category(devices, columns.thread),
            "lane": category(thread_lanes(self._bars, columns), columns.thread),
            "kind": ["host"] * len(columns.start),
            "op": activities(columns.name) if blank else of_texts(columns.category),
            "thread": thread_numbers(columns),
        }
        notes = [Text("unknown_program")]
        return make_trace(columns, table, self._bars, origin=self._origin, notes=notes)

    def _device(self, process: Any) -> str:
        """Name a process like viewers: by its name and labels, else by its number."""
        parts = [self._bars.processes.get(process), self._bars.labels.get(process)]
        return " ".join(filter(None, parts)) or f"process {text(process)}".strip()


_LOOKED_AT = 5000
_PYTORCH_CATEGORIES = frozenset(
    "cpu_op kernel cuda_runtime cuda_driver gpu_memcpy gpu_memset gpu_user_annotation user_annotation"  # noqa: SIM905
    " python_function cpu_instant_event hip_runtime xpu_runtime xpu_driver mtia_runtime mtia_ccp_events"
    " privateuse1_runtime privateuse1_driver hpu_op Operator Kernel Memcpy Memset Runtime Driver".split()
)
_COMMON_CATEGORIES = frozenset(("kernel", "Operator", "Kernel", "Memcpy", "Memset", "Runtime", "Driver"))
_PYTORCH_KEYS = ("deviceProperties", "distributedInfo", "baseTimeNanoseconds")
_PYTORCH_ARGUMENTS = frozenset(("External id", "correlation", "stream", "est. achieved occupancy %"))
_VIEWER_ARGUMENTS = frozenset(
    "group_id correlation_id tf_op long_name kernel_details memcpy_details hlo_op hlo_module step_num".split()  # noqa: SIM905
)
_TFPROF = re.compile(r"(Op execution threads|Op scheduling threads|mem usage on): ?/")
_PLANE = re.compile(r"/(?:host|device):[A-Za-z_]+")
_ENOUGH = 2
_SHOWN = 3


class Dialect(NamedTuple):
    """A program, and the signs that it wrote a file; both are empty if none did."""

    program: str
    signs: str


def dialect_of(events: Sequence[Any], keys: Mapping[str, Any]) -> Dialect:
    """Return the program with the most signs among the first events and the keys of a document.

    A sign that only one program writes counts twice.
    """
    seen = _Seen(events, keys)
    best, most = Dialect("", ""), _ENOUGH - 1
    for program, signs_of in _DIALECTS.items():
        signs = [(sign, weight) for sign, weight in signs_of(seen) if sign]
        score = sum(weight for _, weight in signs)
        if score > most:
            signs.sort(key=lambda sign: -sign[1])
            best, most = Dialect(program, listed([sign for sign, _ in signs[:_SHOWN]])), score
    return best


class _Seen:
    """What the first events of a document contain."""

    def __init__(self, events: Sequence[Any], keys: Mapping[str, Any]) -> None:
        first = [event for event in events[:_LOOKED_AT] if isinstance(event, dict)]
        named = [(event.get("name"), event["args"]) for event in first if isinstance(event.get("args"), dict)]
        self.keys = keys
        self.categories = {text for event in first if isinstance(text := event.get("cat"), str)}
        self.names = {text for event in first if isinstance(text := event.get("name"), str)}
        self.began = {
            text for event in first if event.get("ph") == "B" and isinstance(text := event.get("name"), str)
        }
        self.processes = [str(args.get("name", "")) for name, args in named if name == "process_name"]
        self.threads = [args for name, args in named if name == "thread_name"]
        self.arguments = set().union(*(args.keys() for _, args in named))


Signs = Iterator[tuple[str, int]]


def _own(seen: _Seen) -> Signs:
    other = seen.keys.get("otherData")
    yield "otherData" * (isinstance(other, dict) and other.get("writer") == "tfvis_nb"), 9
    yield "thread names" * any({"task", "device", "lane"} <= args.keys() for args in seen.threads), 9


def _tfprof(seen: _Seen) -> Signs:
    for match in islice(filter(None, map(_TFPROF.match, seen.processes)), 3):
        yield f"process {match[1]}", 3


def _timeline_py(seen: _Seen) -> Signs:
    yield "process Allocators" * ("Allocators" in seen.processes), 2
    for end in (" Compute", " Tensors"):
        yield f"processes named ...{end}" * any(name.endswith(end) for name in seen.processes), 2
    yield "arguments op and name" * ({"op", "name"} <= seen.arguments), 1
    yield "category DataFlow" * ("DataFlow" in seen.categories), 1


def _horovod(seen: _Seen) -> Signs:
    yield "start_time_since_epoch_in_micros" * ("start_time_since_epoch_in_micros" in seen.arguments), 1
    yield "events NEGOTIATE_..." * any(name.startswith("NEGOTIATE_") for name in seen.began), 2
    yield "".join(f"event {name}" for name in sorted(seen.began & OPERATIONS.keys())[:1]), 2
    yield "CYCLE_START" * ("CYCLE_START" in seen.names), 1


def _pytorch(seen: _Seen) -> Signs:
    for name in sorted(seen.categories & _PYTORCH_CATEGORIES):
        yield f"category {name}", 1 if name in _COMMON_CATEGORIES else 2
    for argument in sorted(seen.arguments & _PYTORCH_ARGUMENTS):
        yield f"argument {argument}", 1
    yield "schemaVersion" * ("schemaVersion" in seen.keys), 1
    for key in _PYTORCH_KEYS:
        yield key * (key in seen.keys), 2
    yield "names aten::" * any(name.startswith("aten::") for name in seen.names), 1
    yield "names ProfilerStep#" * any(name.startswith("ProfilerStep#") for name in seen.names), 1


def _viewer(seen: _Seen) -> Signs:
    for name in sorted({match[0] for name in seen.processes if (match := _PLANE.search(name))})[:2]:
        yield f"process {name}", 2
    for argument in sorted(seen.arguments & _VIEWER_ARGUMENTS):
        yield f"argument {argument}", 1


_DIALECTS = {
    "tfvis_nb": _own,
    "tfprof": _tfprof,
    "timeline.py": _timeline_py,
    "Horovod": _horovod,
    "PyTorch's profiler": _pytorch,
    "the trace viewer": _viewer,
}
