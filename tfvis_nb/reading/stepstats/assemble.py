"""Make a `Trace` from recorded steps: all passes over the rows, in order.

Rows of ``/host:CPU`` (TF 1.14 to 2.3) repeat executor ops, from the point of view of the thread that ran or
merely enqueued them, so they have their own lanes and kind.
"""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.columns import (
    CODED,
    WORDED,
    EventColumns,
    Vocabularies,
    blank_codes,
    blank_texts,
    nullable,
)
from tfvis_nb.reading.stepstats import label_grammar
from tfvis_nb.reading.stepstats.executor_rows import executor_part
from tfvis_nb.reading.stepstats.gpu_clock import align_gpu_clocks
from tfvis_nb.reading.stepstats.gpu_rows import gpu_part, gpu_texts
from tfvis_nb.reading.stepstats.gpu_tasks import GpuTasks
from tfvis_nb.reading.stepstats.merged_runs import SOURCE, separate_runs
from tfvis_nb.reading.stepstats.nested import nested_table
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.reading.stepstats.source_rows import Source
from tfvis_nb.reading.stepstats.timestamps import ABSURD, Times, read_times
from tfvis_nb.texts import Text


def assemble(recorded: Sequence[RecordedStep], title: str = "") -> Trace:
    """Make a `Trace` from recorded steps, numbered from 0 in order; merged runs become steps."""
    runs = [separate_runs(step) for step in recorded]
    steps = [run for of_step in runs for run in of_step]
    # Arrow releases the GIL, so independent work runs in parallel.
    notes = list(dict.fromkeys(note for step in steps for note in step.notes))
    if merged := sum(len(of_step) for of_step in runs if len(of_step) > 1):
        notes.append(Text("steps_by_source_rows", steps=merged, source=SOURCE))
    source = Source(steps)
    _note_devices(source, notes)
    if repeated := sum(step.repeated for step in steps):
        notes.append(Text("aggregate_rows_left_out", rows=repeated))
    blocks = GpuTasks(source, notes)
    vocabularies = Vocabularies()
    families = np.array([place.family for place in source.places])
    with ThreadPoolExecutor(1) as other:
        texts = other.submit(gpu_texts, source, source.rows_of(families == "gpu"))
        executors = executor_part(
            source, source.rows_of((families == "executor") | (families == "unknown")), vocabularies, notes
        )
    gpu = gpu_part(source, texts.result(), blocks, vocabularies, executors)
    host = host_part(source, source.rows_of(families == "host"), blocks, vocabularies, notes)
    ran = np.zeros(source.rows, bool)
    ran[executors.rows[executors.kind != vocabularies.kind.code("transfer")]] = True
    times = read_times(source, ran, notes)
    align_gpu_clocks(source, blocks, executors, gpu, times, vocabularies, notes)
    parts = [executors, gpu, host]
    rows = np.concatenate([part.rows for part in parts])
    usable = _usable(source, rows, times, notes)
    order = np.flatnonzero(usable)
    kept = rows[order]
    order = order[_in_order(times.start[kept], times.duration[kept], kept)]
    with ThreadPoolExecutor(1) as other:
        nested = other.submit(nested_table, source, rows[order])
        details = other.submit(lambda: source.details.take(pa.array(rows[order])).cast(pa.large_string()))
        columns = _columns(source, parts, order, rows[order], times, vocabularies)
        table = event_table.build(columns | {"detail": details.result()})
    return Trace(
        table,
        nested=nested.result(),
        graphs=[step.graphs for step in steps] if any(step.graphs for step in steps) else (),
        run_metadata=rest if any(rest := [step.run_metadata for step in steps]) else (),
        notes=notes,
        title=title,
        step_labels={number: step.name for number, step in enumerate(steps) if step.name},
    )


def _columns(
    source: Source,
    parts: list[EventColumns],
    order: np.ndarray,
    rows: np.ndarray,
    times: Times,
    vocabularies: Vocabularies,
) -> dict[str, object]:
    """Return the columns of events: `order` are indexes into the concatenated parts, `rows` source rows."""
    columns: dict[str, object] = {}
    for name in CODED:
        codes = np.concatenate([getattr(part, name) for part in parts])[order]
        columns[name] = getattr(vocabularies, name).categorical(codes)
    take = pa.array(order)
    for name in WORDED:
        columns[name] = pa.chunked_array([getattr(part, name) for part in parts]).combine_chunks().take(take)
    size_bytes = np.concatenate([part.size_bytes for part in parts])[order]
    thread = source.numbers("thread_id")[rows].astype(np.int64)
    columns |= {
        "step": source.step[source.entry[rows]].astype(np.int32),
        "start_ns": times.start[rows],
        "duration_ns": times.duration[rows],
        "scheduled_ns": nullable(times.scheduled[rows], times.has_scheduled[rows]),
        "compute_start_ns": nullable(times.compute_start[rows], times.has_compute[rows]),
        "compute_end_ns": nullable(times.compute_end[rows], times.has_compute[rows]),
        "thread": nullable(thread, thread != 0),
        "bytes": nullable(size_bytes, size_bytes >= 0),
    }
    return columns


