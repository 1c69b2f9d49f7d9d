"""Write a trace as Chrome trace events, which Perfetto, chrome://tracing and speedscope open."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.critical_path.device import STREAM
from tfvis_nb.analysis.dataflow.graph_inputs import graph_inputs
from tfvis_nb.analysis.dataflow.recorded_links import link_numbers
from tfvis_nb.analysis.memory.memory_usage import curve_numbers
from tfvis_nb.analysis.time_series import buffer_fill
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.clock_bounds import to_json
from tfvis_nb.core.data_types import dtype_names
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
from tfvis_nb.kinds import DEVICE, MOVING
from tfvis_nb.reading.chrome.tfvis import COUNTER
from tfvis_nb.texts import Text, notes_to_json
from tfvis_nb.writing.chrome_rows import ChromeRows, Processes, place_rows

WRITER = "tfvis_nb"
"""Marks files written by this module."""

OpTime = Literal["schedule", "gpu", "all"]

_EDGE = r"^edge_\d+_"
_TIMES = ("scheduled_ns", "compute_start_ns", "compute_end_ns")
_DERIVED = "derived"
"""The category of counters derived from events, which are not read back."""


def write_chrome_trace(
    trace: Trace,
    path: str | Path,
    *,
    arrows: bool = True,
    show_memory: bool = False,
    op_time: OpTime = "schedule",
) -> Path:
    """Write a trace as a file of Chrome trace events, compressed if it ends in ``.gz``; return the path."""
    path = Path(path)
    text = chrome_trace_text(trace, arrows=arrows, show_memory=show_memory, op_time=op_time)
    data = text.encode("ascii")
    with whole(path) as file:
        file.write_bytes(gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data)
    return path


def chrome_trace_text(
    trace: Trace, *, arrows: bool = True, show_memory: bool = False, op_time: OpTime = "schedule"
) -> str:
    """Write a trace in the Chrome trace event format.

    Bars have the names, times (whole microseconds) and ``args`` of TensorFlow's own ``timeline.py``, plus
    exact nanoseconds, bytes and devices. Bars that it calls ``unknown``, and copies, have descriptive names:
    ``MemcpyH2D``, ``Memset``. Transfers and copies have their tensor after their op: ``RecvTensor w/read``.
    Each device is a process and each lane one or more threads, in display order; bars of a thread never
    overlap. Arrows, unless `arrows` is False, are all of ``trace.edges``, of the category ``data``,
    ``control``, ``transfer``, ``launch`` or ``flow``; counters show allocated memory by allocator, and
    ``trace.counters``. ``args`` have the data for finding edges: ``input0``, ``input1`` and so on from the
    label, ``graph_inputs`` missing there, and numbers that link events, in a profiler ``launch``,
    ``produced``, ``consumed`` and ``instance``, in a Chrome trace ``flows_out`` and ``flows_in``; and
    ``executor_device`` and ``raw_device``, the names of streams. `show_memory` adds `_tensors`, and `op_time`
    moves bars as in `_shown_times`, not the times in their ``args``. A predicted trace has ``prediction`` and
    ``predicted_steps`` in ``otherData``, see `tfvis_nb.core.metadata.SUBJECTS`, and ``moved_ns`` and
    ``recorded_duration_ns`` in ``args``. Lanes that repeat others, ``stream:all`` and ``/memcpy``, are left
    out, as in ``trace.events``. `tfvis_nb.read_trace` restores the same rows and edges, and two merged files
    show a device with the same lanes once.
    """
    if op_time not in (choices := get_args(OpTime)):
        raise ValueError(
            Text("no_such_value", name="op_time", value=op_time, choices=", ".join(map(repr, choices)))
        )
    start_ns, end_ns = _shown_times(trace, op_time)
    rows = place_rows(trace.events, start_ns, end_ns)
    # TensorFlow, too, truncates both to whole microseconds.
    spans = start_ns // 1000, end_ns // 1000
    processes = Processes(trace, rows)
    counters = counter_events(trace, processes)
    tensors = _tensors(trace, rows, spans, processes) if show_memory else []
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
        + processes.named
        + counters
        + _bars(trace, rows, spans)
        + tensors
        + (_flows(trace, rows, spans) if arrows else []),
    }
    return json.dumps(body, separators=(",", ":"))


_Spans = tuple[np.ndarray, np.ndarray]
"""Start and end of each event."""


def _shown_times(trace: Trace, op_time: OpTime) -> _Spans:
    """Return when bars start and end (ns): like timeline.py, ops may be shown when their kernels ran.

    ``schedule`` is the time on the host, as recorded. Of an op that launched kernels or copies, ``all`` shows
    the time until the last of them ended, and ``gpu`` starts with the first.
    """
    start = trace.events["start_ns"].to_numpy()
    end = start + trace.events["duration_ns"].to_numpy()
    if op_time == "schedule":
        return start, end
    edges = trace.edges
    on_device = is_kind(trace.events, *DEVICE)[edges["target"].to_numpy()]
    by_op = np.isin(edges["source"], executor_rows(trace.events))
    launches = edges[(edges["kind"] == "launch") & on_device & by_op]
    op, launched = launches["source"].to_numpy(), launches["target"].to_numpy()
    last = end.copy()
    np.maximum.at(last, op, end[launched])
    if op_time == "all":
        return start, last
    first = np.full(len(start), np.iinfo(np.int64).max)
    np.minimum.at(first, op, start[launched])
    return np.where(np.isin(np.arange(len(start)), op), first, start), last


def _bars(trace: Trace, rows: ChromeRows, spans: _Spans) -> list[dict[str, Any]]:
    events = trace.events
    start, end = spans
    ops = events["op"].astype("str")
    # A kernel or host activity without an op still has a name, which a bar needs.
    labels = ops.where(ops != "", events["name"])
    # Arrow 16 cannot join texts with a column of no rows, whose type is null.
    tensor = events["tensor"].astype(object).fillna("")
    moved = (tensor != "") & is_kind(events, *MOVING)
    named = ops.astype(object) + " " + tensor.str.replace(_EDGE, "", regex=True)
    labels = labels.astype(object).where(~moved, named)
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


def _flows(trace: Trace, rows: ChromeRows, spans: _Spans) -> list[dict[str, Any]]:
    """Pair up the ends of each arrow, with a separate ``id``."""
    edges = trace.edges
    start, end = spans
    # Viewers attach an arrow to the bar open at its time, and a bar is no longer open at its end.
    leave = np.maximum(end - 1, start).tolist()
    file = _file_number(trace, spans)
    arrive, pid, tid = start.tolist(), rows.pid.tolist(), rows.tid.tolist()
    flows = []
    pairs = zip(edges["source"].tolist(), edges["target"].tolist(), edges["kind"].tolist(), strict=True)
    for number, (source, target, kind) in enumerate(pairs):
        common = {"cat": kind, "name": kind, "id": f"{file}{number:07x}"}
        flows += [
            {"ph": "s", **common, "pid": pid[source], "tid": tid[source], "ts": leave[source]},
            {"ph": "f", "bp": "e", **common, "pid": pid[target], "tid": tid[target], "ts": arrive[target]},
        ]
    return flows


def _file_number(trace: Trace, spans: _Spans) -> str:
    """Return what the numbers of arrows and tensors start with, because merged files must not share them."""
    start, end = spans
    text = f"{start[:1]}{end[-1:]}{len(start)}{trace.title}"
    return f"0x{zlib.crc32(text.encode('utf-8', 'replace')):08x}"


def _tensors(trace: Trace, rows: ChromeRows, spans: _Spans, processes: Processes) -> list[dict[str, Any]]:
    """Make an object of each recorded output, in a process for the tensors of its device.

    As in timeline.py it exists from the start of its op until the end of the last op that reads it, whenever
    its buffer was freed. If the inputs of a reader do not name the output, as after a transfer, the reader
    reads all outputs of the op.
    """
    if trace.nested is None or "outputs" not in trace.nested.column_names:
        return []
    of_event, outputs = exploded(trace.nested["outputs"].combine_chunks())
    names = trace.events["name"].fillna("").tolist()
    tensors = [
        (event, f"{names[event]}:{slot}" if slot else names[event])
        for event, slot in zip(of_event.tolist(), numbers(outputs, "slot").tolist(), strict=True)
    ]
    made: dict[int, list[int]] = {}
    for number, (event, _) in enumerate(tensors):
        made.setdefault(event, []).append(number)
    start, end = (side.tolist() for side in spans)
    until, readers = [end[event] for event, _ in tensors], Counter[int]()
    inputs = _Inputs(trace)
    edges = trace.edges[trace.edges["kind"].isin(["data", "transfer"])]
    for source, target in zip(edges["source"].tolist(), edges["target"].tolist(), strict=True):
        own = made.get(source, [])
        for number in [number for number in own if tensors[number][1] in inputs.of(target)] or own:
            readers[number] += 1
            until[number] = max(until[number], end[target] - 1)
    dtypes, file = dtype_names(), _file_number(trace, spans)
    described = outputs.to_pylist()
    task, device = (trace.events[name].astype(object).tolist() for name in ("task", "device"))
    objects = []
    for number, (event, name) in enumerate(tensors):
        output = described[number] or {}
        snapshot = {
            "dtype": dtypes.get(output.get("dtype") or 0, "unknown"),
            "shape": output.get("shape"),
            "bytes": output.get("allocated_bytes") or output.get("requested_bytes") or 0,
            "requested_bytes": output.get("requested_bytes") or 0,
            "allocator": output.get("allocator") or "",
            "readers": readers[number],
        }
        common = {"cat": "Tensor", "name": name, "id": f"{file}{number:07x}"}
        pid = processes.of(task[event], device[event], "tensors")
        common |= {"pid": pid, "tid": int(rows.tid[event])}
        done = max(end[event] - 1, start[event])
        objects += [
            {"ph": "N", **common, "ts": start[event]},
            {"ph": "O", **common, "ts": done, "args": {"snapshot": snapshot}},
            {"ph": "D", **common, "ts": until[number]},
        ]
    return objects


class _Inputs:
    """The inputs of events, by their labels and graphs."""

    def __init__(self, trace: Trace) -> None:
        self._labels = trace.events["detail"].fillna("").tolist()
        self._beyond = _beyond_labels(trace)
        self._known: dict[int, set[str]] = {}

    def of(self, event: int) -> set[str]:
        """Return the tensors that an event reads, such as ``a:1``."""
        if event not in self._known:
            self._known[event] = {*input_names(self._labels[event]), *self._beyond.get(event, ())}
        return self._known[event]


def counter_events(trace: Trace, processes: Processes) -> list[dict[str, Any]]:
    """Make an event for each counter value of a trace, in the processes of their devices."""
    events: list[dict[str, Any]] = []
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
    return events


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
