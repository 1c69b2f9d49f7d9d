"""A trace with some events of another, which keeps results computed for the whole trace.

`tfvis_nb.Trace.between` and ``trace[3]`` make one.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.critical_path.critical_path import critical_path
from tfvis_nb.analysis.critical_path.slack import slack
from tfvis_nb.analysis.dataflow.edges import edges
from tfvis_nb.analysis.idle.idle_gaps import idle_gaps
from tfvis_nb.analysis.memory.from_run_metadata import NEVER
from tfvis_nb.analysis.memory.memory_usage import curve_numbers, memory_usage
from tfvis_nb.analysis.memory.tensor_lifetimes import tensor_lifetimes
from tfvis_nb.core.annotations import carried
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.counters import within
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.metadata import (
    GC_PAUSES,
    LIVE_AT_FAILURE,
    OUT_OF_MEMORY,
    PYTHON_SAMPLES,
    RETURNS,
    Metadata,
)
from tfvis_nb.core.nested_columns import FLOWS_IN, FLOWS_OUT, GRAPH_INPUTS, LINKS
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.time_ranges import TimeRange, recorded_range
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import MOVING
from tfvis_nb.texts import Text


def subset(trace: Trace, ids: np.ndarray, edges: pd.DataFrame | None = None) -> Trace:
    """Make a trace of the events `ids`, in order; `edges` are their edges, if already known.

    Its edges are those of the whole trace with both ends in it, and waits of transfers are those of the whole
    trace. Its memory is that allocated by its own events; see `keep_memory`.
    """
    part = Trace(
        trace.events.take(ids).reset_index(drop=True),
        nested=None if trace.nested is None else trace.nested.take(pa.array(ids)),
        graphs=trace.graphs,
        run_metadata=trace.run_metadata,
        notes=trace.notes,
        title=trace.title,
        step_labels=_labels(trace, ids),
        clock_bounds=trace.clock_bounds,
        stacks=trace.stacks,
        metadata=_metadata(trace, ids),
        recorded_counters=_counters(trace, ids),
        programs=trace.programs,
    )
    part.annotations = carried([trace.annotations], part.events)
    if edges is None:
        edges = edges_in_steps(trace, distinct_numbers(part.events["step"].to_numpy()))
    part.edges = ends_within(ids, edges)
    if is_kind(part.events, *MOVING).any():
        part.transfers = _rows_of(ids, transfers(trace))
    if is_kind(part.events, "collective").any():
        part.collective_waits = _rows_of(ids, collective_waits(trace))
    return part


def between(trace: Trace, time_range: TimeRange) -> Trace:
    """Return the events that overlap a time range; ValueError if there are none."""
    events = trace.events
    ends = recorded_range(events, time_range)
    ids = in_range(trace, *ends)
    if not len(ids):
        raise ValueError(Text("no_event_in_range", time_range=time_range))
    part = subset(trace, ids)
    keep_memory(trace, part, ids)
    keep_waits(trace, part, ids)
    origin = int(events["start_ns"].iloc[0])
    shown = " to ".join(format_duration(max(end - origin, 0)) for end in ends)
    note = Text("part_of_run", events=len(ids), whole=len(events), ends=shown)
    part.notes = [note, *part.notes]
    return part


def of_steps(trace: Trace, steps: Any) -> Trace:
    """Return a step, or the steps of a slice; IndexError lists the steps if there is no such one."""
    numbers = trace.steps["step"].to_numpy(np.int64)
    numbers = numbers[numbers != NO_STEP]
    chosen = numbers[_are_chosen(numbers, steps)]
    if not len(chosen):
        raise IndexError(no_such_step(trace, _slice_text(steps) if isinstance(steps, slice) else steps))
    steps_of = _of_steps(trace.steps, chosen)
    ids = np.flatnonzero(np.isin(trace.events["step"].to_numpy(), chosen) | beside_steps(trace, steps_of))
    part = subset(trace, ids)
    # A step starts when the device has done the work of earlier ones, which the part does not have.
    beside = part.steps[part.steps["step"] == NO_STEP]
    part.steps = pd.concat([beside, steps_of], ignore_index=True)
    keep_memory(trace, part, ids)
    keep_waits(trace, part, ids)
    part.idle_gaps = _of_steps(idle_gaps(part), chosen)
    note = Text("steps_of_run", steps=len(chosen), whole=len(numbers), events=len(ids))
    part.notes = [note, *part.notes]
    return part


def no_such_step(trace: Trace, step: object) -> Text:
    """Return an error's text, with the steps that a trace has."""
    numbers = trace.steps.loc[trace.steps["step"] != NO_STEP, "step"]
    there = Text("no_steps_there")
    if len(numbers) == 1:
        there = Text("step_there", only=numbers.iloc[0])
    elif len(numbers):
        there = Text("steps_there", first=numbers.min(), last=numbers.max())
    return Text("no_such_step", step=step, there=there)


