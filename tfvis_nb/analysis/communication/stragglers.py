"""Arrival of tasks at barriers: which one is last, and which one the others wait for most."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.barriers import COLUMNS, certain, met, tasks
from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.unavailable import cannot_say, why_not
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "kind": "The kind of barrier. collective: a collective op; exchange: a round of RecvBuf in a ring; "
    "inputs: an op that needs tensors of several tasks of a job; end: the end of the step, for the tasks of "
    "a job.",
    "arrived_ns": "When the task arrived, in epoch ns: start of its collective, start of the piece it sends, "
    "end of its last tensor, end of its last event.",
    "lateness_ns": "Arrival minus the first task's arrival, in ns.",
    "wait_ns": "The last task's arrival minus this one's, in ns.",
    "sole_wait_ns": "How long only the last task was missing, in ns: its arrival minus that of the one "
    "before it; 0 for the other tasks. In late_tasks, the length of the union of these times in each "
    "step, summed over the steps.",
    "last": "Whether the task arrived last; in late_tasks, at how many barriers.",
    "certain": "Whether the same task is last for every offset of the tasks' clocks within the known bounds.",
    "barriers": "Number of barriers that the task reached.",
    "lateness_mean_ns": "Mean of lateness_ns, in ns.",
    "lateness_max_ns": "Largest lateness_ns, in ns.",
    "waited_ns": "Length of the union of the task's waits, from its arrivals to the last ones, in each "
    "step, summed over the steps, in ns.",
    "share": "sole_wait_ns / sum of the steps' durations, from 0 to 1.",
}

_ROWS = COLUMNS | {
    "lateness_ns": "int64",
    "wait_ns": "int64",
    "sole_wait_ns": "int64",
    "last": "bool",
    "certain": "bool",
}
_TASKS = {
    "kind": "category",
    "task": "category",
    "barriers": "int64",
    "last": "int64",
    "lateness_mean_ns": "float64",
    "lateness_max_ns": "int64",
    "waited_ns": "int64",
    "sole_wait_ns": "int64",
    "share": "float64",
}


@validate_input
def stragglers(trace: Trace) -> pd.DataFrame:
    """Return when each task arrived at each barrier.

    Parameters
    ----------
    trace
        A trace of several tasks, or of devices of a task that meet in collectives; if each rank wrote its own
        file, read these together.

    Returns
    -------
    pandas.DataFrame
        One row per barrier and task, as in `tfvis_nb.analysis.communication.barriers.met`: ``step`` and
        ``barrier`` (int64), ``kind`` (category), ``name`` and ``op`` (str), ``task`` (category),
        ``event`` and ``arrived_ns`` (int64); and ``lateness_ns``, ``wait_ns``, ``sole_wait_ns`` (int64),
        ``last`` and ``certain`` (bool), as in `FIGURES`. Ordered by step and barrier, the last task of
        each barrier at its end. `cannot_say` if tasks meet nowhere.

    Notes
    -----
    At a barrier ``lateness_ns + wait_ns`` is the same for all: the skew of the arrivals. That of collectives
    is what Holistic Trace Analysis looks at (``straggler.py``), by starts instead of durations.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import stragglers
    >>> columns = {"start_ns": [0, 0, 0], "duration_ns": [50, 60, 90], "kind": ["op"] * 3,
    ...            "task": [f"/job:worker/task:{number}" for number in range(3)]}
    >>> result = stragglers(Trace(events.build(columns)))
    >>> result[["task", "lateness_ns", "wait_ns", "sole_wait_ns", "last"]].values.tolist()
    [['/job:worker/task:0', 0, 40, 0, False], ['/job:worker/task:1', 10, 30, 0, False],
     ['/job:worker/task:2', 40, 0, 30, True]]
    """
    table = met(trace) if len(tasks(trace)) > 1 else None
    if table is None or table.empty:
        return cannot_say(_ROWS, _reason(trace))
    arrived, barrier = (table[name].to_numpy(np.int64) for name in ("arrived_ns", "barrier"))
    begin = np.append(True, barrier[1:] != barrier[:-1])
    final = np.append(begin[1:], True)
    first, latest = (arrived[ends][np.cumsum(begin) - 1] for ends in (begin, final))
    table["lateness_ns"] = arrived - first
    table["wait_ns"] = latest - arrived
    table["sole_wait_ns"] = np.where(final, arrived - np.append(arrived[:1], arrived[:-1]), 0)
    table["last"] = final
    table["certain"] = certain(trace, table)
    return table


@validate_input
def late_tasks(trace: Trace, steps: Collection[int] | None = None) -> pd.DataFrame:
    """Return how long each task waited for others and others for it, the latest task first.

    Parameters
    ----------
    trace
        As in `stragglers`.
    steps
        Numbers of the steps to add up; all by default.

    Returns
    -------
    pandas.DataFrame
        One row per kind of barrier and task: ``kind``, ``task`` (category), ``barriers`` and ``last``
        (int64), ``lateness_mean_ns`` (float64), ``lateness_max_ns``, ``waited_ns``, ``sole_wait_ns``
        (int64) and ``share`` (float64), as in `FIGURES`. The longest ``sole_wait_ns`` first. `cannot_say` as
        `stragglers`.

    Raises
    ------
    ValueError
        If a number in `steps` is not a step.

    Notes
    -----
    Barriers overlap because gradients are sent in parallel. Each point in time counts once in a step, no
    matter how many barriers a task is late to.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import late_tasks
    >>> columns = {"start_ns": [0, 0, 100, 100], "duration_ns": [50, 90, 50, 60], "kind": ["op"] * 4,
    ...            "step": [0, 0, 1, 1], "task": ["/job:worker/task:0", "/job:worker/task:1"] * 2}
    >>> tasks = late_tasks(Trace(events.build(columns)))
    >>> tasks[["task", "last", "waited_ns", "sole_wait_ns"]].values.tolist()
    [['/job:worker/task:1', 2, 0, 50], ['/job:worker/task:0', 0, 50, 0]]
    """
    table = stragglers(trace)
    durations = trace.steps[trace.steps["step"] != NO_STEP].set_index("step")["duration_ns"]
    if steps is not None:
        of_steps(trace, steps)
        table, durations = table[table["step"].isin(steps)], durations[durations.index.isin(steps)]
    if table.empty:
        return cannot_say(_TASKS, why_not(table) or Text("no_barriers"))
    keys = table.groupby(["kind", "task"], observed=True, sort=True)
    group = keys.ngroup().to_numpy()
    late = keys.agg(
        barriers=("event", "size"),
        last=("last", "sum"),
        lateness_mean_ns=("lateness_ns", "mean"),
        lateness_max_ns=("lateness_ns", "max"),
    ).reset_index()
    arrived = table["arrived_ns"].to_numpy(np.int64)
    cell = pd.factorize(table["step"])[0] * len(late) + group
    cells = int(table["step"].nunique()) * len(late)
    for name, start, end in (
        ("waited_ns", arrived, arrived + table["wait_ns"].to_numpy(np.int64)),
        ("sole_wait_ns", arrived - table["sole_wait_ns"].to_numpy(np.int64), arrived),
    ):
        covered = lengths(union(cell, start, end), cells, 2)[:, 1]
        late[name] = covered.reshape(-1, len(late)).sum(axis=0)
    total = int(durations.sum())
    late["share"] = late["sole_wait_ns"] / total if total else np.nan
    order = np.lexsort((-late["waited_ns"].to_numpy(), -late["sole_wait_ns"].to_numpy()))
    return late.loc[order, list(_TASKS)].reset_index(drop=True)


def _reason(trace: Trace) -> Text:
    if not (trace.steps["step"] != NO_STEP).any():
        return Text("no_steps")
    if collective_waits(trace)["wait_ns"].isna().any():
        return Text("clocks_disagree")
    return Text("one_task")
