"""The buffers that traced steps allocated: their lifetime, op, and output.

TensorFlow's executor records each allocation and each free of an op's tracking allocator, including frees
long after the op. They are paired here; a profile's allocations are in
`tfvis_nb.analysis.memory.from_profile`.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from tfvis_nb.core.nested_lists import categories, exploded, numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import MOST_IN_ALL

NEVER = np.iinfo(np.int64).max
"""Instead of a time: not during the trace."""

_DAY_NS = 86_400 * 10**9
_LARGEST_MICROS = 2**53


def recorded_allocations(trace: Trace) -> pd.DataFrame | None:
    """Return one row per allocated buffer of ``RunMetadata``, by ``alloc_ns``; None without allocations.

    Each allocation of an op is paired with the op's next free of the same number of bytes from the same
    allocator, first allocated first freed. If several buffers have the same size, the record does not show
    which one a free belongs to, but this does not affect the curve. Ignored are frees without an earlier
    allocation, records more than a day away from their op, and records so large that the sum would overflow
    64 bits.

    ``bytes`` is the allocated, not the requested size. ``alloc_ns`` and ``free_ns`` (epoch ns) have
    microsecond resolution; ``free_ns`` is `NEVER` if the buffer outlived the step.
    """
    records = _records(trace)
    if records is None:
        return None
    size, code = np.abs(records.bytes), records.allocator.codes
    order = np.lexsort((records.ns, size, code, records.event))
    event, ns, size, code = (column[order] for column in (records.event, records.ns, size, code))
    change = np.sign(records.bytes[order])
    begins = np.ones(len(order), bool)
    begins[1:] = (np.diff(event) != 0) | (np.diff(code) != 0) | (np.diff(size) != 0)
    group = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    # The number alive; a free without a live buffer takes the count below all earlier ones.
    alive = np.cumsum(change)
    alive -= (alive - change)[first][group]
    least = pd.Series(np.minimum(alive, 0)).groupby(group).cummin().to_numpy()
    before = np.where(begins, 0, np.roll(least, 1))
    made, freed = np.flatnonzero(change > 0), np.flatnonzero((change < 0) & (least == before))
    if not len(made):
        return None
    # The k-th free of a group ends its k-th allocation.
    number = np.arange(len(made)) - np.searchsorted(group[made], group[made])
    frees = np.bincount(group[freed], minlength=len(first))
    ends = number < frees[group[made]]
    free_ns = np.full(len(made), NEVER)
    free_ns[ends] = ns[freed[((np.cumsum(frees) - frees)[group[made]] + number)[ends]]]
    table = pd.DataFrame(
        {
            "event": event[made],
            "allocator": records.allocator.take(order[made]),
            "bytes": size[made],
            "alloc_ns": ns[made],
            "free_ns": free_ns,
        }
    )
    return table.sort_values(["alloc_ns", "event"], kind="stable", ignore_index=True)


class _Records(NamedTuple):
    """All records unchanged, ordered only within an op, as in the source."""

    event: np.ndarray
    allocator: pd.Categorical
    ns: np.ndarray
    bytes: np.ndarray


def _records(trace: Trace) -> _Records | None:
    if trace.nested is None or "memory" not in trace.nested.column_names:
        return None
    events, uses = exploded(trace.nested["memory"].combine_chunks())
    if not len(uses) or uses.type.get_field_index("records") < 0:
        return None
    owners, records = exploded(pc.struct_field(uses, "records"))
    event, size = events[owners], numbers(records, "bytes")
    ns = np.clip(numbers(records, "micros"), -_LARGEST_MICROS, _LARGEST_MICROS) * 1000
    # No machine has buffers whose sum exceeds 64 bits.
    most = MOST_IN_ALL // max(len(size), 1)
    used = (size != 0) & (size >= -most) & (size <= most)
    used &= np.abs(ns - trace.events["start_ns"].to_numpy()[event]) < _DAY_NS
    if not used.any():
        return None
    return _Records(
        event=event[used],
        allocator=categories(uses, "allocator").take(owners[used]),
        ns=ns[used],
        bytes=size[used],
    )


def bytes_in_use(trace: Trace) -> pd.DataFrame:
    """Return the allocated ``bytes`` reported by allocators each time an op was done.

    They include all allocations, even for variables and before the step. There are no rows if no allocator
    counts, such as TensorFlow's plain CPU allocator.
    """
    if trace.nested is None or "memory" not in trace.nested.column_names:
        nothing = np.zeros(0, np.int64)
        return pd.DataFrame({"event": nothing, "allocator": pd.Categorical([]), "bytes": nothing})
    events, uses = exploded(trace.nested["memory"].combine_chunks())
    level = numbers(uses, "in_use_bytes")
    known = np.flatnonzero((level > 0) & (level <= MOST_IN_ALL))
    allocator = categories(uses, "allocator").take(known)
    return pd.DataFrame({"event": events[known], "allocator": allocator, "bytes": level[known]})
