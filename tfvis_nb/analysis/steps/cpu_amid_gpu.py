"""Ops that ran on a CPU amid the work of a GPU, and the small copies that this takes."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import checked
from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.events.location import SIDES, sides
from tfvis_nb.analysis.events.nesting import CALLS
from tfvis_nb.analysis.steps.op_statistics import of_steps
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import beginning, is_kind, spread
from tfvis_nb.core.coverage import covered
from tfvis_nb.core.data_types import DATA_TYPES
from tfvis_nb.core.intervals import union
from tfvis_nb.core.nested_lists import exploded, numbers, words

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

NO_KERNELS = "the trace has no kernels of a GPU in a step"
NO_DEVICES = "the trace does not say on which device an op ran: only the rows of TensorFlow's executor do"

WHERE = ("CPU", "host memory", "GPU")
"""Where an op did its work; see `cpu_amid_gpu`."""

FIGURES: dict[str, str] = {
    "where": "CPU: an op placed on a CPU; host memory: an op placed on a GPU that launched nothing and made "
    "its outputs in the host's memory; GPU: one that computed on its GPU and copied to or from the host.",
    "count": "How often the node ran. What ended before the first kernel of its step and task began does "
    "not count, nor what began after the last one.",
    "total_ns": "Sum of the durations of these ops, in ns.",
    "gpu_idle_ns": "The part of total_ns in which nothing ran on any GPU of the task, in ns; two ops at once "
    "count it twice.",
    "idle_once_ns": "The part of gpu_idle_ns that no other op of the table covers that began earlier in the "
    "step and task, in ns: over all rows the time in which any of the ops ran and no GPU.",
    "to_host": "Number of copies to the host that brought the op its inputs, or that it made itself. What "
    "several ops took as their input counts to the first of them.",
    "to_host_bytes": "Sum of the bytes of these copies, as far as recorded.",
    "to_host_ns": "Sum of the durations of these copies, in ns.",
    "to_device": "Number of copies to a GPU that took the op's outputs there, or that it made itself.",
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
"""Op types that compute nothing: only where they take copies do they matter."""

_FED = re.compile(r"_(?:Device)?(?:Arg|Retval)$|Placeholder|_?(?:Host)?(?:Send|Recv)$")
"""Op types that hand a step's inputs and results in and out."""

_HANDLES = (DATA_TYPES.index("RESOURCE"), DATA_TYPES.index("VARIANT"))
"""These are always in the host's memory."""


