"""From when to when each tensor's buffer was allocated, and which tensors lived in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis.allocations import NEVER, NO_RECORDS, allocations, outputs
from tfvis_nb.analysis.allocations_profiled import profiled_allocations
from tfvis_nb.analysis.answers import cannot_say

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

FIGURES = {
    "bytes": "Bytes of the buffer as its allocator counts them, not as the op asked for; a buffer that is"
    " handed on from op to op counts once.",
    "from_ns": "Epoch nanoseconds, in RunMetadata of microsecond resolution, at which it was allocated.",
    "to_ns": "Epoch nanoseconds of its last free; missing where it outlived what was recorded, as a variable"
    " or a fetched value does.",
    "lifetime_ns": "to_ns - from_ns; on a GPU the host's times, while kernels may still be queued.",
}

_COLUMNS = {
    "step": "int32",
    "task": "str",
    "allocator": "str",
    "event": "int64",
    "name": "str",
    "op": "str",
    "scope": "str",
    "role": "str",
    "bytes": "int64",
    "from_ns": "int64",
    "to_ns": "Int64",
    "lifetime_ns": "Int64",
    "aliases": "str",
}


def tensor_lifetimes(trace: Trace) -> pd.DataFrame:
    """Return one row per buffer: what lived in it, and from its allocation to its last free.

    Parameters
    ----------
    trace
        Any trace; allocation records are in a ``RunMetadata`` of TensorFlow 1.5 and later and in profiles.

    Returns
    -------
    pandas.DataFrame
        Ordered by ``from_ns``: ``step``, ``task``, ``allocator``; ``event`` (int64, the op that
        allocated; -1 where it is not known), ``name`` (the tensor, ``node:slot``, or the node of what
        is no output), ``op`` (type), ``scope`` (of the name, without its last part); ``role``
        (``output``, or ``temporary`` when freed before its op was done, or ``kept`` when it is no
        output and was not); ``bytes``, ``from_ns``, ``to_ns``, ``lifetime_ns``; ``aliases``, the other
        tensors that were forwarded or shared the buffer, joined by ", ". Without rows, and with a reason
        (see `tfvis_nb.analysis.answers`), when nothing of it was recorded.

    Notes
    -----
    A buffer is an output's when the op's output has its bytes and allocator; of several equal ones the
    first free slot is taken. Forwarded outputs have no allocation of their own: they belong to the live
    buffer whose address they have.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.answers import why_not
    >>> from tfvis_nb.analysis.tensor_lifetimes import tensor_lifetimes
    >>> table = tensor_lifetimes(Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]})))
    >>> why_not(table)[:38]
    'the trace has no allocation records: T'
    """
    buffers = allocations(trace)
    if buffers is None:
        profiled = profiled_allocations(trace)
        return cannot_say(_COLUMNS, NO_RECORDS) if profiled is None else profiled[list(_COLUMNS)]
    events = trace.events
    row = buffers["event"].to_numpy()
    name = events["name"].to_numpy()[row].astype(object)
    done = events["compute_end_ns"].fillna(events["start_ns"] + events["duration_ns"]).to_numpy(np.int64)[row]
    slot, forwarded = _slots(trace, buffers)
    is_output = slot >= 0
    # Records are of whole microseconds, rounded down; an op's end is not.
    temporary = ~is_output & (buffers["to_ns"].to_numpy() <= done)
    tensor = np.where(is_output & (slot > 0), name + ":" + slot.astype(str).astype(object), name)
    ends = buffers["to_ns"].astype("Int64").where(buffers["to_ns"] < NEVER)
    return pd.DataFrame(
        {
            "step": events["step"].to_numpy()[row],
            "task": _text(events["task"].astype(object).to_numpy()[row]),
            "allocator": _text(buffers["allocator"].astype(object)),
            "event": row,
            "name": _text(tensor),
            "op": _text(events["op"].astype(object).to_numpy()[row]),
            "scope": _text([text.rpartition("/")[0] for text in name]),
            "role": _text(np.select([is_output, temporary], ["output", "temporary"], "kept")),
            "bytes": buffers["bytes"],
            "from_ns": buffers["from_ns"],
            "to_ns": ends,
            "lifetime_ns": ends - buffers["from_ns"],
            "aliases": _text(_aliases(trace, buffers, forwarded)),
        }
    )


def _slots(trace: Trace, buffers: pd.DataFrame) -> tuple[np.ndarray, pd.DataFrame]:
    """Return each buffer's output slot, -1 where it is none, and the outputs without an own buffer."""
    produced = outputs(trace).sort_values(["event", "slot"], ignore_index=True)
    keys = ["event", "allocator", "bytes"]
    # What lives longest is handed on; a buffer that was freed within its op was scratch.
    made = buffers.assign(allocator=buffers["allocator"].astype(str), place=np.arange(len(buffers)))
    made = made.sort_values([*keys, "to_ns"], ascending=[True, True, True, False], kind="stable")
    made["number"] = made.groupby(keys, sort=False).cumcount()
    produced["number"] = produced.groupby(keys, sort=False).cumcount()
    matched = produced.merge(made[[*keys, "number", "place"]], on=[*keys, "number"], how="left")
    own = matched["place"].notna().to_numpy()
    slot = np.full(len(buffers), -1, np.int64)
    place = matched["place"][own].to_numpy(np.int64)
    slot[place] = matched["slot"][own]
    address = np.zeros(len(buffers), np.uint64)
    address[place] = matched["ptr"][own]
    buffers["ptr"] = address
    return slot, matched[~own & (matched["ptr"] > 0)]


def _aliases(trace: Trace, buffers: pd.DataFrame, forwarded: pd.DataFrame) -> list[str]:
    """Return the names of the outputs that were forwarded into each buffer."""
    texts = [""] * len(buffers)
    if forwarded.empty:
        return texts
    events = trace.events
    rows = forwarded["event"].to_numpy()
    start = events["start_ns"].to_numpy()[rows]
    when = start + events["duration_ns"].to_numpy()[rows]
    tasks = events["task"].cat.codes.to_numpy()
    wanted = pd.DataFrame(
        {
            "task": tasks[rows],
            "allocator": forwarded["allocator"].to_numpy(),
            "ptr": forwarded["ptr"].to_numpy(),
            "when": when,
            "start": start,
            "row": rows,
            "slot": forwarded["slot"].to_numpy(),
        }
    ).sort_values("when", kind="stable")
    held = pd.DataFrame(
        {
            "task": tasks[buffers["event"].to_numpy()],
            "allocator": buffers["allocator"].astype(str).to_numpy(),
            "ptr": buffers["ptr"],
            "when": buffers["from_ns"],
            "until": buffers["to_ns"],
            "place": np.arange(len(buffers)),
        }
    )
    held = held[held["ptr"] > 0].sort_values("when", kind="stable")
    found = pd.merge_asof(wanted, held, on="when", by=["task", "allocator", "ptr"])
    found = found[found["place"].notna() & (found["until"] + 1000 > found["start"])]
    names = events["name"].to_numpy()
    for place, row, slot in zip(found["place"].astype(int), found["row"], found["slot"], strict=True):
        tensor = f"{names[row]}:{slot}" if slot else str(names[row])
        texts[place] = f"{texts[place]}, {tensor}" if texts[place] else tensor
    return texts


def _text(values: object) -> pd.Series:
    return pd.Series(pd.array(np.asarray(values, dtype=object), dtype=event_table.TEXT))
