"""Read the SQLite exports of Nsight Systems: work of GPUs, calls of CUDA, NVTX ranges, and GPU metrics."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core import counters
from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.metadata import DEVICES, Metadata, table_of
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import LATEST_NS, NO_STEP
from tfvis_nb.reading.chrome import gpu as chrome_gpu
from tfvis_nb.reading.chrome.slices import BINDING, UNUSABLE, Slices
from tfvis_nb.reading.chrome.slices import Columns as Bars
from tfvis_nb.reading.chrome.table import EPOCH, make_trace, masked, of_texts, thread_lanes, thread_numbers
from tfvis_nb.reading.chrome.values import listed
from tfvis_nb.reading.nsys.database import MISSING, Columns, opened
from tfvis_nb.reading.nsys.tables import FACTS, READ, Export, of_distinct
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.unpacking import Allowance
from tfvis_nb.reading.sources.unrecognised import is_session, is_sqlite
from tfvis_nb.reading.stepstats.timestamps import ABSURD
from tfvis_nb.texts import Text

_OF_NVPROF = "StringTable"
"""A table of nvprof, some of whose other tables have the same names."""

_MOST_BYTES = 1 << 48
"""No GPU has as much memory to copy or set."""
_TASK = "/job:worker/replica:0/task:{}"
_UNIT = re.compile(r" ?\[(?:Throughput )?([^\[\]]{1,12})\]$")
_STEP = re.compile(
    r"(?:(?:train(?:ing)?|global|mini|profiler)[ _-]?)?(?:step|iter(?:ation)?|batch)[ _:#=-]*\d+",
    re.IGNORECASE,
)


def is_database(data: Data) -> bool:
    """Return whether `data` is an SQLite database, unless it is a session, which other code reads."""
    return is_sqlite(data) and not is_session(data)


def read(data: Data, label: str, *, allowance: Allowance) -> Trace:
    """Read an SQLite export of Nsight Systems."""
    with opened(data, label, allowance) as database:
        if _OF_NVPROF in database.columns or not database.columns.keys() & {"StringIds", *READ}:
            raise TraceFormatError(Text("foreign_format", label=label, what=Text("is_sqlite")), foreign=True)
        export = Export(database)
        rows, notes = _usable(export.rows())
    if not len(rows["start"]):
        raise EmptyTraceError(Text("nsys_without_events", label=label))
    if np.median(rows["start"]) > EPOCH:
        # nsys export --ts-normalize=true
        export.origin = 0
    return _trace(export, rows, notes)


@dataclass
class _Places:
    """The tasks of processes that used a GPU, and the names of devices.

    - `tasks`: Process to its task, which is empty if it is the only one.
    - `others`: Other processes, and the names by which they stand for a device.
    """

    tasks: dict[int, str]
    others: dict[int, str]

    @classmethod
    def of(cls, rows: Columns, names: Mapping[int, Any]) -> _Places:
        """Find the processes of some rows."""
        every = sorted(set(rows["process"].tolist()), key=lambda process: (process & 0xFFFFFF, process))
        used = set(rows["process"][rows["device"] >= 0].tolist())
        working = [process for process in every if process in used] or every[:1]
        texts = [""] if len(working) == 1 else [_TASK.format(number) for number in range(len(working))]
        tasks = dict(zip(working, texts, strict=True))
        others = {
            process: f"{names.get(process) or 'process'} {process & 0xFFFFFF}"
            for process in every
            if process not in tasks
        }
        return cls(tasks, others)

    def device(self, process: int, number: int) -> str:
        """Return the name of a GPU, of the host with the number -1, or of nothing."""
        if number == MISSING:
            return ""
        if process in self.others:
            return self.others[process]
        return self.tasks[process] + (f"/device:GPU:{number}" if number >= 0 else "/device:CPU:0")


def _trace(export: Export, rows: Columns, notes: list[str]) -> Trace:
    correlation, known = _correlated(rows)
    is_wait = rows["kind"] == "sync"
    rows["device"] = _of_contexts(rows, is_wait)
    is_work = rows["device"] >= 0
    launch = chrome_gpu.launches(correlation, known, ~is_work, is_work & ~is_wait)
    call = chrome_gpu.launches(correlation, known, ~is_work, is_wait)
    for text in ("name", "detail"):
        rows[text] = np.where(call >= 0, rows[text][call], rows[text])
    places = _Places.of(rows, export.processes)
    if len(places.tasks) > 1:
        pids = listed([str(process & 0xFFFFFF) for process in places.tasks])
        notes.append(Text("processes_as_tasks", tasks=len(places.tasks), pids=pids))
    threads, first = number_rows(rows["process"], rows["thread"])
    pairs = zip(rows["process"][first].tolist(), rows["thread"][first].tolist(), strict=True)
    keys = [(process, None if thread == MISSING else thread) for process, thread in pairs]
    bars = Bars(
        name=pa.array(rows["name"], pa.large_string()),
        category=pa.repeat(pa.scalar("", pa.large_string()), len(launch)),
        detail=pa.array(rows["detail"], pa.large_string()),
        thread=threads,
        threads=keys,
        start=rows["start"],
        duration=rows["end"] - rows["start"],
        arguments={BINDING: [None] * len(launch)},
    )
    slices = Slices(names={key: name for key in keys if (name := export.threads.get(key))})
    lanes = np.where(is_work, _streams(rows), np.array([*thread_lanes(slices, bars), ""], object)[threads])
    device = {
        name: _named(places, rows["process"], rows[name]) for name in ("device", "source", "destination")
    }
    when = rows["start"][launch]
    launched = (launch >= 0) & (np.abs(when - rows["start"]) <= ABSURD)
    table: dict[str, Any] = {
        "task": of_texts(pa.array([places.tasks.get(process, "") for process, _ in keys]).take(threads)),
        **{name: of_texts(pa.array(texts, pa.large_string())) for name, texts in device.items()},
        "lane": of_texts(pa.array(np.where(rows["lane"] == "", lanes, rows["lane"]), pa.large_string())),
        "kind": of_texts(pa.array(rows["kind"], pa.large_string())),
        "op": of_texts(pa.array(rows["op"], pa.large_string())),
        "thread": thread_numbers(bars),
        "bytes": masked(rows["bytes"], (rows["bytes"] >= 0) & (rows["bytes"] < _MOST_BYTES)),
        "scheduled_ns": masked(when + export.origin, launched),
    }
    step, labels = _steps(rows, np.where(launched, when, rows["start"]))
    if labels:
        table["step"] = step
        notes.append(Text("steps_by_ranges", marks=len(labels), name=labels[0][:80]))
    trace = make_trace(
        *(bars, table, slices),
        origin=export.origin,
        notes=[*export.notes, *notes],
        nested=_links(rows, correlation, known, launch),
        metadata=_hardware(export, places, rows),
    )
    trace.step_labels = dict(enumerate(labels))
    trace.recorded_counters, lost = _counters(export, places, int(np.median(rows["start"])))
    trace.notes += lost
    return trace


def _usable(rows: Columns) -> tuple[Columns, list[str]]:
    """Leave out rows without usable times, and end ranges that are still open."""
    start, end = rows["start"], rows["end"]
    notes: list[str] = []
    good = (np.abs(start.astype(np.float64)) <= LATEST_NS // 2) & (end <= LATEST_NS // 2)
    is_open = rows["range"] & (end == MISSING)
    if (is_open & good).any():
        notes.append(Text("bars_without_end", bars=int((is_open & good).sum())))
        last = max(int(start[good].max()), int(end[good].max()))
        end = np.where(is_open, last, end)
    good &= end >= start
    if not good.all():
        notes.append(Text(UNUSABLE, bars=int((~good).sum())))
    return {name: values[good] for name, values in (rows | {"end": end}).items()}, notes


def _correlated(rows: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return a number for the call that each row is, or that launched it, and a mask of rows with one.

    Numbers in the file are unique within a process. Early versions do not record the process of GPU work:
    here it becomes that of the call with the same number, else of any call.
    """
    correlation, process = rows["correlationId"], rows["process"]
    known = correlation > 0
    lost = process == MISSING
    if lost.any():
        calls = np.flatnonzero(~lost)
        call = chrome_gpu.launches(correlation, known, ~lost & (rows["device"] < 0), lost)
        process[lost] = process[calls[0]] if len(calls) else 0
        process[call >= 0] = process[call[call >= 0]]
    return number_rows(process, correlation)[0], known


