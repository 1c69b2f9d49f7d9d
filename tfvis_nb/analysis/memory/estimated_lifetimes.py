"""Estimate the lifetimes of outputs that TensorFlow did not record, from the ops that read them.

Traces before TensorFlow 1.5, files of ``timeline.py``, and allocators without statistics, such as those of
the host, have the sizes and addresses of outputs, but no allocations. Outputs are assumed to be allocated
when their op starts, and freed when the last op that reads them ends.
"""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.events.recorded_outputs import recorded_outputs
from tfvis_nb.analysis.memory.from_run_metadata import NEVER
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import MOST_IN_ALL

_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def estimated_allocations(trace: Trace, recorded: Collection[str] = ()) -> pd.DataFrame | None:
    """Return one row per buffer, by ``alloc_ns``; None if no output has a size and an allocator.

    Outputs of allocators that were `recorded` are left out.

    Outputs at the same address of an allocator share a buffer while it lives. If no op reads an output, or it
    belongs to a variable, its end is unknown and ``free_ns`` is `NEVER`. ``slot`` is that of the output;
    ``aliases`` are the other outputs, ``node`` or ``node:slot``, joined by ", ".
    """
    outputs = recorded_outputs(trace)
    most = MOST_IN_ALL // max(len(outputs), 1)
    outputs = outputs[(outputs["bytes"] > 0) & (outputs["bytes"] <= most) & (outputs["allocator"] != "")]
    outputs = outputs[~outputs["allocator"].isin(recorded)]
    if outputs.empty:
        return None
    event = outputs["event"].to_numpy()
    here = trace.events[["step", "task", "start_ns", "op"]].take(event).set_axis(outputs.index)
    is_variable = here["op"].isin(_VARIABLES).to_numpy()
    until = np.where(is_variable, NEVER, _last_reads(trace)[event])
    table = outputs.assign(step=here["step"], task=here["task"], alloc_ns=here["start_ns"], free_ns=until)
    table = table.sort_values(["alloc_ns", "event", "slot"], kind="stable", ignore_index=True)
    first = _first_at_address(table)
    names = trace.events["name"].fillna("")
    later = np.flatnonzero(first != np.arange(len(table)))
    texts = [""] * len(table)
    for row in later:
        name, slot = names[table["event"].iloc[row]], table["slot"].iloc[row]
        tensor = f"{name}:{slot}" if slot else str(name)
        texts[first[row]] = f"{texts[first[row]]}, {tensor}" if texts[first[row]] else tensor
    table["free_ns"] = table["free_ns"].groupby(first).transform("max")
    table["aliases"] = texts
    table["allocator"] = pd.Categorical(table["allocator"])
    kept: pd.DataFrame = table.take(np.flatnonzero(first == np.arange(len(table))))
    return kept.reset_index(drop=True)


def _last_reads(trace: Trace) -> np.ndarray:
    """Return for each event the end of the last event that reads its outputs; `NEVER` if there is none."""
    edges = edges_of(trace)
    reads = edges["kind"].isin(["data", "transfer"]).to_numpy()
    source, target = (edges[name].to_numpy("i8")[reads] for name in ("source", "target"))
    end = (trace.events["start_ns"] + trace.events["duration_ns"]).to_numpy()
    last = np.full(len(end), np.iinfo(np.int64).min)
    np.maximum.at(last, source, end[target])
    read: np.ndarray = np.where(last > np.iinfo(np.int64).min, np.maximum(last, end), NEVER)
    return read


def _first_at_address(table: pd.DataFrame) -> np.ndarray:
    """Return for each output, ordered by time, the row of the output that its buffer was allocated for."""
    first = np.arange(len(table))
    alive: dict[tuple[object, ...], tuple[int, int]] = {}
    columns = ("step", "task", "allocator", "ptr", "alloc_ns", "free_ns")
    for row, (*where, start, end) in enumerate(zip(*(table[name] for name in columns), strict=True)):
        if not where[-1]:
            continue
        held, until = alive.get(tuple(where), (row, start - 1))
        first[row] = held if until >= start else row
        alive[tuple(where)] = int(first[row]), max(until, end)
    return first
