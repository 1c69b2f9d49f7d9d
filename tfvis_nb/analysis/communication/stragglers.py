"""Arrival of tasks at barriers: which one is last, and which one the others wait for most."""

import re
from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.unavailable import cannot_say, why_not
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.clock_bounds import UNKNOWN
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

BARRIERS = ("collective", "exchange", "inputs", "end")
"""Kinds of barriers; see `met`."""

COLUMNS = {
    "step": "int64",
    "barrier": "int64",
    "kind": "category",
    "name": "str",
    "op": "str",
    "task": "category",
    "event": "int64",
    "arrived_ns": "int64",
}

_JOB = re.compile(r"/job:([^/]+)")
_ROUND = re.compile(r"(?P<exchange>.+:\d+):\d+:\d+")
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
        One row per barrier and task, as in `tfvis_nb.analysis.communication.stragglers.met`: ``step`` and
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
    table = met(trace) if len(_tasks(trace)) > 1 else None
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


@validate_input
def met(trace: Trace) -> pd.DataFrame:
    """Return the arrival of each task at each barrier that at least two tasks reach.

    * ``collective``: executions of one collective op on several tasks; a task arrives when its execution
      starts, or a rank when it is ready in Horovod's timeline (see `tfvis_nb.analysis.collective_waits`).
    * ``exchange``: a round of ``RecvBuf``, by which the CPU's collectives pass pieces around a ring; a task
      arrives when the piece it sends starts to move. The k-th piece of each task in one pass is round k.
      The keys are those of ``RingAlgBufKey`` in TensorFlow's ``ring_alg.cc``: execution, pass, section,
      source rank.
    * ``inputs``: an op that needs tensors of several tasks of one job, such as a parameter server that adds
      up gradients; a task arrives when the last of its tensors for the op has been received.
    * ``end``: the end of a step for the tasks of one job; a task arrives when its last event ends.

    One row per barrier and task, ordered by step, first arrival, barrier and arrival: ``step``, ``barrier``
    (numbered from 0), ``kind`` (of `BARRIERS`), ``name`` and ``op`` (of the collective or the waiting op; the
    job at the end), ``task``, ``event`` (the one by which the task arrives) and ``arrived_ns`` (epoch ns).
    """
    names = pd.CategoricalDtype(_tasks(trace))
    parts = []
    for kind, part in (
        ("collective", _collectives(trace)),
        ("exchange", _exchanges(trace)),
        ("inputs", _inputs(trace)),
        ("end", _ends(trace)),
    ):
        together = part.groupby("key", sort=False)["task"].transform("nunique").to_numpy()
        parts.append(part[together > 1].assign(kind=kind))
    table = pd.concat(parts, ignore_index=True)
    order = ["kind", "key"]
    table["first_ns"] = table.groupby(order, sort=False)["arrived_ns"].transform("min")
    table["kind"] = pd.Categorical(table["kind"], categories=list(BARRIERS))
    table = table.sort_values(["step", "first_ns", *order, "arrived_ns", "event"], kind="stable")
    table["barrier"], _ = number_rows(*(table[column] for column in order))
    table["task"] = table["task"].astype(names)
    for column in ("name", "op"):
        table[column] = table[column].astype(event_table.TEXT)
    for column, dtype in COLUMNS.items():
        if dtype == "int64":
            table[column] = table[column].astype("int64")
    return table[list(COLUMNS)].reset_index(drop=True)


def certain(trace: Trace, table: pd.DataFrame) -> np.ndarray:
    """Return for each row of `met` whether clocks are known well enough to determine the last task.

    Arrivals recorded by one task are always certain, because they have one clock: tensors of `inputs`, which
    the task of the waiting op receives, and ranks that announce themselves to Horovod's coordinator.
    """
    names = [str(task) for task in table["task"].cat.categories]
    bounds = np.array([trace.clock_bounds.get(task, UNKNOWN) for task in names] or [UNKNOWN])
    ahead = bounds[table["task"].cat.codes.to_numpy()]
    barrier = table["barrier"].to_numpy(np.int64)
    recorder = pd.Series(trace.events["task"].cat.codes.to_numpy()[table["event"].to_numpy(np.int64)])
    ahead[(recorder.groupby(barrier).transform("nunique") == 1).to_numpy(bool)] = 0
    final = np.append(barrier[1:] != barrier[:-1], True)[: len(barrier)]
    # Relative to the first arrival, because floats cannot represent epoch nanoseconds.
    first = table.groupby("barrier", sort=False)["arrived_ns"].transform("min").to_numpy(np.int64)
    arrived = (table["arrived_ns"].to_numpy(np.int64) - first).astype(np.float64)
    earliest, latest = arrived - ahead[:, 1], arrived - ahead[:, 0]
    count = int(barrier.max(initial=-1)) + 1
    others = np.full(count, -np.inf)
    np.maximum.at(others, barrier[~final], latest[~final])
    sure = np.zeros(count, bool)
    sure[barrier[final]] = earliest[final] >= others[barrier[final]]
    of_rows: np.ndarray = sure[barrier]
    return of_rows