def _of_contexts(rows: Columns, is_wait: np.ndarray) -> np.ndarray:
    """Return the device of each row: synchronizations have that of other work of their context.

    Nsight Systems writes 0 for all of them.
    """
    context, first = number_rows(rows["process"], rows["contextId"])
    works = np.flatnonzero((rows["device"] >= 0) & ~is_wait)
    device = np.full(len(first), MISSING)
    device[context[works]] = rows["device"][works]
    found = device[context]
    of_rows: np.ndarray = np.where(is_wait & (found != MISSING), found, rows["device"])
    return of_rows


def _streams(rows: Columns) -> np.ndarray:
    """Return the lane of work on a stream: a GPU's first context needs no name there."""
    stream, context = rows["streamId"], rows["contextId"]
    gpu, _ = number_rows(rows["process"], rows["device"])
    least = pd.Series(context).groupby(gpu).transform("min").to_numpy()
    other = np.where(context == least, MISSING, context)
    number, first = number_rows(stream, other)
    lanes = [
        ("" if context == MISSING else f"context:{context} ") + f"stream:{max(stream, 0)}"
        for stream, context in zip(stream[first].tolist(), other[first].tolist(), strict=True)
    ]
    named: np.ndarray = np.array([*lanes, ""], object)[number]
    return named


