"""The failed allocation that ended the recording, and the buffers allocated at that time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.memory.buffer_origins import ORIGINS, buffer_origins, runs_of
from tfvis_nb.analysis.memory.from_profile import memory_events
from tfvis_nb.analysis.memory.memory_breakdown import live_buffers
from tfvis_nb.analysis.memory.memory_usage import memory_usage
from tfvis_nb.analysis.steps.layer_names import layer_names
from tfvis_nb.analysis.unavailable import cannot_say, dtypes, why_not
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.metadata import LIVE_AT_FAILURE, OUT_OF_MEMORY
from tfvis_nb.core.phases import phases, without_calls
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "requested_bytes": "Bytes that the op asked for: from the error, or from its shape and dtype. "
    "Missing if the error has neither. For a buffer: the part of its bytes that was requested.",
    "in_use_bytes": "Bytes that the allocator had allocated then: in its blocks, otherwise the most while the"
    " op ran. Missing where allocators do not record it, as for TensorFlow's plain one for CPUs.",
    "free_bytes": "Bytes that the allocator could still hand out then: its free blocks and what it may still"
    " claim. For a plain CPU allocator, what the machine had available when the error arrived. Missing where"
    " not known.",
    "largest_free_bytes": "The larger of the allocator's largest free block and what it may still claim then."
    " Only recordings have it, for allocators of GPUs and others that hold blocks.",
    "fragmentation": "1 - largest_free_bytes / free_bytes; without blocks as in `memory_usage`. If"
    " requested_bytes were free, no block was as large.",
    "fitting_rows": "largest_free_bytes, otherwise free_bytes, / (requested_bytes / first dimension), rounded"
    " down: how large the first dimension of this one tensor could have been. Missing where the bytes are"
    " not known or suffice.",
    "bytes": "Bytes of a buffer that was allocated then; to three digits where the error lists it.",
    "sharding": "The device that holds an array of JAX, or its partitions on several devices.",
    "share": "bytes / in_use_bytes if blocks are known, otherwise bytes / bytes of all listed buffers.",
    **ORIGINS,
}

_TEXTS = ("node", "op", "layer", "shape", "dtype", "device", "allocator", "file", "function", "text")
_NUMBERS = (
    *("time_ns", "requested_bytes", "in_use_bytes", "free_bytes", "largest_free_bytes", "fitting_rows"),
    "line",
)
_COLUMNS = {
    "step": "int64",
    "event": "int64",
    **dict.fromkeys(_TEXTS, "str"),
    **dict.fromkeys(_NUMBERS, "Int64"),
    "fragmentation": "Float64",
    "at_ns": "Int64",
}
_LIVE = {
    **dict.fromkeys(("name", "op", "layer", "line", "allocator"), "str"),
    "event": "int64",
    "bytes": "int64",
    "requested_bytes": "Int64",
    "share": "float64",
    "sharding": "str",
}
_FIRST = re.compile(r"\[(\d{1,18})(?:, \d+)*\]")


@validate_input
def out_of_memory(trace: Trace) -> pd.DataFrame:
    """Return the failed allocation that ended the recording.

    Parameters
    ----------
    trace
        A recording, a failed session run, or a Parquet file of one; other files lack the error.

    Returns
    -------
    pandas.DataFrame
        One row, or several in merged traces: ``step`` and ``event`` (int64), the op that requested memory, -1
        if it has no row; ``node``, ``op``, ``layer``, ``shape``, ``dtype``, ``device``, ``allocator`` (str,
        empty if unknown); the line of the user's code: ``file``, ``function``, ``text`` (str), ``line``
        (Int64); ``time_ns``, when memory ran out, and ``at_ns``, the allocator's peak while the op ran (Int64
        epoch ns); the `FIGURES` (Int64; ``fragmentation`` Float64). `cannot_say` if no such error was
        recorded.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import out_of_memory
    >>> from tfvis_nb.core.metadata import OUT_OF_MEMORY, table_of
    >>> asked = {"op": "MatMul", "shape": "[64, 8]", "requested_bytes": 2048, "available_bytes": 1000}
    >>> trace = Trace(events.build({}, rows=0), metadata={OUT_OF_MEMORY: table_of(OUT_OF_MEMORY, [asked])})
    >>> out_of_memory(trace)[["op", "requested_bytes", "free_bytes", "fitting_rows"]].values.tolist()
    [['MatMul', 2048, 1000, 31]]
    """
    failed = trace.metadata.get(OUT_OF_MEMORY)
    if failed is None or failed.empty:
        return cannot_say(_COLUMNS, Text("no_out_of_memory"))
    rows = [_failure(trace, row) for row in failed.astype(object).to_dict("records")]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS))


def _failure(trace: Trace, row: dict[Any, Any]) -> dict[str, Any]:
    known = {
        name: value
        for name, value in row.items()
        if not pd.isna(value) and (isinstance(value, str) or value >= 0)
    }
    failure: dict[str, Any] = dict.fromkeys(_NUMBERS, pd.NA) | dict.fromkeys(_TEXTS, "") | known
    event = _event(trace, failure["node"], failure["op"])
    failure |= {"event": event, "step": event_table.NO_STEP, "fragmentation": pd.NA, "at_ns": pd.NA}
    failure["free_bytes"] = known.get("available_bytes", pd.NA)
    if event >= 0:
        failure["step"] = int(trace.events["step"].iloc[event])
        failure["op"] = failure["op"] or str(trace.events["op"].iloc[event])
    if {"in_use_bytes", "available_bytes", "largest_free_bytes"} <= set(known):
        failure |= _blocks(trace, failure)
    elif event >= 0:
        failure |= _heap(trace, event, failure["allocator"])
    free, asked, first = (failure[name] for name in ("free_bytes", "requested_bytes", "shape"))
    largest = failure["largest_free_bytes"]
    failure["layer"] = _layers(trace, [failure["node"]], np.array([event]))[0]
    dimension, fits = _FIRST.fullmatch(first), free if pd.isna(largest) else largest
    if dimension and not pd.isna(fits) and not pd.isna(asked) and fits < asked:
        failure["fitting_rows"] = int(dimension[1]) * int(fits) // int(asked)
    return failure


def _event(trace: Trace, node: str, op: str) -> int:
    """Return the last event of an op by its node, or of an eager op by its type; -1 if there is none."""
    events = trace.events
    is_named = events["name"] == (node or op)
    if node:  # The name of an inlined op starts with the function it was inlined from.
        is_named |= events["name"].str.endswith(f"/{node}")
    named = is_named.fillna(value=False).to_numpy(bool)
    # Rows with a scheduling time are from earlier session runs, because failed runs have no rows.
    rows = np.flatnonzero(named & is_kind(events, "op") & events["scheduled_ns"].isna().to_numpy())
    return int(rows[-1]) if (node or op) and len(rows) else -1


def _blocks(trace: Trace, failure: dict[str, Any]) -> dict[str, Any]:
    """Return the free bytes and the largest free block, including memory that can still be claimed."""
    in_use, free, largest = (
        int(failure[name]) for name in ("in_use_bytes", "free_bytes", "largest_free_bytes")
    )
    curve = memory_usage(trace)
    curve = curve[(curve["allocator"] == failure["allocator"]) & curve["free_bytes"].notna()]
    limit = int((curve["bytes"] + curve["free_bytes"]).max()) if len(curve) else 0
    unclaimed = max(limit - in_use - free, 0)
    free, largest = free + unclaimed, max(largest, unclaimed)
    fragmentation = 1 - largest / free if 0 < largest <= free else pd.NA
    return {"free_bytes": free, "largest_free_bytes": largest, "fragmentation": fragmentation}


def _heap(trace: Trace, event: int, allocator: str) -> dict[str, Any]:
    """Return an allocator's allocated and free bytes at their peak while an op ran."""
    curve = memory_usage(trace)
    curve = curve[(curve["allocator"] == allocator) & (curve["step"] == event_table.NO_STEP)]
    start = int(trace.events["start_ns"].iloc[event])
    end = start + int(trace.events["duration_ns"].iloc[event])
    before = curve[curve["time_ns"] <= start].tail(1)
    # Memory that the op frees on failure was still allocated at the request.
    during = pd.concat([before, curve[(curve["time_ns"] > start) & (curve["time_ns"] <= end)]])
    if during.empty:
        return {}
    most = during[during["bytes"] == during["bytes"].max()].iloc[-1]
    names = {"at_ns": "time_ns", "in_use_bytes": "bytes"} | {
        name: name for name in ("free_bytes", "fragmentation") if not pd.isna(most[name])
    }
    return {name: most[column] for name, column in names.items()}


