"""The tensors that took over buffers in the timeline, stored as the events that made the tensors.

``js/model/wire/memory.ts`` reads them. Events take a fifth of the bytes of names.
"""

import re
from bisect import bisect_left

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.container import WireColumn
from tfvis_nb.display.wire.lane_times import length_column, signed_column
from tfvis_nb.kinds import NODES

_MICROSECOND = 1000
_SLOT = re.compile("[0-9]{1,9}")


def alias_columns(trace: Trace, buffers: pd.DataFrame) -> dict[str, WireColumn]:
    """Store the number of aliases of each buffer, and the event and slot of each; nothing if there are none.

    An event is stored as its distance to the one that allocated the buffer. Aliases of events that are not in
    the trace, for example in a part of it, are left out.
    """
    texts = buffers["aliases"].to_numpy(object)
    having = np.flatnonzero(texts != "")
    runs = _Runs(trace, {tensor for row in having for tensor in texts[row].split(", ")})
    counts = np.zeros(len(buffers), "i8")
    aliases: list[tuple[int, int]] = []
    owners: list[int] = []
    columns = ("step", "task", "alloc_ns", "free_ns", "event")
    for row, *where, start, end, owner in zip(
        having, *(buffers[name].iloc[having] for name in columns), strict=True
    ):
        seen: set[int] = set()
        for tensor in texts[row].split(", "):
            alias = runs.find((*where, tensor), start, end, seen)
            if alias is not None:
                seen.add(alias[0])
                aliases.append(alias)
                owners.append(owner)
        counts[row] = len(seen)
    if not aliases:
        return {}
    event, slot = np.array(aliases, "i8").T
    return {
        "alias_count": length_column(counts),
        "alias_distance": signed_column(event - np.array(owners, "i8")),
        "alias_slot": length_column(slot),
    }


class _Runs:
    """The runs of the nodes of tensors, by step and task."""

    def __init__(self, trace: Trace, tensors: set[str]) -> None:
        events = trace.events
        nodes = tensors | {tensor.rpartition(":")[0] for tensor in tensors}
        names = pa.array(events["name"], pa.large_string())
        is_named = pc.is_in(names, pa.array(sorted(nodes), pa.large_string())).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(is_named & is_kind(events, *NODES))
        here = events[["step", "task", "name", "start_ns"]].take(rows)
        self._runs: dict[tuple[int, str, str], tuple[list[int], list[int]]] = {}
        for row, step, task, name, start in zip(rows.tolist(), *(here[key] for key in here), strict=True):
            starts, ids = self._runs.setdefault((step, task, name), ([], []))
            starts.append(start)
            ids.append(row)

    def find(
        self, tensor: tuple[int, str, str], start: int, end: int, seen: set[int]
    ) -> tuple[int, int] | None:
        """Return event and slot of a tensor's first run while a buffer lived that is not in `seen`."""
        step, task, name = tensor
        node, _, slot = name.rpartition(":")
        whole = (step, task, name) in self._runs
        starts, ids = self._runs.get((step, task, name if whole else node), ([], []))
        # Records are rounded down to microseconds.
        for at in range(bisect_left(starts, start), len(starts)):
            if starts[at] >= end + _MICROSECOND:
                break
            if ids[at] not in seen:
                return ids[at], 0 if whole or not _SLOT.fullmatch(slot) else int(slot)
        return None
