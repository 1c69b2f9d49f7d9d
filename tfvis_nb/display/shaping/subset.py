"""A trace of some events of another, which keeps what was found out about them in the whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.dataflow.edges import dataflow
from tfvis_nb.analysis.memory.curve import places
from tfvis_nb.analysis.memory.from_run_metadata import NEVER
from tfvis_nb.core.nested_columns import LINKS
from tfvis_nb.core.trace import Trace


def part_of(trace: Trace, ids: np.ndarray, edges: pd.DataFrame | None = None) -> Trace:
    """Make a trace of the events `ids`.

    Parameters
    ----------
    trace
        The whole.
    ids
        Event ids in order; int64.
    edges
        The whole's edges, or those of them that concern these events, where they are known already.

    Returns
    -------
    Trace
        Its edges are those of the whole with both ends in it, its transfers waited as in the whole.
        Its memory is what its own events allocated; see `keep_memory`.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.shaping.subset import part_of
    >>> columns = {"start_ns": [3, 5, 9], "duration_ns": [1] * 3, "name": list("abc"), "kind": ["op"] * 3}
    >>> trace = Trace(events.build(columns))
    >>> part_of(trace, np.array([1, 2])).events["name"].tolist()
    ['b', 'c']
    """
    part = Trace(
        trace.events.take(ids).reset_index(drop=True),
        nested=None if trace.nested is None else trace.nested.take(pa.array(ids)),
        graphs=trace.graphs,
        notes=trace.notes,
        title=trace.title,
        clock_bounds=trace.clock_bounds,
    )
    known = edges_in_steps(trace, np.unique(part.events["step"].to_numpy())) if edges is None else edges
    source, target = (_places(ids, known[name].to_numpy()) for name in ("source", "target"))
    inside = (source >= 0) & (target >= 0)
    part.edges = pd.DataFrame(
        {"source": source[inside], "target": target[inside], "kind": known["kind"].array[inside]}
    )
    kinds = part.events["kind"]
    if kinds.isin(["transfer", "memcpy"]).any():
        part.transfers = _rows_of(ids, trace.transfers)
    if (kinds == "collective").any():
        part.arrivals = _rows_of(ids, trace.arrivals)
    return part


def keep_memory(trace: Trace, part: Trace, ids: np.ndarray) -> None:
    """Give a part the memory of the whole while the part lasts, also what other events had allocated.

    It goes with the part and its picture, but not into a Parquet file: what is read from one knows
    the allocations of its own events only.

    Parameters
    ----------
    trace, part
        The whole, and `part_of` it that holds the events `ids`: one at least.
    ids
        Event ids in order; int64.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.shaping.subset import keep_memory, part_of
    >>> table = events.build({"start_ns": [0, 9000], "duration_ns": [10, 10], "kind": ["op"] * 2})
    >>> records = [{"micros": 1, "bytes": 64}, {"micros": 12, "bytes": -64}]
    >>> nested = pa.table({"memory": [[{"allocator": "cpu", "records": records}], []]})
    >>> trace = Trace(table, nested=nested)
    >>> part = part_of(trace, np.array([1]))
    >>> keep_memory(trace, part, np.array([1]))
    >>> part.memory[["time_ns", "bytes"]].values.tolist(), part.lifetimes["event"].tolist()
    ([[9000, 64]], [-1])
    """
    curve, buffers = trace.memory, trace.lifetimes
    start = int(part.events["start_ns"].iloc[0])
    end = int((part.events["start_ns"] + part.events["duration_ns"]).max())
    if not curve.empty:
        time = curve["time_ns"].to_numpy()
        # The last change of a curve before the part is where it stands at the start.
        until = np.append(time[1:], end)
        until[np.append(np.diff(places(curve)) != 0, True)] = end
        kept = curve[(time <= end) & (until > start)]
        part.memory = kept.assign(time_ns=kept["time_ns"].clip(lower=start)).reset_index(drop=True)
    if not buffers.empty:
        freed = buffers["to_ns"].to_numpy("i8", na_value=NEVER)
        alive = buffers[(buffers["from_ns"] <= end) & (freed > start)]
        part.lifetimes = alive.assign(event=_places(ids, alive["event"].to_numpy())).reset_index(drop=True)


def keep_waits(trace: Trace, part: Trace, ids: np.ndarray) -> None:
    """Give a part what the steps and devices of the whole waited for while the part lasts.

    Parameters
    ----------
    trace, part
        The whole, and `part_of` it that holds the events `ids`: one at least.
    ids
        Event ids in order; int64.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.shaping.subset import keep_waits, part_of
    >>> table = events.build({"start_ns": [0, 50], "duration_ns": [40, 40], "kind": ["op"] * 2})
    >>> trace = Trace(table)
    >>> part = part_of(trace, np.array([1]))
    >>> keep_waits(trace, part, np.array([1]))
    >>> part.critical_path[["category", "duration_ns", "event"]].values.tolist()
    [['host_compute', 40, 0]]
    """
    start = int(part.events["start_ns"].iloc[0])
    end = int((part.events["start_ns"] + part.events["duration_ns"]).max())
    path = _cut(trace.critical_path, start, end)
    event = _places(ids, path["event"].to_numpy(np.int64))
    part.critical_path = path[event >= 0].assign(event=event[event >= 0]).reset_index(drop=True)
    gaps = _cut(trace.gaps, start, end)
    part.gaps = gaps.assign(cause_event=_places(ids, gaps["cause_event"].to_numpy(np.int64)))
    part.slack = _rows_of(ids, trace.slack)


def _cut(table: pd.DataFrame, start: int, end: int) -> pd.DataFrame:
    """Return what of the pieces of a table lies between two times."""
    begin = table["start_ns"].clip(lower=start)
    length = (table["start_ns"] + table["duration_ns"]).clip(upper=end) - begin
    return table.assign(start_ns=begin, duration_ns=length)[length > 0].reset_index(drop=True)


def edges_in_steps(trace: Trace, steps: np.ndarray) -> pd.DataFrame:
    """Find the edges of some steps, without looking at the others: no edge leaves its step.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.shaping.subset import edges_in_steps
    >>> columns = {"start_ns": [0, 9, 20, 29], "duration_ns": [5] * 4, "step": [0, 0, 1, 1],
    ...            "name": ["a", "b"] * 2, "kind": ["op"] * 4, "detail": ["a = A()", "b = B(a)"] * 2}
    >>> edges_in_steps(Trace(events.build(columns)), np.array([1])).values.tolist()
    [[2, 3, 'data']]
    """
    if "edges" in trace.__dict__:
        return trace.edges
    ids = np.flatnonzero(np.isin(trace.events["step"].to_numpy(), steps))
    links = [name for name in LINKS if trace.nested is not None and name in trace.nested.column_names]
    nested = trace.nested.select(links).take(pa.array(ids)) if trace.nested is not None and links else None
    edges = dataflow(Trace(trace.events.take(ids).reset_index(drop=True), nested=nested))
    return edges.assign(**{name: ids[edges[name].to_numpy()] for name in ("source", "target")})


def in_range(trace: Trace, start_ns: int, end_ns: int) -> np.ndarray:
    """Find the events that overlap a range of time, in epoch nanoseconds; ids in order, int64."""
    start = trace.events["start_ns"].to_numpy()
    end = start + trace.events["duration_ns"].to_numpy()
    return np.flatnonzero((start < end_ns) & ((end > start_ns) | ((end == start) & (start >= start_ns))))


def _rows_of(ids: np.ndarray, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that are about some events, by their ids in the part."""
    event = _places(ids, table["event"].to_numpy())
    return table[event >= 0].assign(event=event[event >= 0]).reset_index(drop=True)


def _places(ids: np.ndarray, events: np.ndarray) -> np.ndarray:
    """For each event its place in `ids`, -1 when it is not there."""
    if not len(ids):
        return np.full(len(events), -1)
    place = np.minimum(np.searchsorted(ids, events), len(ids) - 1)
    found: np.ndarray = np.where(ids[place] == events, place, -1)
    return found
