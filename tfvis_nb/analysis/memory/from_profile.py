"""The buffers of a profile: its allocation and deallocation events, paired by allocator and address."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.memory.from_run_metadata import NEVER
from tfvis_nb.core.nested_lists import coded
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.text_rows import text_rows, texts_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import MOST_IN_ALL

_ALLOCATING, _FREEING = _OPS = ("MemoryAllocation", "MemoryDeallocation")
_ALLOCATOR = re.compile(r"(?:^| )allocator_name=(\S+)")
# A TPU's allocator has no name.
_DEVICE = re.compile(r"(?:^| )index_on_host=(\d+)")
_OP = re.compile(r"(?:^| )tf_op=(\S+)")
_REQUESTED = re.compile(r"(?:^| )requested_bytes=(\d{1,18})(?= |$)")


@per_trace
def memory_events(trace: Trace) -> pd.DataFrame | None:
    """Return the allocations and deallocations of a profile, ordered by time; None if there are none.

    Columns: ``event``, ``task``, ``allocator`` (``device 0`` without a name), ``ns`` (epoch), ``is_free``,
    ``bytes`` (0 when freed), ``requested``, ``in_use`` and ``available`` (bytes; NA if invalid; the last two:
    allocated after it, and still free), ``fragmentation`` (float64; NaN if it is not a fraction),
    ``address``, ``node`` (of the graph).
    """
    events = trace.events
    codes = events["op"].cat.codes.to_numpy()
    allocating, freeing = events["op"].cat.categories.get_indexer(pd.Index(_OPS))
    row = np.flatnonzero((codes >= 0) & ((codes == allocating) | (codes == freeing)))
    if not len(row):
        return None
    which, texts = _distinct(events["detail"], row)
    return pd.DataFrame(
        {
            "event": row,
            "task": events["task"].array.take(row),
            "allocator": _named([_allocator(text) for text in texts], which),
            "ns": events["start_ns"].to_numpy()[row],
            "is_free": codes[row] == freeing,
            "bytes": events["bytes"].array.take(row).to_numpy(np.int64, na_value=0),
            "requested": _amounts(_requested(texts)[which]),
            "in_use": _amounts(_nested(trace, "in_use_bytes", row)),
            "available": _amounts(_nested(trace, "available_bytes", row)),
            "fragmentation": _fragmentation(trace, row),
            "address": _nested(trace, "address", row),
            "node": _named([_first(_OP, text) for text in texts], which),
        }
    )


def profiled_allocations(trace: Trace) -> pd.DataFrame | None:
    """Return one row per buffer allocated in a profile, by ``alloc_ns``; None if it has no addresses.

    ``event`` is the allocation, ``free_ns`` is `tfvis_nb.analysis.memory.from_run_metadata.NEVER` if the
    buffer outlived the profile.
    """
    table = memory_events(trace)
    if table is None or table["address"].isna().all():
        return None
    address = table["address"].to_numpy(np.int64, na_value=0)
    keys = (address, table["allocator"].cat.codes.to_numpy(), table["task"].cat.codes.to_numpy())
    # Addresses are reused after a free, so an allocation ends at the next event at its address.
    order = np.lexsort(keys)
    same = np.ones(len(order) - 1, bool)
    for key in keys:
        same &= np.diff(key[order]) == 0
    is_free, ns = table["is_free"].to_numpy(), table["ns"].to_numpy()
    ends = np.flatnonzero(same & is_free[order[1:]] & (address[order[1:]] != 0))
    until = np.full(len(table), NEVER)
    until[order[ends]] = ns[order[ends + 1]]
    columns = ["event", "task", "allocator", "node", "bytes", "requested", "ns"]
    allocations = table.loc[~is_free, columns].rename(columns={"ns": "alloc_ns"})
    return allocations.assign(free_ns=until[~is_free]).reset_index(drop=True)


def _distinct(column: pd.Series, rows: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the distinct texts of rows, and the index of each row's text."""
    numbered = texts_of(text_rows(column, rows)).dictionary_encode()
    return numbered.indices.to_numpy(), numbered.dictionary.to_pylist()


def _allocator(text: str) -> str:
    device = _first(_DEVICE, text)
    return _first(_ALLOCATOR, text) or (f"device {device}" if device else "")


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def _requested(texts: list[str]) -> np.ndarray:
    return np.array([int(_first(_REQUESTED, text) or -1) for text in texts], np.int64)


def _amounts(numbers: np.ndarray | pd.arrays.IntegerArray) -> pd.Series:
    amounts = pd.Series(numbers, dtype="Int64")
    return amounts.where((amounts >= 0) & (amounts <= MOST_IN_ALL), None)


def _fragmentation(trace: Trace, rows: np.ndarray) -> np.ndarray:
    if trace.nested is None or "fragmentation" not in trace.nested.column_names:
        return np.full(len(rows), np.nan)
    column = pc.take(trace.nested["fragmentation"], pa.array(rows)).cast(pa.float64()).combine_chunks()
    share = pc.fill_null(column, np.nan).to_numpy(zero_copy_only=False)
    fragmentation: np.ndarray = np.where((share >= 0) & (share <= 1), share, np.nan)
    return fragmentation


def _named(names: list[str], which: np.ndarray) -> pd.Categorical:
    """Make categories of names that may repeat, and the index of each row's category."""
    codes, distinct = pd.factorize(pd.Series(names, dtype=object))
    return coded(codes[which], distinct.tolist())


def _nested(trace: Trace, name: str, rows: np.ndarray) -> pd.arrays.IntegerArray:
    if trace.nested is None or name not in trace.nested.column_names:
        return pd.arrays.IntegerArray(np.zeros(len(rows), np.int64), np.ones(len(rows), bool))
    column = pc.take(trace.nested[name], pa.array(rows)).combine_chunks()
    values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    return pd.arrays.IntegerArray(values.copy(), pc.is_null(column).to_numpy(zero_copy_only=False))
