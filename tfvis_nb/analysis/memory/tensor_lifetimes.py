"""The lifetime of each buffer, and the tensors in it.

Traces before TensorFlow 1.5, files of ``timeline.py``, and allocators without statistics, such as those of
the host, have the sizes and addresses of outputs, but no allocations. There, lifetimes are estimated from the
ops that read outputs: these are assumed to be allocated when their op starts, and freed when the last op that
reads them ends.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.events.recorded_outputs import recorded_outputs
from tfvis_nb.analysis.memory.buffer_origins import runs_of
from tfvis_nb.analysis.memory.from_profile import memory_events, profiled_allocations
from tfvis_nb.analysis.memory.from_run_metadata import NEVER, recorded_allocations
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.nested_lists import coded
from tfvis_nb.core.prediction import is_predicted
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import MOST_IN_ALL
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
    `tfvis_nb.analysis.memory.tensor_lifetimes` how buffers and outputs are.

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
    outputs = output_buffers(trace, buffers)
    is_output = outputs.slot >= 0
    # Records are rounded down to microseconds; ends of ops are not.
    temporary = ~is_output & (buffers["free_ns"].to_numpy() <= done)
    return pd.DataFrame(
        {
            **_of_ops(trace, buffers, outputs.slot),
            "role": _roles(np.select([is_output, temporary], [0, 1], 2)),
            **_times(buffers.assign(requested=outputs.requested)),
            "aliases": pd.array(outputs.aliases, dtype=event_table.TEXT),
            "estimated": False,
        }
    )


def _estimated(trace: Trace, recorded: Collection[str] = ()) -> pd.DataFrame | None:
    buffers = _estimated_allocations(trace, recorded)
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


_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")


def _estimated_allocations(trace: Trace, recorded: Collection[str] = ()) -> pd.DataFrame | None:
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


_MICROSECOND = 1000


class OutputBuffers(NamedTuple):
    """The tensors in some buffers."""

    slot: np.ndarray  # The output of its op that a buffer was allocated for; -1 if none
    # The outputs that a buffer was handed on to, ``node`` or ``node:slot``, joined by ", "
    aliases: list[str]
    requested: np.ndarray  # The bytes that its op requested for it; 0 if unknown


def output_buffers(trace: Trace, buffers: pd.DataFrame) -> OutputBuffers:
    """Find the outputs that lie in recorded buffers.

    A buffer belongs to an output of its op with the same bytes and allocator. If several buffers are equal,
    the one that lives longest belongs to the first output, because buffers freed within their op were
    scratch. An output without such a buffer was handed on: it is in the live buffer with its address.
    """
    produced = recorded_outputs(trace).sort_values(["event", "slot"], ignore_index=True)
    keys = ["event", "allocator", "bytes"]
    made = buffers[keys].assign(
        allocator=buffers["allocator"].astype(object),
        until=buffers["free_ns"],
        buffer=np.arange(len(buffers)),
    )
    made = made.sort_values([*keys, "until"], ascending=[True, True, True, False], kind="stable")
    made["number"] = made.groupby(keys, sort=False).cumcount()
    produced["number"] = produced.groupby(keys, sort=False).cumcount()
    matched = produced.merge(made[[*keys, "number", "buffer"]], on=[*keys, "number"], how="left")
    own = matched["buffer"].notna().to_numpy()
    buffer = matched["buffer"][own].to_numpy(np.int64)
    slot = np.full(len(buffers), -1, np.int64)
    slot[buffer] = matched["slot"][own]
    requested = np.zeros(len(buffers), np.int64)
    requested[buffer] = matched["requested"][own]
    address = np.zeros(len(buffers), np.uint64)
    address[buffer] = matched["ptr"][own]
    handed_on = matched[~own & (matched["ptr"] > 0)]
    return OutputBuffers(slot, _aliases(trace, buffers.assign(ptr=address), handed_on), requested)


def _aliases(trace: Trace, buffers: pd.DataFrame, handed_on: pd.DataFrame) -> list[str]:
    texts = [""] * len(buffers)
    if handed_on.empty:
        return texts
    events = trace.events
    where = pd.DataFrame({"step": events["step"], "task": events["task"].cat.codes})
    start = events["start_ns"].to_numpy()
    end = start + events["duration_ns"].to_numpy()

    def placed(table: pd.DataFrame, when: np.ndarray) -> pd.DataFrame:
        here = where.take(table["event"].to_numpy()).set_axis(table.index)
        there = table.assign(allocator=table["allocator"].astype(object), when=when, **here)
        return there.sort_values("when", kind="stable")

    row = handed_on["event"].to_numpy()
    wanted = placed(handed_on.drop(columns="buffer").assign(start=start[row]), end[row])
    held = placed(buffers.assign(buffer=np.arange(len(buffers))), buffers["alloc_ns"].to_numpy())
    held = held.loc[held["ptr"] > 0, ["step", "task", "allocator", "ptr", "when", "free_ns", "buffer"]]
    alive = pd.merge_asof(wanted, held, on="when", by=["step", "task", "allocator", "ptr"])
    # Frees are rounded down to microseconds; starts of ops are not.
    alive = alive[alive["buffer"].notna() & (alive["free_ns"] + _MICROSECOND > alive["start"])]
    names = events["name"].to_numpy()
    for buffer, event, slot in zip(alive["buffer"].astype(int), alive["event"], alive["slot"], strict=True):
        tensor = f"{names[event]}:{slot}" if slot else str(names[event])
        texts[buffer] = f"{texts[buffer]}, {tensor}" if texts[buffer] else tensor
    return texts
