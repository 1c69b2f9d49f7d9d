"""Read an XSpace, the profile of TensorFlow 2 and JAX, as a `Trace`."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core import counters
from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.metadata import DEVICES, PROFILES, Metadata, table_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import LATEST_NS
from tfvis_nb.kinds import COPIES, KERNELS, KINDS
from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.crowding import RecordMemory
from tfvis_nb.reading.protobuf.schema import messages
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import damaged_message
from tfvis_nb.reading.sources.unpacking import Allowance, Budget
from tfvis_nb.reading.xspace.epoch import EARLIEST_NS
from tfvis_nb.reading.xspace.events import Events, decode, portions
from tfvis_nb.reading.xspace.gpu import gpu_rows, is_stream
from tfvis_nb.reading.xspace.host import host_rows
from tfvis_nb.reading.xspace.planes import Plane, count_planes, doubled_planes, hostnames, planes
from tfvis_nb.reading.xspace.programs import Programs
from tfvis_nb.reading.xspace.rows import Coded
from tfvis_nb.reading.xspace.stats import Stats, Values
from tfvis_nb.reading.xspace.table import LineRows, table
from tfvis_nb.reading.xspace.xla import DERIVED, device_rows
from tfvis_nb.texts import Text

_LOCAL_TRANSFER = re.compile(r"\bkey=(/job:\w+/replica:\d+/task:\d+)/[^;]*;[^;]*;\1/")
"""Matches the key of a transfer between two devices of a task."""
_WINDOW = ("profile_start_time", "profile_stop_time")
LINE = "_counters_"
"""The name of such a line. Its events are named after their counters and have the value as a stat."""
# Stat, factor, and our column; CUPTI gives the clock in kHz, TPUs their bandwidth in GB/s.
_NUMBERS = (
    ("core_count", 1, "cores"),
    ("clock_rate", 10**3, "clock_hz"),
    ("memory_size", 1, "memory_bytes"),
    ("memory_bandwidth", 1, "memory_bandwidth"),
    ("peak_hbm_bw_gigabytes_per_second", 10**9, "memory_bandwidth"),
    ("peak_teraflops_per_second", 10**12, "peak_flops"),
)
_TEXTS = (("device_vendor", "vendor"), ("gpu_device_name", "model"), ("device_type_string", "model"))
_CAPABILITY = ("compute_cap_major", "compute_cap_minor")
_WANTED = frozenset((*(name for name, *_ in (*_NUMBERS, *_TEXTS)), *_CAPABILITY))
_MOST = 2**63
_NAME = "profile_options"
_BYTES_VALUE, _VERSION = 6, 5
"""Numbers of fields of a stat, and of ``ProfileOptions``."""
_LEVELS = {2: "host_tracer_level", 3: "device_tracer_level", 4: "python_tracer_level"}
_OPS = 2
"""The lowest level that records host ops, which is the default."""
GPU = re.compile(r"/device:GPU:\d+", re.IGNORECASE)
"""Matches the names of planes of GPUs."""
_FIELDS = {2: "profiler_errors", 3: "profiler_warnings"}
_MOST_LISTED, _LONGEST = 8, 400
_COMPUTING = [KINDS.index(kind) for kind in KERNELS]
_COPYING = [KINDS.index(kind) for kind in COPIES]
_ABOUT_CUPTI = re.compile(r"cupti", re.IGNORECASE)
_ABOUT_GPU = re.compile(r"cupti|cuda|gpu", re.IGNORECASE)
# CUPTI names the launch of a kernel like the kernel; driver calls and copies have their own names.
_NO_KERNEL = re.compile(r"cu(?:da)?(?!\w*Launch)[A-Z]|[Mm]em(?:cpy|set|ory)")
_IN_GPU = re.compile(r"(?:^| )allocator_name=GPU_\d")


@dataclass
class RecordedHost:
    """The profile of one host.

    - `parts`: Its decoded events.
    - `programs`: The compiled programs they ran.
    - `metadata`: Its facts about devices.
    - `counters`: Its sampled values, with their recorded times.
    - `notes`: Texts about data left out in decoding, and duplicate data.
    - `label`: Its file.
    - `hostname`: The name of the host, empty if unknown.
    - `window`: Start and end of the profile, epoch ns; zeros if unknown.
    - `threadpool`: Whether to keep events that thread pools record about themselves.
    """

    parts: list[LineRows]
    programs: Programs
    metadata: Metadata
    counters: list[pd.DataFrame]
    notes: list[str]
    label: str
    hostname: str
    window: tuple[int, int]
    threadpool: bool

    @cached_property
    def trace(self) -> Trace:
        """The events as a trace, without names of tasks."""
        # Launches are numbered from 1 in each profile, so time and host identify theirs.
        salt = zlib.crc32(f"{self.hostname} {self.window}".encode("utf-8", "replace"))
        trace = table(self.parts, self.programs, self.window[0], threadpool=self.threadpool, salt=salt)
        trace.notes[:0] = self.notes
        trace.metadata |= self.metadata
        trace.recorded_counters = recorded_counters(self.counters, self.window[0])
        return trace

    @cached_property
    def task(self) -> str:
        """The task that both ends of its own transfers name; empty if they name none or several."""
        details = pa.chunked_array(pa.array(self.trace.events["detail"], pa.large_string()))
        keys = details.filter(pc.match_substring(details, "key=/job:")).unique().to_pylist()
        tasks = {match[1] for key in keys if (match := _LOCAL_TRANSFER.search(key))}
        return tasks.pop() if len(tasks) == 1 else ""


def read(
    data: Data, label: str, *, threadpool: bool = False, allowance: Allowance | None = None
) -> RecordedHost:
    """Read one serialised XSpace; by default, its limits are those of a file.

    `threadpool` keeps events that thread pools record about themselves, about half of a host's events.
    """
    try:
        allowance = allowance or Budget().of_file(len(data))
        room = allowance.room.of(len(data), label)
        if room is not None:
            room.take_message(data, "XSpace")
        allowance.take_parts(count_planes(data), label)
        of_file = planes(data)
        programs = Programs(of_file)
        parts, counters, notes = _parts(data, of_file, programs, room)
        names = hostnames(data)
        window = _window(of_file)
        metadata = {DEVICES: devices(of_file), PROFILES: profile_options(of_file)}
    except TraceFormatError:
        raise
    except (wire.DamageError, ValueError) as error:
        what = "an XSpace of the TensorFlow or JAX profiler"
        reason = damaged_message(data, what, "XSpace", error, messages("xspace_whole"))
        raise TraceFormatError(reason.named(label)) from None
    if not any(len(part.rows) for part in parts):
        raise EmptyTraceError(nothing_recorded(data, label))
    notes += [*left_out(metadata[PROFILES]), *reports(data, of_file, parts), *doubled_planes(data, of_file)]
    return RecordedHost(
        parts, programs, metadata, counters, notes, label, names[0] if names else "", window, threadpool
    )


def _window(of_file: Sequence[Plane]) -> tuple[int, int]:
    """Return start and end of the profile, epoch ns; 0 if not recorded."""
    for plane in of_file:
        if plane.name == "Task Environment":
            values = Stats(plane.own_list(), plane.stats).values(_WINDOW)
            began, ended = (int(values.numbers(name, 1)[0]) for name in _WINDOW)
            return max(began, 0), max(ended, 0)
    return 0, 0


def _parts(
    data: Data, of_file: Sequence[Plane], programs: Programs, room: RecordMemory | None
) -> tuple[list[LineRows], list[pd.DataFrame], list[str]]:
    """Decode all portions of all planes; return rows, counters, and notes on data left out."""
    work = [(plane, numbers) for plane in of_file for numbers in portions(plane)]
    # Sequentially, because two threads would need twice the memory and hardly be faster.
    counters = _Counters()
    every = [_read_portion(data, plane, numbers, programs, counters, room) for plane, numbers in work]
    # Memory for decoding is a large part of the memory for the table.
    pa.default_memory_pool().release_unused()
    streams = {id(plane) for plane, _ in work if GPU.fullmatch(plane.name)} & {
        id(part.plane) for portion, _ in every for part in portion if part.stream
    }
    parts, repeated = [], 0
    for portion, _ in every:
        for part in portion:
            if part.derived and id(part.plane) in streams:
                repeated += len(part.rows)
            else:
                parts.append(part)
    notes: list[str] = []
    if repeated:
        notes.append(Text("derived_lines_left_out", rows=repeated))
    if counted := sum(counted for _, counted in every):
        notes.append(Text("counting_records_left_out", records=counted))
    if counters.lost:
        notes.append(Text("counter_values_left_out", values=counters.lost))
    return parts, counters.tables, notes


@dataclass
class _Counters:
    """The counters found so far, and the number of unusable values."""

    tables: list[pd.DataFrame] = field(default_factory=list)
    lost: int = 0

    def split(self, plane: Plane, events: Events) -> Events:
        """Consume the events of counter lines, and return the others."""
        counting = [number for number, line in events.lines.items() if line.name == LINE]
        if not counting:
            return events
        table, lost = counter_values(_only(events, counting), plane.device)
        self.tables.append(table)
        self.lost += lost
        return _only(events, [number for number in events.lines if number not in counting])


def _read_portion(
    data: Data,
    plane: Plane,
    numbers: Sequence[int],
    programs: Programs,
    counters: _Counters,
    room: RecordMemory | None,
) -> tuple[list[LineRows], int]:
    """Make rows from some lines of a plane, and count the records without times."""
    parts, counted = [], 0
    for events in decode(data, plane, numbers, room):
        parts += _rows(plane, counters.split(plane, events), programs)
        counted += events.counted
    return parts, counted


def _rows(plane: Plane, events: Events, programs: Programs) -> list[LineRows]:
    if plane.name.startswith("/host:") or not plane.name.startswith("/device:"):
        return [LineRows(plane, events.lines, host_rows(events, programs))]
    gpu = GPU.fullmatch(plane.name) is not None
    streams = [number for number, line in events.lines.items() if gpu and is_stream(line.name)]
    derived = [
        number
        for number, line in events.lines.items()
        if gpu and number not in streams and DERIVED.fullmatch(line.name)
    ]
    others = [number for number in events.lines if number not in streams and number not in derived]
    parts = []
    if streams:
        chosen = _only(events, streams)
        parts.append(LineRows(plane, chosen.lines, gpu_rows(chosen, plane.name, programs), stream=True))
    for chosen_lines, is_derived in ((derived, True), (others, False)):
        if chosen_lines:
            chosen = _only(events, chosen_lines)
            parts.append(LineRows(plane, chosen.lines, device_rows(chosen, programs), derived=is_derived))
    return parts


def _only(events: Events, numbers: Sequence[int]) -> Events:
    """Return the events of some of the lines."""
    if len(numbers) == len(events.lines):
        return events
    return events.take(np.flatnonzero(np.isin(events.line, numbers)), numbers)


def counter_values(events: Events, device: str) -> tuple[pd.DataFrame, int]:
    """Return the counters in the events of such lines, and the number of events without a usable value."""
    stats = events.stats.values(events.plane.stats.texts)
    numbers = np.flatnonzero(stats.code < 0)
    owner, first = np.unique(stats.owner[numbers], return_index=True)
    stat = numbers[first]
    unsigned = stats.integer[stat].view(np.uint64).astype(np.float64)
    whole = np.where(stats.unsigned[stat], unsigned, stats.integer[stat])
    value = np.where(stats.real[stat] != 0, stats.real[stat], whole)
    usable = np.isfinite(value) & (np.abs(events.start[owner].astype(np.float64)) <= LATEST_NS)
    rows = owner[usable]
    plane = events.plane
    names = [shown or name for shown, name in zip(plane.shown, plane.events.texts, strict=True)]
    used, code = np.unique(events.meta[rows], return_inverse=True)
    called = [names[number] for number in used.tolist()]
    of_counter = {"counter": called, "unit": [counters.unit_of(name) for name in called]}
    table = counters.build(
        {
            "device": [device] * len(rows),
            **{name: pd.Categorical(np.array(texts, object)[code]) for name, texts in of_counter.items()},
            "time_ns": events.start[rows],
            "value": value[usable],
        }
    )
    return table, len(events) - len(rows)


def recorded_counters(tables: Sequence[pd.DataFrame], began: int) -> pd.DataFrame:
    """Concatenate tables of counters; times of a profile that started at `began` become epoch times."""
    table = counters.joined(tables)
    if not len(table) or int(table["time_ns"].min()) > EARLIEST_NS:
        return table
    return table.assign(time_ns=table["time_ns"] + began)


def devices(planes: Sequence[Plane]) -> pd.DataFrame:
    """Return the facts about devices in a profile: a table of `tfvis_nb.core.metadata`."""
    return table_of(DEVICES, filter(None, map(_device, planes)))


def _device(plane: Plane) -> dict[str, Any] | None:
    if not plane.name.startswith("/device:") or not len(plane.own_stats):
        return None
    values = Stats(plane.own_list(), plane.stats).values(_WANTED)
    properties: dict[str, Any] = {}
    for name, factor, column in _NUMBERS:
        number = round(_number(values, name) * factor)
        if 0 < number < _MOST:
            properties[column] = number
    for name, column in _TEXTS:
        _, codes = values.texts(name)
        if len(codes):
            properties[column] = values.vocabulary[codes[0]]
    if (capability := [int(_number(values, name)) for name in _CAPABILITY])[0] > 0:
        properties["compute_capability"] = "{}.{}".format(*capability)
    return {"task": "", "device": plane.name, **properties} if properties else None


def _number(values: Values, name: str) -> float:
    """Return the value of a numeric stat; 0 if there is none."""
    mask = values.key == values.names.index(name) if name in values.names else None
    if mask is None or not mask.any():
        return 0
    whole, real = int(values.integer[mask][0]), float(values.real[mask][0])
    return whole or (real if abs(real) < _MOST else 0)


def profile_options(planes: Sequence[Plane]) -> pd.DataFrame:
    """Return the levels in a profile: a table of `tfvis_nb.core.metadata`, empty if unknown."""
    of_planes = (_levels(plane) for plane in planes if plane.name == "Task Environment")
    return table_of(PROFILES, [{"task": "", **levels} for levels in of_planes if levels])


def left_out(profiles: pd.DataFrame) -> list[Text]:
    """Return notes on the data that the levels of a profile leave out."""
    notes = []
    for host, device in profiles[["host_tracer_level", "device_tracer_level"]].to_numpy().tolist():
        if host < _OPS:
            notes.append(Text("host_tracer_low", level=host))
        if device == 0:
            notes.append(Text("device_tracer_off"))
    return notes


def _levels(plane: Plane) -> dict[str, Any]:
    """Decode the levels; a level of 0 is not written. Empty if they are damaged or missing."""
    stats = Stats(plane.own_list(), plane.stats)
    names = plane.stats.texts
    rows = np.flatnonzero(stats.key == names.index(_NAME)) if _NAME in names else np.zeros(0, np.int64)
    if not len(rows):
        return {}
    try:
        data = _field(plane.own_stats[int(rows[0])].as_py(), _BYTES_VALUE)
        numbers = {
            part.number: data[part.start] for part in wire.fields(data) if part.wire_type == wire.VARINT
        }
    except wire.DamageError:
        return {}
    return {name: numbers.get(field, 0) for field, name in _LEVELS.items()} if numbers.get(_VERSION) else {}


def _field(message: bytes, number: int) -> bytes:
    """Return the bytes of one field of a message, empty if missing."""
    parts = [part for part in wire.fields(message) if (part.number, part.wire_type) == (number, wire.LENGTH)]
    return message[parts[-1].start : parts[-1].end] if parts else b""


def reports(data: Data, planes: Sequence[Plane], parts: Sequence[LineRows]) -> list[Text]:
    """Return notes on the profiler's reports, and on kernels that ran but were not recorded."""
    notes = _profiler_reports(data)
    if (missing := _missing_kernels(planes, parts, reported=_reported_gpu(data))) is not None:
        notes.append(missing)
    return notes


