"""The lifetime of each buffer, and the tensors in it."""

from collections.abc import Collection

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.memory.buffer_origins import runs_of
from tfvis_nb.analysis.memory.estimated_lifetimes import estimated_allocations
from tfvis_nb.analysis.memory.from_profile import memory_events, profiled_allocations
from tfvis_nb.analysis.memory.from_run_metadata import NEVER, recorded_allocations
from tfvis_nb.analysis.memory.output_buffers import output_buffers
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.nested_lists import coded
from tfvis_nb.core.prediction import is_predicted
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "bytes": "Bytes of the buffer as its allocator counts them, not as the op requested them; a buffer "
    "that ops hand on to each other counts once (AllocationRecord.alloc_bytes; allocation_bytes of a "
    "profile).",
    "requested_bytes": "Bytes that the op requested: the excess of `bytes` over them is lost to rounding and "
    "to blocks that were not worth splitting. Missing where not recorded, as for buffers in a RunMetadata "
    "that are not outputs.",
    "alloc_ns": "Epoch nanoseconds at which it was allocated; in a RunMetadata, whole microseconds.",
    "free_ns": "Epoch nanoseconds at which it was freed; missing if it outlived the recording, like "
    "a variable or a fetched value.",
    "lifetime_ns": "free_ns - alloc_ns; on a GPU by the host's clock, while kernels may still be queued.",
    "role": "output: an output of its op; temporary: not an output and freed before its op was done; "
    "kept: not an output and not freed by then. A profile does not record it: allocated.",
    "estimated": "Whether the times are estimated, because no allocations of its allocator were recorded: "
    "from the start of the op to the end of the last op that reads its output. Outputs that no op reads and "
    "variables are not known to be freed. Outputs at one address share a buffer.",
}

ROLES = ("output", "temporary", "kept", "allocated")

_COLUMNS = {
    "step": "int32",
    "task": "category",
    "allocator": "category",
    "event": "int64",
    "name": "str",
    "op": "category",
    "scope": "str",
    "role": "category",
    "bytes": "int64",
    "requested_bytes": "Int64",
    "alloc_ns": "int64",
    "free_ns": "Int64",
    "lifetime_ns": "Int64",
    "aliases": "str",
    "estimated": "bool",
}


@validate_input
def tensor_lifetimes(trace: Trace) -> pd.DataFrame:
    """Return one row per buffer: its tensors, its allocation and its last free.

    Parameters
    ----------
    trace
        Any trace; allocation records are in a ``RunMetadata`` of TensorFlow 1.5 and later and in profiles.
        Lifetimes in other allocators are estimated from outputs and their readers.

    Returns
    -------
    pandas.DataFrame
        Ordered by ``alloc_ns``. ``step`` (int32; `NO_STEP` in a profile, where buffers outlive steps),
        ``task`` and ``allocator`` (category); ``event`` (int64, the op that allocated or, in a profile, the
        allocation; -1 if a part of a trace does not contain it), ``name`` (str; the tensor, ``node`` or
        ``node:slot``, or the node if it is not an output), ``op`` (category; its type), ``scope`` (str; its
        name without the last part), ``role`` (category of `ROLES`), ``bytes`` (int64), ``requested_bytes``
        (Int64), ``alloc_ns`` (int64), ``free_ns`` and ``lifetime_ns`` (Int64), ``aliases`` (str; other
        tensors to which the buffer was handed on, joined by ", "), ``estimated`` (bool; the same for all
        buffers of an allocator). `cannot_say` if nothing was recorded.

    Notes
    -----
    `tfvis_nb.analysis.memory.from_run_metadata` describes how allocations and frees are paired,
    `tfvis_nb.analysis.memory.output_buffers` how buffers and outputs are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import tensor_lifetimes
    >>> table = events.build({"start_ns": [1000], "duration_ns": [900], "kind": ["op"], "name": ["net/a"]})
    >>> records = [{"micros": 1, "bytes": 256}, {"micros": 5, "bytes": -256}]
    >>> trace = Trace(table, nested=pa.table({"memory": [[{"allocator": "cpu", "records": records}]]}))
    >>> tensor_lifetimes(trace)[["name", "scope", "role", "bytes", "lifetime_ns"]].values.tolist()
    [['net/a', 'net', 'kept', 256, 4000]]
    """
    tables = [table for table in (_recorded(trace), _profiled(trace)) if table is not None]
    if not tables:
        if memory_events(trace) is not None:
            return cannot_say(_COLUMNS, Text("no_addresses"))
        estimated = _estimated(trace)
        return cannot_say(_COLUMNS, no_allocations(trace)) if estimated is None else estimated
    allocators = {str(name) for table in tables for name in table["allocator"].unique()}
    if (others := _estimated(trace, allocators)) is not None:
        tables.append(others)
    if len(tables) == 1:
        return tables[0]
    return concat_tables(tables).sort_values("alloc_ns", kind="stable", ignore_index=True)


@validate_input
def no_allocations(trace: Trace) -> Text:
    """Return why a trace without allocation records has none."""
    return Text("memory_not_predicted" if is_predicted(trace) else "no_allocations")


