"""Ops that ran on a CPU between GPU kernels, and the small copies they need."""

import re
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import CALLS
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import beginning, is_kind, map_categories
from tfvis_nb.core.data_types import DATA_TYPES
from tfvis_nb.core.intervals import overlap, union
from tfvis_nb.core.nested_lists import categories, exploded, numbers
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

WHERE = ("CPU", "host memory", "GPU")
"""Locations of an op's work; see `cpu_ops_between_kernels`."""

FIGURES: dict[str, str] = {
    "where": "CPU: an op placed on a CPU; host memory: an op placed on a GPU that launched nothing and "
    "put its outputs into host memory; GPU: an op that computed on its GPU and copied to or from the "
    "host.",
    "count": "How often the node ran, excluding runs that ended before the first kernel of their step and "
    "task or started after the last one.",
    "total_ns": "Sum of the durations of these ops, in ns.",
    "gpu_idle_ns": "The part of total_ns during which nothing ran on any GPU of the task, in ns; two "
    "simultaneous ops count it twice.",
    "gpu_idle_exclusive_ns": "The part of gpu_idle_ns that is not covered by another op of the table that"
    " started earlier in the step and task, in ns. Over all rows, the time during which any of the ops "
    "ran and no GPU did.",
    "to_host": "Number of copies to the host that brought the op its inputs, or that the op made itself. "
    "A copy that several ops took as input counts for the first of them.",
    "to_host_bytes": "Sum of the bytes of these copies, as far as recorded.",
    "to_host_ns": "Sum of the durations of these copies, in ns.",
    "to_device": "Number of copies to a GPU that took the op's outputs there, or that the op made itself.",
    "to_device_bytes": "Sum of the bytes of these copies, as far as recorded.",
    "to_device_ns": "Sum of the durations of these copies, in ns.",
}

_AMOUNTS = tuple(FIGURES)[1:]
_COLUMNS = (
    {"task": "category", "device": "category", "op": "category", "name": "str", "where": "category"}
    | dict.fromkeys(_AMOUNTS, "int64")
    | {"longest": "int64"}
)
_DIRECTIONS = ("to_host", "to_device")
_SHORT = ("d2h", "h2d")
_HOST_MEMORY = re.compile(r"cpu|host", re.IGNORECASE)
_PASSIVE = re.compile(
    r"(?:Host)?Const$|NoOp$|ControlTrigger$|\w*HandleOp$|Identity|StopGradient$|LoopCond$"
    r"|(?:Ref)?(?:Switch|Merge|Enter|Exit|NextIteration)$"
)
"""Op types that compute nothing: they only matter if they need copies."""

_FED = re.compile(r"_(?:Device)?(?:Arg|Retval)$|Placeholder|_?(?:Host)?(?:Send|Recv)$")
"""Op types that feed inputs to a step and fetch its results."""

_HANDLES = (DATA_TYPES.index("RESOURCE"), DATA_TYPES.index("VARIANT"))
"""Data types that are always in host memory."""


class _Copies(NamedTuple):
    """Edges between copies and ops, as pairs of event ids; see `_copies`."""

    read: tuple[np.ndarray, np.ndarray]
    written: tuple[np.ndarray, np.ndarray]
    launched: tuple[np.ndarray, np.ndarray]


@validate_input
def cpu_ops_between_kernels(trace: Trace, steps: Collection[int] | None = None) -> pd.DataFrame:
    """Return the ops that ran on a CPU between kernels of their step and task, and their copies.

    Parameters
    ----------
    trace
        Any trace.
    steps
        Numbers of the steps to add up; None for all.

    Returns
    -------
    pandas.DataFrame
        One row per node and location of its work, the longest idle time of GPUs first: ``task``, ``device``
        (category; where the node was placed), ``op`` (category), ``name`` (str), ``where`` (category of
        `WHERE`), the amounts of `FIGURES` (int64) and ``longest`` (int64), its longest event. `cannot_say` if
        no kernels or no devices of ops are known.

        * ``CPU``: the op was placed on a CPU.
        * ``host memory``: the op was placed on a GPU but its kernel runs on the host, as for integers that
          are shapes. It launched nothing and its outputs are in host memory. If that is not recorded, a copy
          took them to the GPU or brought inputs.
        * ``GPU``: the op launched kernels, but inputs or parts of its work were copied to or from the host.

    Raises
    ------
    ValueError
        If a number in `steps` is not a step.

    Notes
    -----
    Each copy counts once. Left out are all events before the first kernel, copies of fed and fetched tensors,
    waits for input, and ops that compute nothing, such as ``Const``, unless they need copies.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import cpu_ops_between_kernels
    >>> table = events.build({
    ...     "start_ns": [0, 5, 20, 50], "duration_ns": [5, 2, 10, 5], "bytes": [None, 4, None, None],
    ...     "kind": ["kernel", "memcpy", "op", "kernel"], "lane": ["s", "memcpy D2H", "ops", "s"],
    ...     "device": ["GPU:0", "GPU:0", "CPU:0", "GPU:0"], "op": ["", "", "Where", ""],
    ...     "name": ["a", "a/_1", "b", "c"], "detail": ["", "", "b = Where(a/_1)", ""]})
    >>> result = cpu_ops_between_kernels(Trace(table))
    >>> result[["op", "where", "gpu_idle_ns", "to_host", "to_host_bytes"]].values.tolist()
    [['Where', 'CPU', 10, 1, 4]]
    """
    chosen = _chosen(trace, steps)
    if isinstance(chosen, Text):
        return cannot_say(_COLUMNS, chosen)
    where, copies, group = chosen
    return _table(trace, where, _caused(where, copies), group)