def nothing_recorded(data: Data, label: str) -> Text:
    """Return the message for an XSpace without events, with what the profiler reported."""
    reported = _profiler_reports(data)
    if _reported_gpu(data):
        reported.append(Text("why_no_kernels"))
    said = "".join(f"; {one}" for one in reported)
    return Text("xspace_without_events", label=label, reported=said)


def _profiler_reports(data: Data) -> list[Text]:
    notes = []
    messages = _messages(data)
    for number, key in _FIELDS.items():
        if texts := list(dict.fromkeys(messages[number])):
            listed = "; ".join(text[:_LONGEST] for text in texts[:_MOST_LISTED])
            notes.append(Text(key, messages=listed))
    return notes


def _messages(data: Data) -> dict[int, list[str]]:
    messages: dict[int, list[str]] = {number: [] for number in _FIELDS}
    for part in wire.fields(data):
        if part.number in messages and part.wire_type == wire.LENGTH:
            messages[part.number].append(wire.text(bytes(data[part.start : part.end])))
    return messages


def _reported_gpu(data: Data) -> bool:
    """Return whether the profiler reported an error of the GPU, or warned about CUPTI."""
    errors, warnings = _messages(data).values()
    return any(map(_ABOUT_GPU.search, errors)) or any(map(_ABOUT_CUPTI.search, warnings))