@checked
def cpu_amid_gpu(trace: Trace, steps: Collection[int] | None = None) -> pd.DataFrame:
    """Return the ops that ran on a CPU between kernels of their step and task, and the copies they took.

    Parameters
    ----------
    trace
        Any trace.
    steps
        Numbers of the steps to add up; None for all.

    Returns
    -------
    pandas.DataFrame
        One row per node and where it did its work, the one during which GPUs were idle for longest first:
        ``task``, ``device`` (category; where the node was placed), ``op`` (category), ``name`` (str),
        ``where`` (category of `WHERE`), the amounts of `FIGURES` (int64) and ``longest`` (int64), its
        event with the longest duration. `cannot_say` where no kernels are known, or no devices of ops.

        * ``CPU``: the op was placed on a CPU.
        * ``host memory``: it was placed on a GPU, which has only kernels for it that run on the
          host, as for integers that are shapes. It launched nothing and its outputs are in the
          host's memory, or where that is not recorded, a copy took them to the GPU, or brought inputs.
        * ``GPU``: it launched kernels, but had inputs or parts of its work copied to or from the host.

    Raises
    ------
    ValueError
        If there is no step of a number in `steps`.

    Notes
    -----
    Each copy counts once. What comes before the first kernel and the copies of fed and fetched tensors are
    left out, and so are waiting for input and ops that compute nothing, such as ``Const``, unless they take
    copies.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import cpu_amid_gpu
    >>> table = events.build({
    ...     "start_ns": [0, 5, 20, 50], "duration_ns": [5, 2, 10, 5], "bytes": [None, 4, None, None],
    ...     "kind": ["kernel", "memcpy", "op", "kernel"], "lane": ["s", "memcpy D2H", "ops", "s"],
    ...     "device": ["GPU:0", "GPU:0", "CPU:0", "GPU:0"], "op": ["", "", "Where", ""],
    ...     "name": ["a", "a/_1", "b", "c"], "detail": ["", "", "b = Where(a/_1)", ""]})
    >>> cpu_amid_gpu(Trace(table))[["op", "where", "gpu_idle_ns", "to_host", "to_host_bytes"]].values.tolist()
    [['Where', 'CPU', 10, 1, 4]]
    """
    events = trace.events
    kernels = np.flatnonzero(
        is_kind(events, "kernel") & accelerators(events) & (events["step"] >= 0).to_numpy()
    )
    if not len(kernels):
        return cannot_say(_COLUMNS, NO_KERNELS)
    group, groups = _step_and_task(events)
    executed = is_kind(events, "op") & spread(events["lane"], lambda lane: lane == "ops")
    if not np.isin(group[kernels], group[executed]).any():
        return cannot_say(_COLUMNS, NO_DEVICES)
    start = events["start_ns"].to_numpy(np.int64)
    first = np.full(groups, np.iinfo(np.int64).max)
    last = np.full(groups, np.iinfo(np.int64).min)
    np.minimum.at(first, group[kernels], start[kernels])
    np.maximum.at(last, group[kernels], start[kernels])
    chosen = np.zeros(len(events), bool)
    chosen[of_steps(trace, steps)] = True
    end = start + events["duration_ns"].to_numpy(np.int64)
    amid = chosen & executed & (end > first[group]) & (start < last[group])
    amid &= ~beginning(events["op"], _FED) & ~beginning(events["op"], CALLS)
    where, copies = _worked(trace, np.flatnonzero(amid))
    return _table(trace, where, copies, group)