@validate_input
def cpu_op_times(trace: Trace) -> pd.DataFrame:
    """Return name, op, location, step and duration of each run of the ops of `cpu_ops_between_kernels`."""
    chosen = _chosen(trace, None)
    where = np.zeros(0, np.int64) if isinstance(chosen, Text) else chosen[0]
    rows = np.flatnonzero(where >= 0)
    runs = trace.events[["name", "op", "step", "duration_ns"]].iloc[rows]
    return runs.rename(columns={"duration_ns": "amount"}).assign(where=np.array(WHERE, object)[where[rows]])


def _chosen(trace: Trace, steps: Collection[int] | None) -> tuple[np.ndarray, _Copies, np.ndarray] | Text:
    """Return the location of each event in the table, the copies, and each event's step and task, by number.

    A text if there is nothing to find, with the reason.
    """
    events = trace.events
    on_device = is_kind(events, "kernel") & accelerators(events)
    kernels = np.flatnonzero(on_device & (events["step"] != NO_STEP).to_numpy())
    if not len(kernels):
        return Text("no_gpu_kernels")
    group, groups = _step_and_task(events)
    executed = is_kind(events, "op") & map_categories(events["lane"], lambda lane: lane == "ops")
    if not np.isin(group[kernels], group[executed]).any():
        return Text("no_op_devices")
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    first = np.full(groups, np.iinfo(np.int64).max)
    last = np.full(groups, np.iinfo(np.int64).min)
    np.minimum.at(first, group[kernels], start[kernels])
    np.maximum.at(last, group[kernels], start[kernels])
    between = _mask(of_steps(trace, steps), len(events)) & executed
    between &= (end > first[group]) & (start < last[group])
    between &= ~beginning(events["op"], _FED) & ~beginning(events["op"], CALLS)
    copies = _copies(trace)
    return _where(trace, between, copies), copies, group


def _mask(rows: np.ndarray, count: int) -> np.ndarray:
    mask = np.zeros(count, bool)
    mask[rows] = True
    return mask