def beside_steps(trace: Trace, steps: pd.DataFrame) -> np.ndarray:
    """Mark the events outside any step that start and end during one of `steps`, such as its input.

    Longer events would make the step longer than in tables.
    """
    start = trace.events["start_ns"].to_numpy(np.int64)
    end = start + trace.events["duration_ns"].to_numpy(np.int64)
    beside = np.zeros(len(start), bool)
    for first, last in steps[["start_ns", "end_ns"]].itertuples(index=False, name=None):
        beside |= (start >= first) & (start < last) & (end <= last)
    beside &= trace.events["step"].to_numpy() == NO_STEP
    return beside


def _are_chosen(numbers: np.ndarray, steps: Any) -> np.ndarray:
    if not isinstance(steps, slice):
        return np.isin(numbers, _step(steps))
    by = 1 if steps.step is None else _step(steps.step)
    first = 0 if steps.start is None else _step(steps.start)
    last = int(numbers.max(initial=first)) + 1 if steps.stop is None else _step(steps.stop)
    if by < 1 or min(first, last) < 0:
        raise IndexError(Text("step_slice", steps=_slice_text(steps)))
    return np.isin(numbers, np.arange(first, min(last, int(numbers.max(initial=0)) + 1), by))


def _step(value: Any) -> int:
    try:
        if not isinstance(value, bool | np.bool_):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(Text("no_step_or_slice", value=value))


def _slice_text(steps: slice) -> str:
    ends = ("" if end is None else str(end) for end in (steps.start, steps.stop))
    return ":".join(ends) + ("" if steps.step is None else f":{steps.step}")


def _of_steps(table: pd.DataFrame, steps: np.ndarray) -> pd.DataFrame:
    return table[table["step"].isin(steps)].reset_index(drop=True)


def _metadata(trace: Trace, ids: np.ndarray) -> Metadata:
    """Return the metadata of a part: without samples, pauses and a failed allocation at other times."""
    metadata = dict(trace.metadata)
    if not len(ids):
        return metadata
    events = trace.events.take(ids)
    start, end = _span(events)
    # Python's own work before the first event and after the last one belongs to the ends of the trace.
    is_first, is_last = ids[0] == 0, end == _span(trace.events)[1]
    for subject in (PYTHON_SAMPLES, GC_PAUSES, RETURNS, OUT_OF_MEMORY):
        if subject not in metadata:
            continue
        time = metadata[subject]["time_ns"]
        until = time + metadata[subject]["duration_ns"].fillna(0) if subject == GC_PAUSES else time
        inside = ((until >= start) | is_first) & ((time <= end) | is_last)
        metadata[subject] = metadata[subject][inside.fillna(True)].reset_index(drop=True)
    if OUT_OF_MEMORY in metadata and metadata[OUT_OF_MEMORY].empty:
        del metadata[OUT_OF_MEMORY]
        metadata.pop(LIVE_AT_FAILURE, None)
    return metadata


def _labels(trace: Trace, ids: np.ndarray) -> dict[int, str]:
    """Return the labels of the steps of events."""
    steps = set(distinct_numbers(trace.events["step"].to_numpy()[ids]).tolist())
    return {step: label for step, label in trace.step_labels.items() if step in steps}


def ends_within(ids: np.ndarray, links: pd.DataFrame) -> pd.DataFrame:
    """Return the links with both ends among the events `ids`, by index in `ids`."""
    ends = {name: _indices(ids, links[name].to_numpy()) for name in ("source", "target")}
    inside = (ends["source"] >= 0) & (ends["target"] >= 0)
    return links.assign(**ends)[inside].reset_index(drop=True)


def _counters(trace: Trace, ids: np.ndarray) -> pd.DataFrame:
    """Return the counters of the whole trace during a part."""
    if not len(trace.recorded_counters) or not len(ids):
        return trace.recorded_counters
    return within(trace.recorded_counters, *_span(trace.events.take(ids)))