def _missing_kernels(planes: Sequence[Plane], parts: Sequence[LineRows], *, reported: bool) -> Text | None:
    """Return a note if kernels evidently ran, or the profiler `reported` a failure, but none was recorded."""
    hosts = [part.rows for part in parts if part.plane.name.startswith("/host:")]
    devices = [part.rows for part in parts if part.plane.name.startswith("/device:")]
    if any(np.isin(rows.kind, _COMPUTING).any() for rows in devices):
        return None
    launches = [rows.name.take(rows.marks["launch"].rows) for rows in hosts]
    if kernels := sum(_count(names, lambda name: not _NO_KERNEL.match(name)) for names in launches):
        return Text("profile_without_kernels", why=Text("kernels_launched", kernels=kernels))
    # Copies alone also cause the signs below.
    if any(np.isin(rows.kind, _COPYING).any() for rows in devices):
        return None
    allocations = [rows.detail.take(np.flatnonzero(rows.size_bytes >= 0)) for rows in hosts]
    if tensors := sum(_count(details, lambda text: bool(_IN_GPU.search(text))) for details in allocations):
        return Text("profile_without_kernels", why=Text("gpu_memory_allocated", tensors=tensors))
    if reported:
        return Text("profile_without_kernels", why=Text("gpu_profiling_failed"))
    empty = dict.fromkeys(plane.name[:_LONGEST] for plane in planes if GPU.fullmatch(plane.name))
    return Text("gpu_planes_empty", planes=", ".join([*empty][:_MOST_LISTED])) if empty else None


def _count(column: Coded, wanted: Callable[[str], bool]) -> int:
    """Count the rows with a wanted text in a column."""
    used, rows = np.unique(column.codes, return_counts=True)
    return sum(
        count for code, count in zip(used.tolist(), rows.tolist(), strict=True) if wanted(column.texts[code])
    )
