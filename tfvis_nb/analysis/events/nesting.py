"""Nesting of events on their lanes, and self times."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lanes import busy
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace

_ROUNDS = 32
"""Rounds in which all rows search for their enclosing row at once."""

_SIDE_BY_SIDE = re.compile(r"(?:ops|collective|recv|sync)$|stream:|mem(?:cpy|set)\b")


_CALLED = r"(?:Stateful)?PartitionedCall$|RemoteCall$|(?:Stateless)?(?:If|While|Case)$|SymbolicGradient$"

CALLS = re.compile(_CALLED)
"""Op types that run from the call of their body to its return; its ops have their own rows."""

PART_OF_OP = re.compile(
    r"(?:Eager(?:KernelExecute|CopyToDevice)|KernelAndDevice(?:Func|Op)::Run|ValidateInputTypeAndPlacement"
    r"|ParallelFor\w*|convert_to_tensor|TFE_DeleteTensorHandle)$"
)
"""Calls inside an op's row that run it, or are its loop over threads: their time belongs to the op."""

WAITING = re.compile(rf"_(?:Host)?Recv$|{_CALLED}|IteratorGetNext|Queue\w*Dequeue")
"""Op types that run from the call of their body to its return, or to the arrival of a tensor.

Events in the meantime have their own rows.
"""


def nests(events: pd.DataFrame) -> np.ndarray:
    """Return a mask of events on lanes where an event inside another is part of it.

    This holds for threads and for the lines of a TPU. Executor ops run on several unrecorded threads, and GPU
    kernels on several streams: their events only happen at the same time.
    """
    mask: np.ndarray = is_kind(events, "host") | ~beginning(events["lane"], _SIDE_BY_SIDE)
    return mask


def nesting_lanes(lanes: pd.DataFrame) -> np.ndarray:
    """Return a mask of the lanes of a table of lanes whose events nest, as in `nests`.

    ``nests`` in ``js/model/search/range_statistics.ts`` finds the same.
    """
    side_by_side = lanes["lane"].astype("str").str.match(_SIDE_BY_SIDE).to_numpy("?")
    mask: np.ndarray = (lanes["kind"].astype("str") == "host").to_numpy("?") | ~side_by_side
    return mask


def parents(events: pd.DataFrame, among: np.ndarray | None = None) -> np.ndarray:
    """Return the innermost enclosing event of each event on its lane; -1 if there is none.

    If two events have the same start and end, the later row is nested in the earlier one. Events outside
    `among` neither have parents nor are parents.
    """
    parent = np.full(len(events), -1, np.int64)
    nesting = nests(events)
    rows = np.flatnonzero(nesting if among is None else nesting & among)
    if not len(rows):
        return parent
    lane, start = _lane(events)[rows], _column(events, "start_ns")[rows]
    end = start + _column(events, "duration_ns")[rows]
    order = np.argsort(lane, kind="stable")
    again = (lane[order[1:]] == lane[order[:-1]]) & (start[order[1:]] == start[order[:-1]])
    if (again & (end[order[1:]] > end[order[:-1]])).any():
        # Of rows with the same start, the longer one must come first.
        order = np.lexsort((-end, start, lane))
    parent[rows[order]] = np.append(rows[order], -1)[enclosing(lane[order], end[order])]
    return parent


@per_trace
def parents_of(trace: Trace) -> np.ndarray:
    """Return the `parents` of all events of a trace (read only)."""
    parent = parents(trace.events)
    parent.flags.writeable = False
    return parent


def self_times(events: pd.DataFrame, among: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the self time of each event (ns): its duration without nested events; and whether it is known.

    It is the duration minus the time covered by directly nested events, so never negative. Calls that run an
    op inside its row, such as ``ParallelFor``, give their time to the op. It is unknown for whole functions
    and loops in an executor's lane, whose ops have their own rows. The self times of a lane add up to the
    time its events cover, unless events overlap without being nested.
    """
    return _self_times(events, parents(events, among))


def _self_times(events: pd.DataFrame, parent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    duration = _column(events, "duration_ns")
    own = duration.copy()
    is_op = is_kind(events, "op")
    inner = np.flatnonzero(parent >= 0)
    if len(inner):
        start = _column(events, "start_ns")[inner]
        own -= busy(parent[inner], start, start + duration[inner], len(events))
        give_to_ops(parent, own, is_kind(events, "host") & beginning(events["op"], PART_OF_OP), is_op)
    return own, ~(is_op & ~nests(events) & beginning(events["op"], CALLS))


def give_to_ops(parent: np.ndarray, own: np.ndarray, wraps: np.ndarray, is_op: np.ndarray) -> None:
    """Add the self times of calls that run an op, which `wraps` marks, to the op."""
    rows = np.flatnonzero(wraps & (parent >= 0))
    op = parent[rows]
    # Parents are earlier or longer rows, so each round removes one wrapper until none is left.
    while (within := (op >= 0) & wraps[op]).any():
        op[within] = parent[op[within]]
    given = (op >= 0) & is_op[op]
    np.add.at(own, op[given], own[rows[given]])
    own[rows[given]] = 0


@per_trace
def self_times_of(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the `self_times` of all events of a trace."""
    return _self_times(trace.events, parents_of(trace))


def _column(events: pd.DataFrame, name: str) -> np.ndarray:
    return events[name].to_numpy(np.int64)


def _lane(events: pd.DataFrame) -> np.ndarray:
    """Number the lanes, by task, device and lane."""
    key = np.zeros(len(events), np.int64)
    for name in ("task", "device", "lane"):
        key = key * (len(events[name].cat.categories) + 1) + events[name].cat.codes.to_numpy() + 1
    number, distinct = pd.factorize(key)
    # Numpy sorts 16 bits in linear time.
    return number.astype(np.uint16 if len(distinct) <= 1 << 16 else np.int64)


def enclosing(lane: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return for each row, ordered by lane, start and length, the index of the enclosing row, or -1."""
    index = np.arange(len(end), dtype=np.int64)
    outer = index - 1
    if len(outer):
        outer[np.append(True, lane[1:] != lane[:-1])] = -1
    todo = index[outer >= 0]
    for _ in range(_ROUNDS):
        # Rows between a row and its candidate end before the row, so they can be skipped.
        todo = todo[end[outer[todo]] < end[todo]]
        outer[todo] = outer[outer[todo]]
        todo = todo[outer[todo] >= 0]
    if len(todo):
        # With very deep nesting, process rows in order: each skips the levels that the previous one climbed.
        callers, until = outer.tolist(), end.tolist()
        for row in todo.tolist():
            candidate, last = row - 1, until[row]
            while candidate >= 0 and until[candidate] < last:
                candidate = callers[candidate]
            callers[row] = candidate
        outer = np.array(callers, np.int64)
    return outer
