"""The buffers of a profile: its allocation and deallocation events, paired by allocator and address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

_ALLOCATOR = re.compile(r"(?:^| )allocator_name=(\S+)")
_OP = re.compile(r"(?:^| )tf_op=(\S+)")


def memory_events(trace: Trace) -> pd.DataFrame | None:
    """Return the allocations and deallocations of a profile, None when it has none.

    Returns
    -------
    pandas.DataFrame
        In the order of time: ``event`` (int64), ``step``, ``task`` (str), ``allocator`` (str), ``ns``
        (int64 epoch nanoseconds), ``is_free`` (bool), ``bytes`` (int64; 0 when freed), ``in_use``
        (Int64; bytes that the allocator had given out after it), ``address`` (Int64), ``tf_op`` (str).

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.allocations_profiled import memory_events
    >>> memory_events(Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))) is None
    True
    """
    events = trace.events
    ops = events["op"].cat
    allocating, freeing = ops.categories.get_indexer(pd.Index(_KINDS))
    codes = ops.codes.to_numpy()
    row = np.flatnonzero((codes >= 0) & ((codes == allocating) | (codes == freeing)))
    if not len(row):
        return None
    detail = pa.array(events["detail"].take(row), pa.large_string()).dictionary_encode()
    which = detail.indices.fill_null(0).to_numpy(zero_copy_only=False)
    texts = [text or "" for text in detail.dictionary.to_pylist()]
    return pd.DataFrame(
        {
            "event": row,
            "step": events["step"].to_numpy()[row],
            "task": events["task"].astype(object).to_numpy()[row],
            "allocator": np.array([_first(_ALLOCATOR, text) for text in texts], object)[which],
            "ns": events["start_ns"].to_numpy()[row],
            "is_free": codes[row] == freeing,
            "bytes": events["bytes"].take(row).fillna(0).to_numpy(np.int64),
            "in_use": _nested(trace, "in_use_bytes", row),
            "address": _nested(trace, "address", row),
            "tf_op": np.array([_first(_OP, text) for text in texts], object)[which],
        }
    )


_KINDS = ("MemoryAllocation", "MemoryDeallocation")


def profiled_allocations(trace: Trace) -> pd.DataFrame | None:
    """Return one row per buffer that a profile saw allocated; None when it has no such events.

    Returns
    -------
    pandas.DataFrame
        As of `tfvis_nb.analysis.tensor_lifetimes.tensor_lifetimes`; ``name`` and ``op`` are the op that
        asked for the memory, as far as the profiler knows it.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.allocations_profiled import profiled_allocations
    >>> table = events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]})
    >>> profiled_allocations(Trace(table)) is None
    True
    """
    table = memory_events(trace)
    if table is None:
        return None
    # An address is given out again when it was freed: an allocation ends at the next event there.
    table = table.sort_values(["task", "allocator", "address", "ns"], kind="stable", ignore_index=True)
    keys = ["task", "allocator", "address"]
    same = (table[keys] == table[keys].shift(-1)).all(axis=1) & table["address"].notna()
    ends = table["ns"].shift(-1).where(same & table["is_free"].shift(-1, fill_value=False)).astype("Int64")
    made = ~table["is_free"].to_numpy()
    found = table[made]
    names = found["tf_op"].astype(object)
    result = pd.DataFrame(
        {
            "step": found["step"],
            "task": _text(found["task"]),
            "allocator": _text(found["allocator"]),
            "event": found["event"],
            "name": _text(names),
            "op": _text([name.rpartition("/")[2] for name in names]),
            "scope": _text([name.rpartition("/")[0] for name in names]),
            "role": _text(["allocated"] * len(found)),
            "bytes": found["bytes"],
            "from_ns": found["ns"],
            "to_ns": ends[made],
            "lifetime_ns": ends[made] - found["ns"],
            "aliases": _text([""] * len(found)),
        }
    )
    return result.sort_values("from_ns", kind="stable", ignore_index=True)


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def _nested(trace: Trace, name: str, rows: np.ndarray) -> pd.Series:
    if trace.nested is None or name not in trace.nested.column_names:
        return pd.Series(pd.array([pd.NA] * len(rows), dtype="Int64"))
    column = pc.take(trace.nested[name], pa.array(rows))
    return pd.Series(pd.array(column.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)))


def _text(values: object) -> np.ndarray:
    texts: np.ndarray = pd.array(np.asarray(values, dtype=object), dtype=event_table.TEXT)
    return texts
