"""Every buffer that a traced step allocated: its lifetime, its op, and the op's output in it.

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
"""Instead of a time: not while the trace lasted."""

_DAY_NS = 86_400 * 10**9
_LARGEST_MICROS = 2**53


def recorded_allocations(trace: Trace) -> pd.DataFrame | None:
    """Return one row per allocated buffer of ``RunMetadata``, by ``alloc_ns``; None without allocations.

    Each allocation of an op is paired with the op's next free of as many bytes from the same
    allocator, first come first freed. Which of several buffers of one size a free belongs to is not
    recorded, and makes no difference to how much is allocated when. These are ignored: a free without an
    allocation before it, a record more than a day away from its op, and one so large that the sum would
    overflow 64 bits.

    ``bytes`` are as allocated, not as requested; ``alloc_ns`` and ``free_ns`` (epoch ns) have microsecond
    resolution; ``free_ns`` is `NEVER` where the buffer outlived the step.
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
    # How many are alive; a free that none is alive for takes the count below all that came before.
    alive = np.cumsum(change)
    alive -= (alive - change)[first][group]
    least = pd.Series(np.minimum(alive, 0)).groupby(group).cummin().to_numpy()
    before = np.where(begins, 0, np.roll(least, 1))
    made, freed = np.flatnonzero(change > 0), np.flatnonzero((change < 0) & (least == before))
    if not len(made):
        return None
    # The k-th allocation of a group ends with its k-th free.
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
    """Every record as it is, ordered only within an op, as in the source."""

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
    # No machine has buffers so large that their sum does not fit 64 bits.
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
    """Return the ``bytes`` that allocators themselves reported as allocated, each time an op was done.

    That includes everything they allocated, even for variables and before the step. Without rows where no
    allocator counts, such as TensorFlow's plain one for CPUs.
    """
    if trace.nested is None or "memory" not in trace.nested.column_names:
        nothing = np.zeros(0, np.int64)
        return pd.DataFrame({"event": nothing, "allocator": pd.Categorical([]), "bytes": nothing})
    events, uses = exploded(trace.nested["memory"].combine_chunks())
    level = numbers(uses, "in_use_bytes")
    known = np.flatnonzero((level > 0) & (level <= MOST_IN_ALL))
    allocator = categories(uses, "allocator").take(known)
    return pd.DataFrame({"event": events[known], "allocator": allocator, "bytes": level[known]})
