"""Read an XSpace, the profile of TensorFlow 2 and JAX, as a `Trace`."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.metadata import DEVICES, PROFILES, Metadata
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.crowding import Room
from tfvis_nb.reading.protobuf.schema import messages
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import damaged_message
from tfvis_nb.reading.sources.unpacking import Allowance, Budget
from tfvis_nb.reading.xspace.counters import LINE, counter_values, recorded_counters
from tfvis_nb.reading.xspace.devices import devices
from tfvis_nb.reading.xspace.events import Events, decode, portions
from tfvis_nb.reading.xspace.gpu import gpu_rows, is_stream
from tfvis_nb.reading.xspace.host import host_rows
from tfvis_nb.reading.xspace.planes import Plane, count_planes, doubled_planes, hostnames, planes
from tfvis_nb.reading.xspace.profile_options import left_out, profile_options
from tfvis_nb.reading.xspace.programs import Programs
from tfvis_nb.reading.xspace.reports import GPU, nothing_recorded, reports
from tfvis_nb.reading.xspace.stats import Stats
from tfvis_nb.reading.xspace.table import LineRows, table
from tfvis_nb.reading.xspace.xla import DERIVED, device_rows
from tfvis_nb.texts import Text

_LOCAL_TRANSFER = re.compile(r"\bkey=(/job:\w+/replica:\d+/task:\d+)/[^;]*;[^;]*;\1/")
"""Matches the key of a transfer between two devices of a task."""
_WINDOW = ("profile_start_time", "profile_stop_time")


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
    data: Data, of_file: Sequence[Plane], programs: Programs, room: Room | None
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
    room: Room | None,
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