def _step_and_task(events: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Number the pairs of step and task."""
    group, first = number_rows(events["step"], events["task"])
    return group, len(first)


def _copies(trace: Trace) -> _Copies:
    """Return the edges between ops and copies between host and GPU.

    read:      copy to the host  --->  op that used what it brought
    written:   op                --->  copy to a GPU of what it made
    launched:  op                --->  copy in either direction that it made itself
    """
    edges, activities = edges_of(trace), activity(trace)
    source, target = edges["source"].to_numpy(), edges["target"].to_numpy()
    launch = (edges["kind"] == "launch").to_numpy()
    to_host, to_device = (activities == NUMBER[short] for short in _SHORT)
    read, written = ~launch & to_host[source], ~launch & to_device[target]
    launched = launch & (to_host | to_device)[target]
    return _Copies(*((source[rows], target[rows]) for rows in (read, written, launched)))


def _where(trace: Trace, between: np.ndarray, copies: _Copies) -> np.ndarray:
    """Return the index in `WHERE` of each event, or -1 if it is not in the table.

    The table has these events between the kernels of a step and task:

    * ops placed on a CPU that compute;
    * ops placed on a GPU that launched nothing and have their outputs in host memory, or if that is not
      recorded, read copies to the host or had their outputs copied to the GPU;
    * ops that launched work on their GPU and made or read copies.

    Ops that compute nothing count if they read copies or had their outputs copied.
    """
    events = trace.events
    count = len(events)
    reads, is_copied = _mask(copies.read[1], count), _mask(copies.written[0], count)
    works = between & (reads | is_copied | ~beginning(events["op"], _PASSIVE))
    on_gpu = works & accelerators(events)
    edges = edges_of(trace)
    on_device = locations(events) == LOCATIONS.index("device")
    launches = (edges["kind"] == "launch").to_numpy() & on_device[edges["target"].to_numpy()]
    launched = _mask(edges["source"].to_numpy()[launches], count)
    in_host, recorded = _made_in_host_memory(trace)
    in_host_memory = on_gpu & ~launched & np.where(recorded, in_host, reads | is_copied)
    makes_copies = _mask(copies.launched[0], count)
    where = np.full(count, -1)
    where[works & ~on_gpu & (activity(trace) == NUMBER["host_compute"])] = WHERE.index("CPU")
    where[in_host_memory] = WHERE.index("host memory")
    where[on_gpu & ~in_host_memory & launched & (makes_copies | reads)] = WHERE.index("GPU")
    return where


def _caused(where: np.ndarray, copies: _Copies) -> pd.DataFrame:
    """Return each ``copy`` once, with the first ``op`` in the table that used or made it."""
    on_host = np.isin(where, (WHERE.index("CPU"), WHERE.index("host memory")))
    read = where[copies.read[1]] >= 0
    written = on_host[copies.written[0]]
    launched = where[copies.launched[0]] >= 0
    pairs = pd.DataFrame(
        {
            "copy": np.concatenate(
                [copies.launched[1][launched], copies.read[0][read], copies.written[1][written]]
            ),
            "op": np.concatenate(
                [copies.launched[0][launched], copies.read[1][read], copies.written[0][written]]
            ),
        }
    )
    # Events are ordered by time, so the first op to start comes first.
    return pairs.sort_values("op", kind="stable").drop_duplicates("copy")


def _made_in_host_memory(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of events with all outputs in host memory, and of those where that is recorded."""
    count = len(trace.events)
    if trace.nested is None or "outputs" not in trace.nested.column_names:
        return np.zeros(count, bool), np.zeros(count, bool)
    event, outputs = exploded(trace.nested["outputs"].combine_chunks())
    allocator = categories(outputs, "allocator")
    named = np.array([bool(name) for name in allocator.categories], bool)[allocator.codes]
    named &= ~np.isin(numbers(outputs, "dtype"), _HANDLES)
    host = np.array([bool(_HOST_MEMORY.search(name)) for name in allocator.categories], bool)[allocator.codes]
    some = np.bincount(event[named], minlength=count)
    return (some > 0) & (np.bincount(event[named & host], minlength=count) == some), some > 0


def _table(trace: Trace, where: np.ndarray, copies: pd.DataFrame, group: np.ndarray) -> pd.DataFrame:
    """Add up by node and location of its work; `group` numbers the step and task of each event."""
    events = trace.events
    rows = np.flatnonzero(where >= 0)
    duration = events["duration_ns"].to_numpy(np.int64)
    frame = events.iloc[rows][["task", "device", "op", "name"]].reset_index(drop=True)
    frame["where"] = pd.Categorical.from_codes(
        where[rows].astype(np.int8), dtype=pd.CategoricalDtype(list(WHERE))
    )
    node = _nodes(frame)
    nodes = int(node.max(initial=-1)) + 1
    longest_first = np.lexsort((rows, -duration[rows], node))
    longest = longest_first[np.searchsorted(node[longest_first], np.arange(nodes))]
    table = frame.iloc[longest].reset_index(drop=True)
    table["longest"] = rows[longest]
    table["count"] = np.bincount(node, minlength=nodes)
    table["total_ns"] = _sums(node, duration[rows], nodes)
    idle, exclusive = _idle(events, rows, group)
    table["gpu_idle_ns"] = _sums(node, idle, nodes)
    table["gpu_idle_exclusive_ns"] = _sums(node, exclusive, nodes)
    node_of_event = np.full(len(events), -1)
    node_of_event[rows] = node
    copy, op = copies["copy"].to_numpy(), copies["op"].to_numpy()
    size = events["bytes"].iloc[copy].to_numpy(np.int64, na_value=0)
    for name, short in zip(_DIRECTIONS, _SHORT, strict=True):
        same = activity(trace)[copy] == NUMBER[short]
        by = node_of_event[op[same]]
        table[name] = np.bincount(by, minlength=nodes)
        table[f"{name}_bytes"] = _sums(by, size[same], nodes)
        table[f"{name}_ns"] = _sums(by, duration[copy[same]], nodes)
    order = np.lexsort((-table["total_ns"].to_numpy(), -table["gpu_idle_ns"].to_numpy()))
    return table.loc[order, list(_COLUMNS)].reset_index(drop=True)


def _nodes(frame: pd.DataFrame) -> np.ndarray:
    """Number the distinct rows of a frame, in order of appearance."""
    return number_rows(*(frame[name] for name in ("task", "device", "op", "where", "name")))[0]


def _sums(node: np.ndarray, amount: np.ndarray, nodes: int) -> np.ndarray:
    """Add up exactly, in integers."""
    total = np.zeros(nodes, np.int64)
    np.add.at(total, node, amount)
    return total


def _idle(events: pd.DataFrame, rows: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the time in each row when no GPU of its step and task ran, and the part not in earlier rows."""
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    ran = (
        accelerators(events) & (locations(events) == LOCATIONS.index("device")) & np.isin(group, group[rows])
    )
    busy = np.flatnonzero(ran)
    running = union(group[busy], start[busy], end[busy])
    begin, until, where = start[rows], end[rows], group[rows]
    idle = until - begin - overlap(running, where, begin, until)
    # Rows are ordered by start: time still covered by an earlier row of the step and task counts there.
    latest_end = pd.Series(until).groupby(where).cummax()
    before = latest_end.groupby(where).shift(1, fill_value=np.iinfo(np.int64).min)
    since = np.maximum(begin, before.to_numpy(np.int64))
    return idle, np.maximum(until - since, 0) - overlap(running, where, since, until)
