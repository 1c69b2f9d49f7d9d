"""Collectives over several ranks: arrival and wait of each rank, and the last rank."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.negotiations import announcements
from tfvis_nb.analysis.communication.participants import collective_rows, participants
from tfvis_nb.analysis.events.lanes import busy
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace

_RULE = "the rule of Horovod's coordinator (arXiv:1802.05799, section 4)"

FIGURES: dict[str, str] = {
    "wait_ns": "Latest start over the ranks minus the rank's own start, in ns: the collective starts when"
    f" all ranks have arrived, {_RULE}.",
    "transfer_ns": "The rank's end minus the latest start over the ranks, in ns. wait_ns + transfer_ns is"
    " the duration.",
    "last": "The rank that arrived last; in late_ranks, the number of collectives at which the rank was "
    "last.",
    "spread_ns": "Latest start minus earliest start over the ranks, in ns: the longest wait.",
    "collectives": "Number of the rank's collectives in the step.",
    "waited_ns": "Length of the union of the rank's waits in the step, in ns.",
    "sole_wait_ns": "Length of the union of the times between the second latest and the latest start, in "
    "ns, over the collectives at which the rank arrived last: only this rank was missing.",
}

_WHICH = ["step", "which", "group"]

COLUMNS = (
    "event",
    "collective",
    "step",
    "name",
    "op",
    "task",
    "start_ns",
    "duration_ns",
    "wait_ns",
    "transfer_ns",
    "last",
    "spread_ns",
)


@validate_input
def collective_waits(trace: Trace) -> pd.DataFrame:
    """Return one row per rank and collective, with wait time and transfer time.

    A collective starts when its last rank arrives. A rank that arrives at ``start`` therefore waits

    ``wait = (latest start over the ranks) - start``, and it moves data for
    ``transfer = end - (latest start over the ranks)``; together they are its duration.

    In a Horovod timeline, a rank arrives when the coordinator hears that it is ready: ``event`` is that row,
    and the tasks are ``rank 0``, ``rank 1`` and so on. A negotiation counts if each rank of the timeline has
    a row in it: Horovod writes these rows only when it first sees a tensor. It does not count where ops of
    several tasks show the same collective.

    Executions belong together by step and the recorded number of the collective, or else by node name and
    op type, the k-th of one rank with the k-th of the others; Horovod gives a tensor the same node name on
    every rank. If ranks ran a node a different number of times, or only one rank ran it, its waits are
    unknown and it has no row. NCCL kernels do not count if their ops do. In PyTorch, executions also belong
    to one process group.

    Devices of one task that meet each other, as in ``MirroredStrategy``, are ranks: ``task`` is then the
    device, such as ``/device:CPU:1``. A profile shows the devices of its executors by the tensors that they
    send. In a session run, nodes of a collective belong together by op type and their order on each device.

    Parameters
    ----------
    trace
        A trace with a task or device for each rank; it keeps the result as ``trace.collective_waits``.

    Returns
    -------
    pandas.DataFrame
        ``event`` (int64, the row in ``trace.events``), ``collective`` (int64, from 0 in the order of the
        first arrivals; the same for all ranks), ``step``, ``name``, ``op``, ``task``, ``start_ns``,
        ``duration_ns``, ``wait_ns`` and ``transfer_ns`` (Int64; NA if a rank ended before another started,
        which means that their clocks differ), ``last`` (category; the task that arrived last) and
        ``spread_ns`` (Int64; how long after the first rank the last one arrived, the longest wait).
        Ordered by collective, then by arrival.

    Notes
    -----
    The rule is that of Horovod's coordinator, which starts a tensor when every rank has announced it: Sergeev
    and Del Balso, "Horovod: fast and easy distributed deep learning in TensorFlow", 2018 (arXiv:1802.05799),
    section 4. In traces of two ranks, ends of the same node agree to within milliseconds, but starts do not.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import collective_waits
    >>> columns = {"start_ns": [0, 70], "duration_ns": [100, 30], "task": ["/task:0", "/task:1"],
    ...            "kind": ["collective"] * 2, "lane": ["collective"] * 2, "name": ["sum"] * 2}
    >>> arrived = collective_waits(Trace(events.build(columns)))
    >>> arrived[["task", "wait_ns", "transfer_ns", "last"]].values.tolist()
    [['/task:0', 70, 30, '/task:1'], ['/task:1', 0, 30, '/task:1']]
    """
    table = _candidates(trace)
    if table.empty:
        nothing = dict.fromkeys(("wait_ns", "transfer_ns", "spread_ns"), pd.array([], "Int64"))
        return table.assign(collective=table["event"], last=table["task"], **nothing)[list(COLUMNS)]
    in_task = table.groupby([*_WHICH, "task"], observed=True, sort=False)
    table["number"] = in_task["event"].transform("cumcount")
    times = in_task["event"].transform("size")
    executed = times.groupby([table[column] for column in _WHICH], observed=True, sort=False)
    table = table[executed.transform("min") == executed.transform("max")]
    ranks = table.groupby([*_WHICH, "number"], observed=True, sort=False)["event"].transform("size")
    table = table[ranks > 1].reset_index(drop=True)

    # Rows are ordered by start, so groups are numbered by their first arrival.
    table["collective"], _ = number_rows(*(table[column] for column in (*_WHICH, "number")))
    groups = table.groupby("collective", sort=False)
    latest = groups["start_ns"].transform("max").to_numpy(np.int64)
    end = table["start_ns"] + table["duration_ns"]
    unknown = end.groupby(table["collective"], sort=False).transform("min").to_numpy(np.int64) < latest
    table["wait_ns"] = pd.arrays.IntegerArray(
        np.where(unknown, 0, latest - table["start_ns"].to_numpy()), unknown
    )
    table["transfer_ns"] = pd.arrays.IntegerArray(np.where(unknown, 0, end.to_numpy() - latest), unknown)
    table["last"] = groups["task"].transform("last").astype(table["task"].dtype)
    spread = latest - groups["start_ns"].transform("min").to_numpy(np.int64)
    table["spread_ns"] = pd.arrays.IntegerArray(np.where(unknown, 0, spread), unknown)
    ordered = table.sort_values(["collective", "start_ns"], kind="stable")
    return ordered[list(COLUMNS)].reset_index(drop=True)


@validate_input
def late_ranks(trace: Trace) -> pd.DataFrame:
    """Return how long each rank waited for others and others for it, the slowest rank of a step first.

    Collectives of a step overlap because Horovod fuses them: summing their waits counts the same
    time repeatedly. Here each point in time counts once:

    * ``waited_ns`` is the length of the union of ``[start, start + wait]`` over a rank's collectives;
    * ``sole_wait_ns`` is the length of the union of ``[second latest start, latest start]`` over the
      collectives at which the rank was last: only it was missing.

    Parameters
    ----------
    trace
        Any trace; collectives whose waits are unknown do not count.

    Returns
    -------
    pandas.DataFrame
        One row per step and task: ``step``, ``task``, ``collectives`` and ``last`` (int64: their number, and
        the number at which it was last), ``waited_ns`` and ``sole_wait_ns`` (int64). Within a step ordered by
        ``sole_wait_ns``, longest first.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import late_ranks
    >>> columns = {"start_ns": [0, 5, 60, 70], "duration_ns": [100, 95, 40, 30],
    ...            "task": ["/task:0", "/task:0", "/task:1", "/task:1"],
    ...            "kind": ["collective"] * 4, "lane": ["collective"] * 4, "name": ["a", "b", "a", "b"]}
    >>> ranks = late_ranks(Trace(events.build(columns)))
    >>> ranks[["task", "last", "waited_ns", "sole_wait_ns"]].values.tolist()
    [['/task:1', 2, 0, 70], ['/task:0', 0, 70, 0]]
    """
    arrived = collective_waits(trace)
    known = arrived[arrived["wait_ns"].notna()].reset_index(drop=True)
    start = known["start_ns"].to_numpy(np.int64)
    wait = known["wait_ns"].to_numpy(np.int64)
    is_last = (known["task"] == known["last"]).to_numpy()
    collective = known["collective"].to_numpy()
    # Rows are ordered by arrival, so the row before a collective's last one is the second latest.
    final = np.flatnonzero(is_last & np.append(collective[1:] != collective[:-1], True)[: len(known)])
    before = start.copy()
    before[final] = start[final - 1]

    ranks = known.groupby(["step", "task"], observed=True, sort=True)
    rank = ranks.ngroup().to_numpy()
    table = ranks.agg(collectives=("event", "size")).reset_index()
    table["last"] = np.bincount(rank[is_last], minlength=len(table)).astype(np.int64)
    table["waited_ns"] = _union(rank, start, start + wait, len(table))
    table["sole_wait_ns"] = _union(rank[final], before[final], start[final], len(table))
    return table.sort_values(
        ["step", "sole_wait_ns"], ascending=[True, False], kind="stable", ignore_index=True
    )


def _candidates(trace: Trace) -> pd.DataFrame:
    """Return the recorded executions of collectives, with their event ids."""
    table = collective_rows(trace)
    table["task"] = participants(trace).iloc[table["event"]].array
    table = table[(table["task"] != "").to_numpy()].reset_index(drop=True)
    announced = announcements(trace.events)
    if announced.empty:
        return table
    tasks = table.groupby(["step", "name"])["task"].nunique()
    shown = pd.MultiIndex.from_frame(announced[["step", "name"]]).isin(tasks.index[tasks > 1])
    announced = announced[~shown].assign(which=announced["name"])
    table = pd.concat([table.astype({"task": str, "op": str}), announced], ignore_index=True)
    table = table.sort_values(["start_ns", "event"], kind="stable", ignore_index=True)
    return table.astype({"task": "category", "op": "category"})


def _union(group: np.ndarray, start: np.ndarray, end: np.ndarray, groups: int) -> np.ndarray:
    order = np.argsort(start, kind="stable")
    return busy(group[order], start[order], end[order], groups)
