"""A trace with some events of another, which keeps results computed for the whole trace."""

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.dataflow.edges import edges
from tfvis_nb.analysis.memory.from_run_metadata import NEVER
from tfvis_nb.analysis.memory.memory_usage import curve_numbers
from tfvis_nb.core.annotations import carried
from tfvis_nb.core.counters import within
from tfvis_nb.core.intervals import is_inside
from tfvis_nb.core.nested_columns import FLOWS_IN, FLOWS_OUT, GRAPH_INPUTS, LINKS
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace


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
        clock_bounds=trace.clock_bounds,
        stacks=trace.stacks,
        metadata=trace.metadata,
        recorded_counters=_counters(trace, ids),
        programs=trace.programs,
    )
    part.annotations = carried([trace.annotations], part.events)
    if edges is None:
        edges = edges_in_steps(trace, distinct_numbers(part.events["step"].to_numpy()))
    part.edges = ends_within(ids, edges)
    kinds = part.events["kind"]
    if kinds.isin(["transfer", "memcpy"]).any():
        part.transfers = _rows_of(ids, trace.transfers)
    if (kinds == "collective").any():
        part.collective_waits = _rows_of(ids, trace.collective_waits)
    return part


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
    curve, buffers = trace.memory, trace.lifetimes
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
    path = _cut(trace.critical_path, start, end)
    event = _indices(ids, path["event"].to_numpy(np.int64))
    part.critical_path = path[event >= 0].assign(event=event[event >= 0]).reset_index(drop=True)
    gaps = _cut(trace.idle_gaps, start, end)
    part.idle_gaps = gaps.assign(cause_event=_indices(ids, gaps["cause_event"].to_numpy(np.int64)))
    part.slack = _rows_of(ids, trace.slack)


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
        return trace.edges
    ids = np.flatnonzero(np.isin(trace.events["step"].to_numpy(), steps))
    known = () if trace.nested is None else trace.nested.column_names
    links = [name for name in (*LINKS, FLOWS_OUT, FLOWS_IN, GRAPH_INPUTS) if name in known]
    nested = trace.nested.select(links).take(pa.array(ids)) if trace.nested is not None and links else None
    part = Trace(trace.events.take(ids).reset_index(drop=True), nested=nested, graphs=trace.graphs)
    found = edges(part)
    trace.notes += part.notes
    return found.assign(**{name: ids[found[name].to_numpy()] for name in ("source", "target")})


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
    found: np.ndarray = np.where(ids[index] == events, index, -1)
    return found