def concat_tables(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate tables with the same columns; categories stay categories."""
    columns = {}
    for name in tables[0].columns:
        parts = [table[name] for table in tables]
        is_category = isinstance(parts[0].dtype, pd.CategoricalDtype)
        columns[name] = (
            pd.api.types.union_categoricals(
                [part.cat.rename_categories([*part.cat.categories]) for part in parts]
            )
            if is_category
            else pd.concat(parts, ignore_index=True)
        )
    return pd.DataFrame(columns)


def _recorded(trace: Trace) -> pd.DataFrame | None:
    buffers = recorded_allocations(trace)
    if buffers is None:
        return None
    events = trace.events
    row = buffers["event"].to_numpy()
    here = events[["start_ns", "duration_ns", "compute_end_ns"]].take(row)
    end = (here["start_ns"] + here["duration_ns"]).to_numpy()
    known = here["compute_end_ns"].notna().to_numpy()
    done = np.where(known, here["compute_end_ns"].to_numpy(np.int64, na_value=0), end)
    found = output_buffers(trace, buffers)
    is_output = found.slot >= 0
    # Records are rounded down to microseconds; ends of ops are not.
    temporary = ~is_output & (buffers["free_ns"].to_numpy() <= done)
    return pd.DataFrame(
        {
            **_of_ops(trace, buffers, found.slot),
            "role": _roles(np.select([is_output, temporary], [0, 1], 2)),
            **_times(buffers.assign(requested=found.requested)),
            "aliases": pd.array(found.aliases, dtype=event_table.TEXT),
            "estimated": False,
        }
    )


def _estimated(trace: Trace, recorded: Collection[str] = ()) -> pd.DataFrame | None:
    buffers = estimated_allocations(trace, recorded)
    if buffers is None:
        return None
    return pd.DataFrame(
        {
            **_of_ops(trace, buffers, buffers["slot"].to_numpy()),
            "role": _roles(np.zeros(len(buffers), np.int64)),
            **_times(buffers),
            "aliases": pd.array(buffers["aliases"].tolist(), dtype=event_table.TEXT),
            "estimated": True,
        }
    )


def _of_ops(trace: Trace, buffers: pd.DataFrame, slot: np.ndarray) -> dict[str, object]:
    """Describe the ops and tensors of buffers, given the output each was allocated for, or -1."""
    row = buffers["event"].to_numpy()
    here = trace.events[["step", "task", "name", "op"]].take(row)
    names = here["name"].fillna("").to_numpy(object)
    tensors = names.copy()
    later = np.flatnonzero(slot > 0)
    tensors[later] = [f"{names[index]}:{slot[index]}" for index in later]
    return {
        "step": here["step"].to_numpy(),
        "task": here["task"].array,
        "allocator": buffers["allocator"].array,
        "event": row,
        "name": pd.array(tensors, dtype=event_table.TEXT),
        "op": here["op"].array,
        "scope": pd.array([name.rpartition("/")[0] for name in names], dtype=event_table.TEXT),
    }


def _profiled(trace: Trace) -> pd.DataFrame | None:
    buffers = profiled_allocations(trace)
    if buffers is None:
        return None
    codes = buffers["node"].cat.codes.to_numpy()
    nodes = [str(node) for node in buffers["node"].cat.categories]
    count = len(buffers)
    return pd.DataFrame(
        {
            "step": np.full(count, event_table.NO_STEP, np.int32),
            "task": buffers["task"].array,
            "allocator": buffers["allocator"].array,
            "event": buffers["event"],
            "name": _taken(nodes, codes),
            "op": _types(trace, nodes)[codes],
            "scope": _taken([node.rpartition("/")[0] for node in nodes], codes),
            "role": _roles(np.full(count, ROLES.index("allocated"))),
            **_times(buffers),
            "aliases": _taken([""], np.zeros(count, np.int64)),
            "estimated": False,
        }
    )


def _types(trace: Trace, nodes: list[str]) -> pd.Categorical:
    """Return the op type of each node, by the rows of its runs; empty if it did not run."""
    event = runs_of(trace, nodes)
    known = event >= 0
    types = np.full(len(nodes), "", object)
    types[known] = trace.events["op"].array.take(event[known]).astype(object)
    return pd.Categorical(pd.array(types, dtype=event_table.TEXT))


def _times(buffers: pd.DataFrame) -> dict[str, object]:
    start, end = buffers["alloc_ns"].to_numpy(), buffers["free_ns"].to_numpy()
    never = end == NEVER
    requested = buffers["requested"].astype("Int64")
    return {
        "bytes": buffers["bytes"],
        "requested_bytes": requested.where((requested > 0) & (requested <= buffers["bytes"])),
        "alloc_ns": start,
        "free_ns": pd.arrays.IntegerArray(np.where(never, 0, end), never),
        "lifetime_ns": pd.arrays.IntegerArray(np.where(never, 0, end - start), never.copy()),
    }


def _roles(codes: np.ndarray) -> pd.Categorical:
    return coded(codes, list(ROLES))


def _taken(texts: list[str], indices: np.ndarray) -> pd.api.extensions.ExtensionArray:
    taken: pd.api.extensions.ExtensionArray = pd.array(
        pa.array(texts, pa.large_string()).take(pa.array(indices)), dtype=event_table.TEXT
    )
    return taken
