"""Write a trace as Chrome trace events, which Perfetto, chrome://tracing and speedscope open."""

import gzip
import heapq
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.critical_path.device import STREAM
from tfvis_nb.analysis.dataflow.graph_inputs import graph_inputs
from tfvis_nb.analysis.dataflow.recorded_links import link_numbers
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.memory.memory_usage import curve_numbers
from tfvis_nb.analysis.time_series import buffer_fill
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.clock_bounds import to_json
from tfvis_nb.core.labels import lane_label
from tfvis_nb.core.metadata import portable
from tfvis_nb.core.metadata import to_json as metadata_json
from tfvis_nb.core.nested_columns import (
    EXECUTOR,
    FLOWS_IN,
    FLOWS_OUT,
    GRAPH_INPUTS,
    LINKING,
    MOVED,
    RECORDED_DURATION,
)
from tfvis_nb.core.nested_lists import categories, exploded, numbers
from tfvis_nb.core.output_path import whole
from tfvis_nb.core.tensor_senders import executor_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import OPTIONAL
from tfvis_nb.reading.chrome.tfvis import COUNTER
from tfvis_nb.texts import notes_to_json

_LARGEST = (1 << 31) - 1


@dataclass(frozen=True)
class ChromeRows:
    """Process and thread numbers of each event (int64, below 2**31), and the events that name and order them.

    Threads are numbered from 1 in the order of the lanes, by which Perfetto sorts them. The number of a
    process is derived from the names of its device and lanes, and of their first threads. So the events of
    two files can be merged: devices with the same lanes become one process.
    """

    pid: np.ndarray
    tid: np.ndarray
    metadata: list[dict[str, Any]]


def place_rows(events: pd.DataFrame) -> ChromeRows:
    """Lay out an event table so that bars of a thread do not overlap."""
    lanes = order_lanes(events)
    pid = np.zeros(len(events), "i8")
    tid = np.zeros(len(events), "i8")
    metadata: list[dict[str, Any]] = []
    processes: set[int] = set()
    start = events["start_ns"].to_numpy()
    end = start + events["duration_ns"].to_numpy()
    members = np.split(np.argsort(lanes.of_event, kind="stable"), np.cumsum(lanes.table["events"])[:-1])
    rows = zip(lanes.table.itertuples(index=False), members, strict=False)
    for (task, device), group in groupby(rows, key=lambda pair: (str(pair[0].task), str(pair[0].device))):
        threads: list[dict[str, str]] = []
        own: list[np.ndarray] = []
        key = [task, device]
        for row, ids in group:
            packed = pack_rows(start[ids], end[ids])
            tid[ids] = packed + len(threads) + 1
            lane = str(row.lane) or str(row.kind)
            key.append(f"{len(threads)} {lane}")
            location = {"task": task, "device": device, "lane": str(row.lane)}
            threads += [
                {"name": f"{lane} ({number + 1})" if number else lane, **location}
                for number in range(int(packed.max()) + 1)
            ]
            own.append(ids)
        process = unique_id("\n".join(key), processes)
        pid[np.concatenate(own)] = process
        metadata += described("process", len(processes), _process_name(task, device), process)
        for number, arguments in enumerate(threads, 1):
            metadata += described("thread", number, arguments, process, number)
    return ChromeRows(pid, tid, metadata)