@validate_input
def live_at_failure(trace: Trace) -> pd.DataFrame:
    """Return the buffers that were allocated at the time of a failed allocation, the largest first.

    Parameters
    ----------
    trace
        As in `out_of_memory`.

    Returns
    -------
    pandas.DataFrame
        ``name``, ``op``, ``layer``, ``line``, ``allocator`` and ``sharding`` (str, empty if unknown),
        ``event`` (int64; the allocation or op, -1 if it has no row), ``bytes`` (int64), ``requested_bytes``
        (Int64) and ``share`` (float64), as in `FIGURES`. These are the largest blocks of the allocator if it
        recorded them, without
        names if they were allocated before the recording. Otherwise they are the recorded buffers of the
        failed allocator, or those in TensorFlow's error, which lists them for session runs, or the variables
        and eager tensors that the program held on the CPU. For JAX these are the arrays that the program
        held, and the buffers that the failed program needed at its peak, if XLA's error lists them; their
        allocator is ``XLA program``. `cannot_say` without any of these.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import live_at_failure
    >>> from tfvis_nb.core import metadata
    >>> tables = {"out_of_memory": [{"node": "b"}], "live_at_failure": [{"node": "a", "bytes": 4096}]}
    >>> tables = {name: metadata.table_of(name, rows) for name, rows in tables.items()}
    >>> trace = Trace(events.build({}, rows=0), metadata=tables)
    >>> live_at_failure(trace)[["name", "bytes", "share"]].values.tolist()
    [['a', 4096, 1.0]]
    """
    failures = out_of_memory(trace)
    if why_not(failures):
        return cannot_say(_LIVE, why_not(failures))
    failure = failures.iloc[-1]
    listed = trace.metadata.get(LIVE_AT_FAILURE)
    if not pd.isna(failure["at_ns"]) and pd.isna(failure["largest_free_bytes"]):
        live = live_buffers(trace, int(failure["at_ns"]), allocator=failure["allocator"])
        if len(live):
            return live.assign(sharding="")[list(_LIVE)].astype(dtypes(_LIVE))
    listed = None if listed is None else listed[listed["bytes"].notna() & (listed["bytes"] >= 0)]
    if listed is None or listed.empty:
        return cannot_say(_LIVE, Text("no_live_buffers"))
    in_use = 0 if pd.isna(failure["in_use_bytes"]) else int(failure["in_use_bytes"])
    return _listed(
        trace, listed.fillna(dict.fromkeys(("node", "op", "file", "allocator", "sharding"), "")), in_use
    )


