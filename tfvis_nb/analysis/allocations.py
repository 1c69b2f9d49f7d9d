"""Every buffer that was allocated during a step: from when to when, by which op, for which tensor.

TensorFlow's executor records each allocation and each free of an op's tracking allocator, also
frees long after the op. They are paired here; a profile's allocations are in
`tfvis_nb.analysis.allocations_profiled`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

NO_RECORDS = "the trace has no allocation records: TensorFlow writes them from 1.5 on, at FULL_TRACE, for ops"

NEVER = np.iinfo(np.int64).max
"""In the place of a time: not while the trace lasted."""

_COLUMNS = ("event", "allocator", "bytes", "from_ns", "to_ns")


def allocations(trace: Trace) -> pd.DataFrame | None:
    """Return one row per allocated buffer, None when the trace has no allocation records.

    Each allocation of an op is paired with the op's next free of as many bytes from the same
    allocator. Which of several buffers of one size a free belongs to is not recorded, and makes no
    difference to how much is allocated when.

    Parameters
    ----------
    trace
        A trace of ``RunMetadata``.

    Returns
    -------
    pandas.DataFrame or None
        ``event`` (int64; the op that allocated), ``allocator`` (category), ``bytes`` (int64; as
        allocated, not as asked for), ``from_ns`` and ``to_ns`` (int64 epoch nanoseconds, of
        microsecond resolution; ``to_ns`` is `NEVER` where the buffer outlived the trace), ordered by
        ``from_ns``.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.allocations import allocations
    >>> allocations(Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))) is None
    True
    """
    records = _records(trace)
    if records is None:
        return None
    size = records["bytes"].abs()
    is_free = records["bytes"] < 0
    key = [records["event"], records["allocator"].cat.codes, size, is_free]
    number = records.groupby(key, sort=False).cumcount()
    columns = {"event": records["event"], "allocator": records["allocator"], "bytes": size, "number": number}
    table = pd.DataFrame({**columns, "ns": records["ns"]})
    keys = ["event", "allocator", "bytes", "number"]
    made = table[~is_free].rename(columns={"ns": "from_ns"})
    freed = table[is_free].rename(columns={"ns": "to_ns"})
    paired = made.merge(freed, on=keys, how="left")
    paired["to_ns"] = paired["to_ns"].astype("Int64").fillna(NEVER).astype("int64")
    return paired[list(_COLUMNS)].sort_values("from_ns", kind="stable", ignore_index=True)


def _records(trace: Trace) -> pd.DataFrame | None:
    """Every record as it is: event, allocator, ns, bytes (negative when freed), in the order of time."""
    if trace.nested is None or "memory" not in trace.nested.column_names:
        return None
    events, entries = _exploded(trace.nested["memory"].combine_chunks())
    owners, records = _exploded(pc.struct_field(entries, "records"))
    if len(records) == 0:
        return None
    ns = pc.struct_field(records, "micros").to_numpy(zero_copy_only=False).astype(np.int64) * 1000
    size = pc.struct_field(records, "bytes").to_numpy(zero_copy_only=False).astype(np.int64)
    names = pc.struct_field(entries, "allocator").dictionary_encode()
    codes = names.indices.to_numpy(zero_copy_only=False)[owners]
    order = np.argsort(ns, kind="stable")
    return pd.DataFrame(
        {
            "event": events[owners][order],
            "allocator": pd.Categorical.from_codes(codes[order], names.dictionary.to_pylist()),
            "ns": ns[order],
            "bytes": size[order],
        }
    )


def _exploded(lists: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the items of all lists, and which list each is of."""
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    return parents.astype(np.int64), pc.list_flatten(lists)


def outputs(trace: Trace) -> pd.DataFrame:
    """Return one row per recorded output of an op: event, slot, bytes, allocator, ptr.

    Returns
    -------
    pandas.DataFrame
        ``event``, ``slot``, ``bytes`` (int64; allocated, or where the allocator does not tell,
        asked for), ``allocator`` (str), ``ptr`` (uint64; 0 when not recorded).

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.allocations import outputs
    >>> len(outputs(Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))))
    0
    """
    columns = ("slot", "requested_bytes", "allocated_bytes", "allocator", "ptr")
    if trace.nested is None or "outputs" not in trace.nested.column_names:
        return pd.DataFrame({name: [] for name in ("event", "slot", "bytes", "allocator", "ptr")})
    events, items = _exploded(trace.nested["outputs"].combine_chunks())
    field = {
        name: pc.fill_null(pc.struct_field(items, name), "" if name == "allocator" else 0) for name in columns
    }
    asked, got = (field[name].to_numpy(zero_copy_only=False) for name in columns[1:3])
    return pd.DataFrame(
        {
            "event": events,
            "slot": field["slot"].to_numpy(zero_copy_only=False).astype(np.int64),
            "bytes": np.where(got > 0, got, asked).astype(np.int64),
            "allocator": field["allocator"].to_pandas(),
            "ptr": field["ptr"].to_numpy(zero_copy_only=False),
        }
    )
