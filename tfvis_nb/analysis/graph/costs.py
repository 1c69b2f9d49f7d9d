"""The costs that TensorFlow's cost model estimates for ops, next to their measured times."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.graph.parsed import parsed
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.devices import canonical
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "compute_cost_ns": "compute_cost of the node: the longest time of its kernel in all runs that the "
    "session has observed for the cost model, in ns; missing if 0.",
    "compute_time_ns": "compute_time of the node: an estimate of the time for its arithmetic, in ns; missing "
    "if 0.",
    "memory_time_ns": "memory_time of the node: an estimate of the time for its memory accesses, in ns; "
    "missing if 0.",
    "output_bytes": "Sum of the sizes of the node's outputs in the cost graph.",
    "count": "How often the node ran in the step.",
    "measured_ns": "The time of the GPU kernels that the node launched, in ns. Without any, the longest "
    "time in the step from its start to the end of its kernel call. Missing if the node did not run.",
    "error_ns": "The larger of compute_time_ns and memory_time_ns, without them compute_cost_ns, minus "
    "measured_ns, in ns.",
}

_COLUMNS = {"step": "int32", "name": "str", "op": "category", "device": "category"} | {
    "compute_cost_ns": "Int64",
    "compute_time_ns": "Int64",
    "memory_time_ns": "Int64",
    "output_bytes": "int64",
    "count": "int64",
    "measured_ns": "Int64",
    "error_ns": "Int64",
}
_NODE = ["step", "name", "device"]
_ESTIMATES = ("compute_cost", "compute_time", "memory_time")
_MOST_US = 2**52
_MOST_BYTES = 2**63 - 1


@validate_input
def costs(trace: Trace) -> pd.DataFrame:
    r"""Return the entries of each step's cost graph for its nodes, the largest errors first.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per node and step, the largest absolute ``error_ns`` first, unknown ones last: ``step``
        (int32), ``name`` (str), ``op`` and ``device`` (category), and as in `FIGURES` ``compute_cost_ns``,
        ``compute_time_ns``, ``memory_time_ns``, ``measured_ns`` and ``error_ns`` (Int64), ``output_bytes``
        and ``count`` (int64). `cannot_say` if the trace has no cost graph.

    Notes
    -----
    Session runs record a cost graph with ``GraphOptions(build_cost_model=1)``.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import costs
    >>> device = b"/job:a/task:0/device:CPU:0"
    >>> cost_graph = b"\x12\x23\x0a\x21\x0a\x01a\x12\x1a" + device + b"\x48\x07"
    >>> table = events.build({"start_ns": [0], "duration_ns": [5_000], "kind": ["op"], "name": ["a"],
    ...                       "op": ["MatMul"], "device": [device.decode()]})
    >>> result = costs(Trace(table, run_metadata=[cost_graph]))
    >>> result[["op", "compute_cost_ns", "measured_ns", "error_ns"]].values.tolist()
    [['MatMul', 7000, 5000, 2000]]
    """
    rows = list(_rows(trace))
    if not rows:
        return cannot_say(_COLUMNS, Text("no_cost_graph"))
    names = [*_NODE, *(f"{name}_ns" for name in _ESTIMATES), "output_bytes"]
    types = {name: dtype for name, dtype in dtypes(_COLUMNS).items() if name in names}
    estimated = pd.DataFrame(rows, columns=names).astype(types | {"device": object})
    table = estimated.merge(_measured(trace), on=_NODE, how="left")
    table["op"], table["count"] = table["op"].fillna(""), table["count"].fillna(0)
    analytical = table[["compute_time_ns", "memory_time_ns"]].max(axis=1)
    table["error_ns"] = analytical.fillna(table["compute_cost_ns"]) - table["measured_ns"]
    off = table["error_ns"].abs().to_numpy("i8", na_value=-1)
    table = table.take(np.argsort(-off, kind="stable")).reset_index(drop=True)
    return table[list(_COLUMNS)].astype(dtypes(_COLUMNS))


def _rows(trace: Trace) -> Iterator[tuple[Any, ...]]:
    for step, data in enumerate(trace.run_metadata):
        for node in parsed(trace, "RunMetadata", data).cost_graph.node:
            estimates = (getattr(node, name) for name in _ESTIMATES)
            known = (min(us, _MOST_US) * 1000 if us > 0 else None for us in estimates)
            size = sum(max(output.size, 0) for output in node.output_info)
            yield step, text(node.name), canonical(text(node.device)), *known, min(size, _MOST_BYTES)


def _measured(trace: Trace) -> pd.DataFrame:
    """Return how often each node ran and how long it took, by step, name and device."""
    events = trace.events
    ran = np.flatnonzero(is_kind(events, "op", "collective"))
    kernels = np.flatnonzero(is_kind(events, "kernel"))
    start, duration = (events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    called = events["compute_end_ns"].to_numpy(np.int64, na_value=0) - start
    call = np.where(events["compute_end_ns"].notna().to_numpy(), called, duration)
    keys = events[_NODE].astype({"device": object, "name": object})
    ops = keys.take(ran).assign(op=events["op"].astype(object).to_numpy()[ran], ns=call[ran])
    by_node = ops.groupby(_NODE, sort=False).agg(op=("op", "first"), count=("ns", "size"), call=("ns", "max"))
    launched = keys.take(kernels).assign(ns=duration[kernels]).groupby(_NODE, sort=False)["ns"].sum()
    measured = launched.reindex(by_node.index).astype("Int64").fillna(by_node["call"])
    return by_node.assign(measured_ns=measured).drop(columns="call").reset_index()