def _listed(trace: Trace, listed: pd.DataFrame, in_use: int) -> pd.DataFrame:
    """Return the buffers listed by an error or an allocator, for `live_at_failure`.

    `in_use` is the total of all, if known.
    """
    listed = listed.sort_values("bytes", ascending=False, kind="stable", ignore_index=True)
    allocation, nodes = _allocations(trace, listed)
    names = [str(name) for name in listed["node"].where(nodes == "", nodes)]
    number, distinct = pd.factorize(np.array(names, object))
    run = runs_of(trace, list(distinct))[number]
    event = np.where(allocation >= 0, allocation, run)
    types = np.append(trace.events["op"].astype(object).fillna("").to_numpy(), "")
    size = listed["bytes"].clip(upper=event_table.MOST_IN_ALL // len(listed)).astype("int64")
    of_event = buffer_origins(trace, pd.DataFrame({"name": names, "event": event}))["line"]
    lines = [
        known if pd.isna(line) or not file else f"{file}:{line}"
        for file, line, known in zip(listed["file"], listed["line"], of_event, strict=True)
    ]
    columns = {
        "name": names,
        "op": listed["op"].where(listed["op"] != "", types[run]),
        "layer": _layers(trace, names, event),
        "line": lines,
        "allocator": listed["allocator"],
        "event": event,
        "bytes": size,
        "requested_bytes": listed["requested_bytes"].where(listed["requested_bytes"] > 0),
        "share": size / max(int(size.sum()), in_use, 1),
        "sharding": listed["sharding"],
    }
    return pd.DataFrame(columns).astype(dtypes(_LIVE))


def _allocations(trace: Trace, listed: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the allocation of each block by its address, -1 if it was not recorded, and the node."""
    keys = ["allocator", "address", "bytes"]
    events = memory_events(trace) if listed["address"].notna().any() else None
    if events is None:
        return np.full(len(listed), -1), np.full(len(listed), "", object)
    # A block in use has not been allocated again since.
    last = events[~events["is_free"] & events["address"].notna()].drop_duplicates(keys[:2], keep="last")
    last = last.astype({"allocator": event_table.TEXT, "node": event_table.TEXT, "bytes": "Int64"})
    blocks = listed[keys].merge(last[[*keys, "event", "node"]], how="left", on=keys)
    return blocks["event"].fillna(-1).to_numpy(np.int64), blocks["node"].fillna("").to_numpy(object)


def _layers(trace: Trace, names: list[str], events: np.ndarray) -> list[str]:
    """Return the layers of nodes: those of their events, otherwise by their names."""
    known = buffer_origins(trace, pd.DataFrame({"name": names, "event": events}))["layer"].tolist()
    nodes = without_calls(pa.array(names, pa.string()))
    of_names = layer_names(nodes, phases(nodes), nodes).to_pylist()
    return [layer or by_name for layer, by_name in zip(known, of_names, strict=True)]