def keep_memory(trace: Trace, part: Trace, ids: np.ndarray) -> None:
    """Give a part the memory of the whole trace during the part, including that of other events.

    It stays with the part and its picture, but is not written to Parquet files: a trace read from one only
    has the allocations of its own events.
    """
    curve, buffers = memory_usage(trace), tensor_lifetimes(trace)
    start, end = _span(part.events)
    if not curve.empty:
        time = curve["time_ns"].to_numpy()
        # The last change of a curve before the part is its value at the start.
        until = np.append(time[1:], end)
        until[np.append(np.diff(curve_numbers(curve)) != 0, True)] = end
        kept = curve[(time <= end) & (until > start)]
        part.memory = kept.assign(time_ns=kept["time_ns"].clip(lower=start)).reset_index(drop=True)
    if not buffers.empty:
        freed = buffers["free_ns"].to_numpy("i8", na_value=NEVER)
        alive = buffers[(buffers["alloc_ns"] <= end) & (freed > start)]
        part.lifetimes = alive.assign(event=_indices(ids, alive["event"].to_numpy())).reset_index(drop=True)


def keep_waits(trace: Trace, part: Trace, ids: np.ndarray) -> None:
    """Give a part the waits of steps and devices of the whole trace during the part."""
    start, end = _span(part.events)
    path = _cut(critical_path(trace), start, end)
    event = _indices(ids, path["event"].to_numpy(np.int64))
    part.critical_path = path[event >= 0].assign(event=event[event >= 0]).reset_index(drop=True)
    gaps = _cut(idle_gaps(trace), start, end)
    events = {name: _indices(ids, gaps[name].to_numpy(np.int64)) for name in ("cause_event", "end_event")}
    part.idle_gaps = gaps.assign(**events)
    part.slack = _rows_of(ids, slack(trace))


def _span(events: pd.DataFrame) -> tuple[int, int]:
    """Return the start and the end of events, which are ordered by start."""
    return int(events["start_ns"].iloc[0]), int((events["start_ns"] + events["duration_ns"]).max())


def _cut(table: pd.DataFrame, start: int, end: int) -> pd.DataFrame:
    """Return the pieces of a table, cut to the range between two times."""
    begin = table["start_ns"].clip(lower=start)
    length = (table["start_ns"] + table["duration_ns"]).clip(upper=end) - begin
    return table.assign(start_ns=begin, duration_ns=length)[length > 0].reset_index(drop=True)


def edges_in_steps(trace: Trace, steps: np.ndarray) -> pd.DataFrame:
    """Find the edges of some steps without looking at other steps, because no edge leaves its step."""
    if "edges" in trace.__dict__:
        return edges(trace)
    ids = np.flatnonzero(np.isin(trace.events["step"].to_numpy(), steps))
    known = () if trace.nested is None else trace.nested.column_names
    links = [name for name in (*LINKS, FLOWS_OUT, FLOWS_IN, GRAPH_INPUTS) if name in known]
    nested = trace.nested.select(links).take(pa.array(ids)) if trace.nested is not None and links else None
    part = Trace(trace.events.take(ids).reset_index(drop=True), nested=nested, graphs=trace.graphs)
    inner = edges(part)
    trace.notes += part.notes
    return inner.assign(**{name: ids[inner[name].to_numpy()] for name in ("source", "target")})


def in_range(trace: Trace, start_ns: int, end_ns: int) -> np.ndarray:
    """Find the events that overlap a range of time, in epoch nanoseconds; ids in order, int64."""
    start, duration = (trace.events[name].to_numpy() for name in ("start_ns", "duration_ns"))
    return np.flatnonzero(is_inside(start, duration, start_ns, end_ns))


def _rows_of(ids: np.ndarray, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table for some events, with their ids in the part."""
    event = _indices(ids, table["event"].to_numpy())
    return table[event >= 0].assign(event=event[event >= 0]).reset_index(drop=True)


def _indices(ids: np.ndarray, events: np.ndarray) -> np.ndarray:
    """Return the index in `ids` of each event; -1 if missing."""
    if not len(ids):
        return np.full(len(events), -1)
    index = np.minimum(np.searchsorted(ids, events), len(ids) - 1)
    indices: np.ndarray = np.where(ids[index] == events, index, -1)
    return indices