def pack_rows(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return for each interval, ordered by start, the first row that is free at its start (int64, from 0)."""
    rows = np.zeros(len(start), "i8")
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    for number, (begin, finish) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        # If no row is free, all existing rows are occupied, so the next one is new.
        row = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (finish, row))
        rows[number] = row
    return rows


def unique_id(text: str, taken: set[int]) -> int:
    """Return a number for a text: the same in all files, unless two texts of a file collide."""
    number = zlib.crc32(text.encode("utf-8", "replace")) & _LARGEST or 1
    while number in taken:
        number = number % _LARGEST + 1
    taken.add(number)
    return number


def _process_name(task: str, device: str, otherwise: str = "unknown device") -> dict[str, str]:
    """Return the argument that names a process, to which Perfetto adds the number: ``worker 0 · GPU:0``."""
    return {"name": lane_label(task, device, "") or task or otherwise}


def described(
    what: str, order: int, arguments: dict[str, str], pid: int, tid: int = 0
) -> list[dict[str, Any]]:
    """Return the events that name a ``process`` or ``thread`` and give its position."""
    return [
        {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": arguments},
        {"ph": "M", "name": f"{what}_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": order}},
    ]


WRITER = "tfvis_nb"
"""Marks files written by this module."""

_TIMES = ("scheduled_ns", "compute_start_ns", "compute_end_ns")
_DERIVED = "derived"
"""The category of counters derived from events, which are not read back."""


def write_chrome_trace(trace: Trace, path: str | Path, *, arrows: bool = True) -> Path:
    """Write a trace as a file of Chrome trace events, compressed if it ends in ``.gz``; return the path."""
    path = Path(path)
    data = chrome_trace_text(trace, arrows=arrows).encode("ascii")
    with whole(path) as file:
        file.write_bytes(gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data)
    return path


def chrome_trace_text(trace: Trace, *, arrows: bool = True) -> str:
    """Write a trace in the Chrome trace event format.

    Bars have the names, times (whole microseconds) and ``args`` of TensorFlow's own ``timeline.py``, plus
    exact nanoseconds, bytes and devices. Bars that it calls ``unknown``, and copies, have descriptive names:
    ``MemcpyH2D``, ``Memset``, ``RecvBuf``; the ``name`` of a ``RecvTensor`` is the node that made its tensor.
    Each device is a process and each lane one or more threads, in display order; bars of a thread never
    overlap. Arrows, unless `arrows` is False, are all of ``trace.edges``, of the category ``data``,
    ``control``, ``transfer``, ``launch`` or ``flow``; counters show allocated memory by allocator, and
    ``trace.counters``. ``args`` have the data for finding edges: ``input0``, ``input1`` and so on from the
    label, ``graph_inputs`` missing there, and numbers that link events, in a profiler ``launch``,
    ``produced``, ``consumed`` and ``instance``, in a Chrome trace ``flows_out`` and ``flows_in``; and
    ``executor_device`` and ``raw_device``, the names of streams. A predicted trace has ``prediction`` and
    ``predicted_steps`` in ``otherData``, see `tfvis_nb.core.metadata.SUBJECTS`, and ``moved_ns`` and
    ``recorded_duration_ns`` in ``args``. Lanes that repeat others, ``stream:all`` and ``/memcpy``, are left
    out, as in ``trace.events``. `tfvis_nb.read_trace` restores the same rows and edges, and two merged files
    show a device with the same lanes once.
    """
    rows = place_rows(trace.events)
    body = {
        "displayTimeUnit": "ns",
        "otherData": {
            "writer": WRITER,
            "title": trace.title,
            **notes_to_json(trace.notes),
            "steps": trace.step_labels,
            "clocks": to_json(trace.clock_bounds),
            **metadata_json(portable(trace.metadata)),
        },
        "traceEvents": rows.metadata
        + memory_counters(trace, rows)
        + counter_events(trace, rows)
        + _bars(trace, rows)
        + (_flows(trace, rows) if arrows else []),
    }
    return json.dumps(body, separators=(",", ":"))


def _microseconds(events: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return start and end, each truncated to whole microseconds, like TensorFlow."""
    start = events["start_ns"].to_numpy()
    return start // 1000, (start + events["duration_ns"].to_numpy()) // 1000


def _bars(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    events = trace.events
    start, end = _microseconds(events)
    ops = events["op"].astype("str")
    # A kernel or host activity without an op still has a name, which a bar needs.
    labels = ops.where(ops != "", events["name"])
    columns = zip(
        labels.tolist(),
        events["kind"].tolist(),
        rows.pid.tolist(),
        rows.tid.tolist(),
        start.tolist(),
        (end - start).tolist(),
        _arguments(trace, ops),
        strict=True,
    )
    return [
        {"ph": "X", "cat": kind, "name": label, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
        for label, kind, pid, tid, ts, dur, args in columns
    ]


def _arguments(trace: Trace, ops: pd.Series) -> list[dict[str, Any]]:
    """Return the arguments of a bar, shown by viewers on click; ``event`` is its row in ``trace.events``."""
    events = trace.events
    columns = (events["name"], ops, events["step"], events["start_ns"], events["duration_ns"])
    exact = zip(*(column.tolist() for column in columns), strict=True)
    # JavaScript viewers would round epoch nanoseconds given as numbers.
    arguments: list[dict[str, Any]] = [
        {
            "name": name,
            "op": op,
            "event": event,
            "step": step,
            "start_ns": str(start),
            "duration_ns": duration,
        }
        for event, (name, op, step, start, duration) in enumerate(exact)
    ]
    for column in OPTIONAL:
        values = events[column].astype(object)
        for event, value in values[values.notna() & (values != "")].items():
            arguments[int(str(event))][column] = str(value) if column in _TIMES else value
    for column, row, value in _recorded(trace.nested):
        arguments[row][column] = value
    executed = is_kind(events, "op", "collective")
    for event, label in events["detail"][executed].items():
        for position, name in enumerate(input_names(str(label))):
            arguments[int(str(event))][f"input{position}"] = name
    for column in (FLOWS_OUT, FLOWS_IN):
        if trace.nested is not None and column in trace.nested.column_names:
            for event, numbers in enumerate(trace.nested[column].to_pylist()):
                if numbers:
                    arguments[event][column] = [str(number) for number in numbers]
    for event, names in _beyond_labels(trace).items():
        arguments[event][GRAPH_INPUTS] = names
    return arguments


def _beyond_labels(trace: Trace) -> dict[int, list[str]]:
    """Return the events whose labels lack inputs, and these inputs."""
    rows = executor_rows(trace.events)
    row, given = graph_inputs(trace, rows)
    lacking: dict[int, list[str]] = {}
    labels = trace.events["detail"].fillna("").tolist()
    listed: dict[int, set[str]] = {}
    for event, name in zip(rows[row].tolist(), given.to_pylist(), strict=True):
        if event not in listed:
            listed[event] = set(input_names(labels[event]))
        if name not in listed[event]:
            lacking.setdefault(event, []).append(name)
    return lacking


def _recorded(nested: pa.Table | None) -> Iterator[tuple[str, int, str]]:
    """Yield additional data for edges and the order of kernels: column, event and value."""
    for column in (*LINKING, MOVED, RECORDED_DURATION):
        rows, numbers = link_numbers(nested, column)
        for row, number in zip(rows.tolist(), numbers.tolist(), strict=True):
            yield column, row, str(number)
    if nested is not None and EXECUTOR in nested.column_names:
        devices = nested[EXECUTOR].to_pandas().astype(object)
        for row in np.flatnonzero(devices.notna()).tolist():
            yield EXECUTOR, row, str(devices.iloc[row])
    if nested is not None and "raw_device" in nested.column_names:
        names = pd.Categorical(nested["raw_device"].to_pandas())
        categories = [str(name) for name in names.categories]
        streams = np.array([STREAM.search(name) is not None for name in categories] + [False])
        for row in np.flatnonzero(streams[names.codes]).tolist():
            yield "raw_device", row, categories[names.codes[row]]


def input_names(label: str) -> list[str]:
    """Return the inputs in an executor row's label, ``name = op(input, input)``."""
    closing = label.rfind(")")
    opening = label.rfind("(", 0, max(closing, 0))
    if opening < 0 or " = " not in label[:opening]:
        return []
    inputs = label[opening + 1 : closing]
    return inputs.split(", ") if inputs else []


def _flows(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    """Pair up the ends of each arrow, with a separate ``id``."""
    edges = trace.edges
    start, end = _microseconds(trace.events)
    # Viewers attach an arrow to the bar open at its time, and a bar is no longer open at its end.
    leave = np.maximum(end - 1, start).tolist()
    # Merged files must not share the numbers of their arrows.
    own = zlib.crc32(f"{start[:1]}{end[-1:]}{len(start)}{trace.title}".encode("utf-8", "replace"))
    arrive, pid, tid = start.tolist(), rows.pid.tolist(), rows.tid.tolist()
    flows = []
    pairs = zip(edges["source"].tolist(), edges["target"].tolist(), edges["kind"].tolist(), strict=True)
    for number, (source, target, kind) in enumerate(pairs):
        common = {"cat": kind, "name": kind, "id": f"0x{own:08x}{number:07x}"}
        flows += [
            {"ph": "s", **common, "pid": pid[source], "tid": tid[source], "ts": leave[source]},
            {"ph": "f", "bp": "e", **common, "pid": pid[target], "tid": tid[target], "ts": arrive[target]},
        ]
    return flows


def counter_events(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    """Make an event for each counter value of a trace, in the processes of their devices."""
    events: list[dict[str, Any]] = []
    processes = _Processes(trace, rows)
    for category, table in ((COUNTER, trace.recorded_counters), (_DERIVED, buffer_fill(trace))):
        names = ("counter", "series", "unit", "task", "device")
        texts = [table[name].astype(object).tolist() for name in names]
        time = table["time_ns"].to_numpy()
        numbers = [(time // 1000).tolist(), time.tolist(), table["value"].tolist()]
        events += [
            {
                "ph": "C",
                "cat": category,
                "name": counter,
                "pid": processes.of(task, device),
                "tid": 0,
                "ts": micros,
                "args": {series: value},
                # Viewers only show values in the arguments.
                "time_ns": str(exact),
                "task": task,
                "device": device,
                "unit": unit,
            }
            for counter, series, unit, task, device, micros, exact, value in zip(
                *texts, *numbers, strict=True
            )
        ]
    return processes.named + events


class _Processes:
    """The processes of devices: those of their events, and new ones, named by events in `named`."""

    def __init__(self, trace: Trace, rows: ChromeRows) -> None:
        self.named: list[dict[str, Any]] = []
        task, device = (trace.events[name].cat for name in ("task", "device"))
        code = task.codes.to_numpy(np.int64) * (len(device.categories) + 1) + device.codes.to_numpy(np.int64)
        _, first = np.unique(code, return_index=True)
        places: pd.DataFrame = trace.events[["task", "device"]].take(first).astype(object)
        pids = rows.pid[first].tolist()
        self._known: dict[tuple[Any, ...], int] = dict(
            zip(places.itertuples(index=False, name=None), pids, strict=True)
        )
        self._taken = set(pids)

    def of(self, task: str, device: str) -> int:
        """Return the process of a task's device."""
        if (task, device) not in self._known:
            process = unique_id(f"{task}\n{device}", self._taken)
            self._known[task, device] = process
            name = _process_name(task, device, "counters")
            self.named += described("process", len(self._taken), name, process)
        return self._known[task, device]


def memory_counters(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    """Make a counter for each device and allocator: the bytes allocated by its ops and not yet freed.

    Each step counts from 0, because memory allocated before a step is not in its records.
    """
    return _recorded_memory(trace, rows) + _estimated_memory(trace, rows)


def _recorded_memory(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    if trace.nested is None or "memory" not in trace.nested.column_names or not len(trace.events):
        return []
    event_of_use, uses = exploded(trace.nested["memory"].combine_chunks())
    use_of_record, flat = exploded(uses.field("records"))
    if not len(flat):
        return []
    allocators = categories(uses, "allocator")
    names = allocators.categories.tolist()
    allocator = allocators.codes[use_of_record]
    event = event_of_use[use_of_record]
    micros, size = (numbers(flat, name) for name in ("micros", "bytes"))
    step = trace.events["step"].to_numpy()[event]
    pid = rows.pid[event]
    # If buffers are freed and allocated in the same microsecond, frees come first, to avoid a false peak.
    order = np.lexsort((size, micros, step, allocator, pid))
    keys = np.stack([pid, allocator, step])[:, order]
    begins = np.concatenate([[True], (np.diff(keys) != 0).any(axis=0)])
    total = np.cumsum(size[order])
    before = np.concatenate([[0], total[:-1]])[begins]
    level = total - before[np.cumsum(begins) - 1]
    last_of_time = np.concatenate([begins[1:] | (np.diff(micros[order]) != 0), [True]])
    return [
        _counter(f"{names[which]} allocated", process, time, bytes_)
        for process, which, time, bytes_ in zip(
            keys[0][last_of_time].tolist(),
            keys[1][last_of_time].tolist(),
            micros[order][last_of_time].tolist(),
            level[last_of_time].tolist(),
            strict=True,
        )
    ]


def _estimated_memory(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    """Make the counters of allocators without records, in the process of the first op that used each."""
    curve, buffers = trace.memory, trace.lifetimes
    curve, buffers = curve[curve["estimated"]], buffers[buffers["estimated"] & (buffers["event"] >= 0)]
    numbers, first = np.unique(curve_numbers(buffers), return_index=True)
    process = dict(zip(numbers.tolist(), rows.pid[buffers["event"].to_numpy()[first]].tolist(), strict=True))
    table = curve.assign(curve=curve_numbers(curve))
    return [
        _counter(f"{allocator} estimated", process[number], time // 1000, bytes_)
        for number, allocator, time, bytes_ in table[["curve", "allocator", "time_ns", "bytes"]].itertuples(
            index=False, name=None
        )
        if number in process
    ]


def _counter(name: str, process: int, micros: int, bytes_: int) -> dict[str, Any]:
    return {
        "ph": "C",
        "cat": "memory",
        "name": name,
        "pid": process,
        "tid": 0,
        "ts": micros,
        "args": {"bytes": bytes_},
    }