def _tasks(trace: Trace) -> list[str]:
    """Return the tasks that have events, sent tensors or took part in collectives."""
    ends = (trace.events[column].cat.categories for column in ("source", "destination"))
    waiting = {task_of(str(name)) for names in ends for name in names}
    waiting |= set(collective_waits(trace)["task"].astype(str))
    return sorted({str(name) for name in trace.events["task"].cat.categories} | waiting)


def _job(task: str) -> str:
    match = _JOB.match(task)
    return match[1] if match else ""


def _sender(devices: pd.Series) -> np.ndarray:
    """Return the task of each device; empty if there is none."""
    tasks = np.array([*(task_of(str(name)) for name in devices.cat.categories), ""], object)
    senders: np.ndarray = tasks[devices.cat.codes.to_numpy()]
    return senders


def _rows(
    key: object, step: object, name: object, op: object, task: object, event: object, arrived_ns: object
) -> pd.DataFrame:
    columns = {"key": key, "step": step, "name": name, "op": op, "task": task, "event": event}
    return pd.DataFrame({**columns, "arrived_ns": arrived_ns})


def _keys(first: Iterable[object], second: Iterable[object]) -> list[str]:
    # pandas 3.0 adds no column of objects to one of texts if it has no rows.
    return [f"{one} {other}" for one, other in zip(first, second, strict=True)]


def _collectives(trace: Trace) -> pd.DataFrame:
    known = collective_waits(trace)
    known = known[known["wait_ns"].notna() & (known["step"] != event_table.NO_STEP)]
    return _rows(
        known["collective"].astype(str),
        known["step"],
        known["name"].astype(str),
        known["op"].astype(str),
        known["task"].astype(str),
        known["event"],
        known["start_ns"],
    )


def _exchanges(trace: Trace) -> pd.DataFrame:
    moved = transfers(trace)
    buffers = (trace.events["op"].iloc[moved["event"]] == "RecvBuf").to_numpy()
    moved = moved[buffers & (moved["step"] != event_table.NO_STEP).to_numpy()]
    called = [_ROUND.fullmatch(text) for text in moved["tensor"].fillna("").astype(str)]
    moved = moved[np.array([match is not None for match in called], bool)]
    exchange = [match["exchange"] for match in called if match]
    rows = _rows(
        _keys(moved["step"], exchange),
        moved["step"],
        exchange,
        "RecvBuf",
        _sender(moved["source"]),
        moved["event"],
        moved["start_ns"],
    )
    rows = rows[(rows["task"] != "").to_numpy()]
    each = rows.groupby(["key", "task"], sort=False)["event"]
    turn, turns = each.cumcount(), each.transform("size").groupby(rows["key"], sort=False)
    # A tree passes tensors on to some more often than to others.
    rows = rows[(turns.transform("min") == turns.transform("max")).to_numpy()]
    return rows.assign(key=_keys(rows["key"], turn[rows.index]))


def _inputs(trace: Trace) -> pd.DataFrame:
    events = trace.events
    received = is_kind(events, "transfer")
    empty = _rows(*([pd.Series(dtype=object)] * 5), *([pd.Series(dtype="int64")] * 2))
    if not received.any():
        return empty
    edges = edges_of(trace)
    source, target = (edges[name].to_numpy(np.int64) for name in ("source", "target"))
    step = events["step"].to_numpy(np.int64)
    used = received[source] & (step[target] != event_table.NO_STEP)
    source, target = source[used], target[used]
    if not len(source):
        return empty
    end = (events["start_ns"] + events["duration_ns"]).to_numpy(np.int64)
    task = _sender(events["source"])[source]
    waiting = events.iloc[target]
    rows = _rows(
        [f"{event} {_job(one)}" for event, one in zip(target.tolist(), task, strict=True)],
        step[target],
        waiting["name"].astype(str).to_numpy(),
        waiting["op"].astype(str).to_numpy(),
        task,
        source,
        end[source],
    )
    rows = rows[(rows["task"] != "").to_numpy()].sort_values(["arrived_ns", "event"], kind="stable")
    return rows.drop_duplicates(["key", "task"], keep="last")


def _ends(trace: Trace) -> pd.DataFrame:
    events = trace.events
    rows = pd.DataFrame(
        {
            "step": events["step"].to_numpy(np.int64),
            "code": events["task"].cat.codes.to_numpy(np.int64),
            "end": (events["start_ns"] + events["duration_ns"]).to_numpy(np.int64),
        }
    )
    rows = rows[(rows["step"] != event_table.NO_STEP) & (rows["code"] >= 0)]
    last = rows.groupby(["step", "code"])["end"].idxmax() if len(rows) else pd.Series(dtype="int64")
    rows = rows.loc[last]
    names = [str(name) for name in events["task"].cat.categories]
    task = np.array([*names, ""], object)[rows["code"]]
    job = np.array([*(_job(name) for name in names), ""], object)[rows["code"]]
    jobs = _rows(_keys(rows["step"], job), rows["step"], job, "", task, rows.index.to_numpy(), rows["end"])
    named: pd.DataFrame = jobs[job != ""]
    return named