def _usable(source: Source, rows: np.ndarray, times: Times, notes: list[str]) -> np.ndarray:
    """Return a mask of `rows` whose start is near the rest of its step; the others are set aside.

    One GPU tracer writes 0 or a wrapped number for missing times. Such a row would stretch the picture over
    centuries. Zeros do not count as times beside others, even if they are the most.
    """
    usable: np.ndarray = ~times.unusable[rows]
    starts = times.start[rows].astype(np.float64)
    if usable.all() and np.ptp(starts) <= ABSURD:
        return usable
    step = source.step[source.entry[rows]]
    latest = pd.Series(np.where(usable, np.abs(starts), 0)).groupby(step).transform("max").to_numpy()
    missing = usable & (starts == 0) & (latest > ABSURD)
    usable &= ~missing
    start = pd.Series(np.where(usable, starts, np.nan))
    # The upper median is the time of a row, even between two clusters.
    middle = start.groupby(step).quantile(0.5, interpolation="higher")
    usable &= np.abs(start.to_numpy() - middle.reindex(step).to_numpy()) <= ABSURD
    for key, left_out in (("rows_without_time", missing), ("rows_set_aside", ~usable & ~missing)):
        if left_out.any():
            example = source.names[int(rows[left_out][0])].as_py()
            notes.append(Text(key, rows=int(left_out.sum()), example=example[:80]))
    return usable


def _in_order(start: np.ndarray, duration: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the order by start; among equal starts longer ones first, then by row.

    Rows are mostly in order, for which a stable sort by one key is fast; few starts are equal.
    """
    order = np.argsort(start, kind="stable")
    starts = start[order]
    tied = np.zeros(len(starts), bool)
    tied[1:] = starts[1:] == starts[:-1]
    tied[:-1] |= tied[1:]
    some = order[tied]
    order[tied] = some[np.lexsort((rows[some], -duration[some], start[some]))]
    return order


def _note_devices(source: Source, notes: list[str]) -> None:
    """Note devices with several entries, and unknown devices."""
    seen: set[tuple[int, str]] = set()
    merged = 0
    for step, device, place in zip(source.step.tolist(), source.devices, source.places, strict=True):
        merged += (step, device) in seen and bool(place.task)
        seen.add((step, device))
    if merged:
        notes.append(Text("devices_merged", entries=merged))
    if doubled := sum(step.doubled for step in source.steps):
        notes.append(Text("rows_twice", rows=doubled))
    unknown = sorted(
        {
            device
            for device, place in zip(source.devices, source.places, strict=True)
            if place.family == "unknown"
        }
    )
    if unknown:
        notes.append(Text("unknown_devices", devices=", ".join(repr(name[:80]) for name in unknown[:5])))


_STEP = re.compile(r"id=(?P<id>\d+),device=(?P<device>[^,]*)")


def host_part(
    source: Source, rows: np.ndarray, blocks: GpuTasks, vocabularies: Vocabularies, notes: list[str]
) -> EventColumns:
    """Read the rows of host threads; each lane is a thread, with its recorded name plus its id."""
    count = len(rows)
    entry = source.entry[rows]
    raw = source.pick(source.names, rows)
    detail = source.labels_of(rows)
    encoded = raw.dictionary_encode()
    node, op = label_grammar.node_and_op(encoded.dictionary)
    device = [
        f"{task}{place.device.removeprefix(place.task)}"
        for task, place in zip(blocks.task, source.places, strict=True)
    ]
    if count:
        notes.append(Text("host_rows", rows=count))
        _warn_of_other_steps(detail, notes)
    return EventColumns(
        rows=rows,
        task=np.array([vocabularies.task.code(task) for task in blocks.task], np.int32)[entry],
        device=np.array([vocabularies.device.code(name) for name in device], np.int32)[entry],
        lane=_thread_lanes(source, entry, source.numbers("thread_id")[rows], vocabularies),
        kind=np.full(count, vocabularies.kind.code("host"), np.int32),
        op=vocabularies.op.codes(op.take(encoded.indices)),
        source=blank_codes(count),
        destination=blank_codes(count),
        name=pc.coalesce(node, encoded.dictionary).take(encoded.indices),
        tensor=blank_texts(count),
        detail=detail,
        size_bytes=np.full(count, -1, np.int64),
    )


def _thread_lanes(
    source: Source, entry: np.ndarray, thread: np.ndarray, vocabularies: Vocabularies
) -> np.ndarray:
    """Return the lane of each row; it includes the thread id, because several threads may share a name."""
    pairs = entry.astype(np.int64) << 32 | thread.astype(np.int64)
    distinct, which = np.unique(pairs, return_inverse=True)
    codes = []
    for pair in distinct.tolist():
        number = pair & 0xFFFFFFFF
        name = source.threads[pair >> 32].get(number, "thread")
        codes.append(vocabularies.lane.code(f"{name}/{number}"))
    return np.array(codes, np.int32)[which]


def _warn_of_other_steps(detail: pa.Array, notes: list[str]) -> None:
    """Note that rows have several step ids: a lane may contain the step of another worker."""
    counts: dict[str, dict[str, int]] = {}
    for label in detail.value_counts().to_pylist():
        if match := _STEP.match(label["values"]):
            ids = counts.setdefault(match["device"], {})
            ids[match["id"]] = ids.get(match["id"], 0) + label["counts"]
    strangers = sum(sum(ids.values()) - max(ids.values()) for ids in counts.values())
    if strangers:
        notes.append(Text("host_rows_of_other_steps", rows=strangers))