def _step_and_task(events: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Number the pairs of step and task."""
    width = len(events["task"].cat.categories) + 1
    key = events["step"].to_numpy(np.int64) * width + events["task"].cat.codes.to_numpy()
    group, groups = pd.factorize(key)
    return group, len(groups)


def _worked(trace: Trace, amid: np.ndarray) -> tuple[np.ndarray, pd.DataFrame]:
    """Return for each event its place in `WHERE`, or -1, and which copies (``copy``) which ``op`` took."""
    events, edges = trace.events, trace.edges
    source, target = edges["source"].to_numpy(), edges["target"].to_numpy()
    launch = (edges["kind"] == "launch").to_numpy()
    copies = {name: activity(trace) == NUMBER[short] for name, short in zip(_DIRECTIONS, _SHORT, strict=True)}
    ran = sides(events) == SIDES.index("device")

    def marked(rows: np.ndarray) -> np.ndarray:
        mask = np.zeros(len(events), bool)
        mask[rows] = True
        return mask

    brought = marked(target[~launch & copies["to_host"][source]])
    taken = marked(source[~launch & copies["to_device"][target]])
    asked = marked(amid) & (brought | taken | ~beginning(events["op"], _PASSIVE))
    on_gpu = asked & accelerators(events)
    launched = marked(source[launch & ran[target]])
    in_host, recorded = _made_in_host_memory(trace)
    host = on_gpu & ~launched & np.where(recorded, in_host, brought | taken)
    where = np.full(len(events), -1)
    where[asked & ~on_gpu & (activity(trace) == NUMBER["host_compute"])] = WHERE.index("CPU")
    where[host] = WHERE.index("host memory")
    own = marked(source[launch & (copies["to_host"] | copies["to_device"])[target]])
    where[on_gpu & ~host & launched & (own | brought)] = WHERE.index("GPU")
    on_host = np.isin(where, (WHERE.index("CPU"), WHERE.index("host memory")))
    into = ~launch & copies["to_host"][source] & (where[target] >= 0)
    out = ~launch & copies["to_device"][target] & on_host[source]
    made = launch & (copies["to_host"] | copies["to_device"])[target] & (where[source] >= 0)
    caused = pd.DataFrame(
        {
            "copy": np.concatenate([target[made], source[into], target[out]]),
            "op": np.concatenate([source[made], target[into], source[out]]),
        }
    )
    # The first op to start comes first: events are in the order of time.
    return where, caused.sort_values("op", kind="stable").drop_duplicates("copy")


def _made_in_host_memory(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Tell which events have all their outputs in host memory, and of which that is recorded."""
    count = len(trace.events)
    if trace.nested is None or "outputs" not in trace.nested.column_names:
        return np.zeros(count, bool), np.zeros(count, bool)
    event, outputs = exploded(trace.nested["outputs"].combine_chunks())
    allocator = words(outputs, "allocator")
    named = np.array([bool(name) for name in allocator.categories], bool)[allocator.codes]
    named &= ~np.isin(numbers(outputs, "dtype"), _HANDLES)
    host = np.array([bool(_HOST_MEMORY.search(name)) for name in allocator.categories], bool)[allocator.codes]
    some = np.bincount(event[named], minlength=count)
    return (some > 0) & (np.bincount(event[named & host], minlength=count) == some), some > 0


def _table(trace: Trace, where: np.ndarray, copies: pd.DataFrame, group: np.ndarray) -> pd.DataFrame:
    """Add up by node and where it worked."""
    events = trace.events
    rows = np.flatnonzero(where >= 0)
    start, duration = (events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    end = start + duration
    busy = np.flatnonzero(
        accelerators(events) & (sides(events) == SIDES.index("device")) & np.isin(group, group[rows])
    )
    running = union(group[busy], start[busy], end[busy])
    frame = events.iloc[rows][["task", "device", "op", "name"]].reset_index(drop=True)
    frame["where"] = pd.Categorical.from_codes(
        where[rows].astype(np.int8), dtype=pd.CategoricalDtype(list(WHERE))
    )
    keys = [frame[name].cat.codes.to_numpy(np.int64) for name in ("task", "device", "op", "where")]
    keys.append(pd.factorize(frame["name"])[0])
    number = (
        pd.DataFrame(dict(enumerate(keys))).groupby(list(range(len(keys))), sort=False).ngroup().to_numpy()
    )
    of_event = np.full(len(events), -1)
    of_event[rows] = number
    nodes = int(number.max(initial=-1)) + 1
    longest_first = np.lexsort((rows, -duration[rows], number))
    first = longest_first[np.searchsorted(number[longest_first], np.arange(nodes))]
    table = frame.iloc[first].reset_index(drop=True)

    def added_up(place: np.ndarray, amount: np.ndarray) -> np.ndarray:
        total = np.zeros(nodes, np.int64)
        np.add.at(total, place, amount)
        return total

    table["count"] = np.bincount(number, minlength=nodes)
    table["total_ns"] = added_up(number, duration[rows])
    idle = duration[rows] - covered(running, group[rows], start[rows], end[rows])
    table["gpu_idle_ns"] = added_up(number, idle)
    # Rows come by start: what an earlier one of the step and task still covers counts there.
    reached = pd.Series(end[rows]).groupby(group[rows]).cummax()
    before = reached.groupby(group[rows]).shift(1, fill_value=np.iinfo(np.int64).min)
    since = np.maximum(start[rows], before.to_numpy(np.int64))
    alone = np.maximum(end[rows] - since, 0) - covered(running, group[rows], since, end[rows])
    table["idle_once_ns"] = added_up(number, alone)
    copy, op = copies["copy"].to_numpy(), copies["op"].to_numpy()
    size = events["bytes"].iloc[copy].to_numpy(np.int64, na_value=0)
    for name, short in zip(_DIRECTIONS, _SHORT, strict=True):
        there = activity(trace)[copy] == NUMBER[short]
        place = of_event[op[there]]
        table[name] = np.bincount(place, minlength=nodes)
        table[f"{name}_bytes"] = added_up(place, size[there])
        table[f"{name}_ns"] = added_up(place, duration[copy[there]])
    table["longest"] = rows[first]
    order = np.lexsort((-table["total_ns"].to_numpy(), -table["gpu_idle_ns"].to_numpy()))
    return table.loc[order, list(_COLUMNS)].reset_index(drop=True)