def _named(places: _Places, process: np.ndarray, device: np.ndarray) -> np.ndarray:
    number, first = number_rows(process, device)
    pairs = zip(process[first].tolist(), device[first].tolist(), strict=True)
    named: np.ndarray = np.array([*(places.device(*pair) for pair in pairs), ""], object)[number]
    return named


def _links(rows: Columns, correlation: np.ndarray, known: np.ndarray, launch: np.ndarray) -> pa.Table | None:
    """Return the number that a call shares with the work it launched, where both were recorded."""
    linked = launch >= 0
    if not linked.any():
        return None
    # Merged traces must not share numbers.
    salt = zlib.crc32(rows["start"].tobytes()) << 31
    linked[launch[linked]] = True
    return pa.table({"launch": pa.array(correlation ^ salt, mask=~(linked & known))})


def _steps(rows: Columns, when: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Number the steps by ranges such as ``step 3``, of all processes together, and return their names.

    Work of a GPU belongs to the step of its launch. Rows outside the ranges of their process have `NO_STEP`.
    """
    is_step = of_distinct(rows["name"], lambda name: _STEP.fullmatch(name) is not None).astype(bool)
    marks = np.flatnonzero(is_step & rows["range"])
    process, _ = number_rows(rows["process"])
    numbers: dict[tuple[str, int], int] = {}
    ended: dict[int, int] = {}
    again: Counter[tuple[int, str]] = Counter()
    spans = []
    for mark in marks[np.lexsort((-rows["end"][marks], rows["start"][marks]))].tolist():
        owner, name = int(process[mark]), str(rows["name"][mark])
        # A step inside another, such as a batch in an iteration, is a part of it.
        if rows["start"][mark] >= ended.get(owner, MISSING):
            ended[owner] = int(rows["end"][mark])
            spans.append((mark, numbers.setdefault((name, again[owner, name]), len(numbers))))
            again[owner, name] += 1
    if not spans:
        return np.zeros(0, np.int32), []
    mark, number = (np.array(side, np.int64) for side in zip(*spans, strict=True))
    # The last span of its process that has started counts for each row.
    starts = pd.DataFrame({"at": rows["start"][mark], "of": process[mark], "span": np.arange(len(mark))})
    table = pd.DataFrame({"at": when, "of": process}).sort_values("at", kind="stable")
    found = pd.merge_asof(table, starts, on="at", by="of")["span"].fillna(-1).to_numpy(np.int64)
    span = np.empty(len(when), np.int64)
    span[table.index] = found
    inside = (span >= 0) & (when < rows["end"][mark][span])
    return np.where(inside, number[span], NO_STEP).astype(np.int32), [name for name, _ in numbers]


def _gpus(export: Export, places: _Places) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """Yield the row of each GPU, and the tasks and numbers that it has in the processes that use GPUs."""
    tasks = {process & 0xFFFFFF: task for process, task in places.tasks.items()}
    columns = (export.cuda_devices[name].tolist() for name in ("gpuId", "pid", "cudaId"))
    uses: dict[int, list[tuple[str, int]]] = {}
    for used, pid, number in sorted({*zip(*columns, strict=True)}):
        if pid in tasks:
            uses.setdefault(used, []).append((tasks[pid], number))
    for row, gpu in enumerate(export.gpus["id"].tolist()):
        if uses or len(tasks) > 1:
            yield row, uses.get(gpu, [])
        else:
            # Older versions number GPUs as the only process does.
            number = int(export.gpus["cuDevice"][row])
            yield row, [("", number if number >= 0 else gpu)]


def _hardware(export: Export, places: _Places, rows: Columns) -> Metadata:
    """Return the facts about the GPUs that were used: a table of `tfvis_nb.core.metadata`."""
    _, first = number_rows(rows["process"], rows["device"])
    pairs = zip(rows["process"][first].tolist(), rows["device"][first].tolist(), strict=True)
    used = {(places.tasks.get(process), number) for process, number in pairs}
    found = []
    for row, own in _gpus(export, places):
        facts: dict[str, Any] = {
            column: value for name, column in FACTS.items() if (value := int(export.gpus[name][row])) > 0
        }
        if name := export.gpus["name"][row]:
            facts["model"] = name
        capability = [int(export.gpus[name][row]) for name in ("computeMajor", "computeMinor")]
        if min(capability) >= 0:
            facts["compute_capability"] = "{}.{}".format(*capability)
        found += [
            {"task": task, "device": f"/device:GPU:{number}", **facts}
            for task, number in own
            if (task, number) in used
        ]
    return {DEVICES: table_of(DEVICES, found)} if found else {}


def _counters(export: Export, places: _Places, middle: int) -> tuple[pd.DataFrame, list[str]]:
    """Return GPU metrics as counters, and a note on values left out, such as those far from `middle`."""
    samples = export.samples
    time = samples["timestamp"]
    good = (np.abs(time.astype(np.float64) - middle) <= ABSURD) & np.isfinite(samples["value"])
    lost = int((~good).sum())
    notes: list[str] = [Text("counter_values_left_out", values=lost)] if lost else []
    number, first = number_rows(samples["typeId"], samples["metricId"])
    types, metrics = (export.metrics[name].tolist() for name in ("typeId", "metricId"))
    names = dict(zip(zip(types, metrics, strict=True), export.metrics["metricName"], strict=True))
    devices = {}
    for row, own in _gpus(export, places):
        gpu, of_metrics = (int(export.gpus[name][row]) for name in ("id", "pwGpuId"))
        if own:
            # The library that samples metrics may number GPUs in another order.
            devices[of_metrics if of_metrics >= 0 else gpu] = own[0]
    series = []
    pairs = zip(samples["typeId"][first].tolist(), samples["metricId"][first].tolist(), strict=True)
    for kind, metric in pairs:
        name = names.get((kind, metric)) or names.get((MISSING, metric)) or f"metric {metric}"
        unit = match[1] if (match := _UNIT.search(name)) else counters.unit_of(name)
        # The last byte of a type is the number of the GPU.
        gpu = kind & 0xFF
        task, device = devices.get(gpu, ("", gpu))
        series.append((task, f"{task}/device:GPU:{device}", _UNIT.sub("", name), unit))
    columns: dict[str, Any] = {
        name: np.array([one[place] for one in series] + [""], object)[number][good]
        for place, name in enumerate(("task", "device", "counter", "unit"))
    }
    columns |= {"time_ns": time[good] + export.origin, "value": samples["value"][good]}
    return counters.build(columns), notes
