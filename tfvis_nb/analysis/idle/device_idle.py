"""How busy each accelerator or CPU was over all steps, and the causes of its idle time."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.activity import accelerators
from tfvis_nb.analysis.events.step_devices import step_devices
from tfvis_nb.analysis.idle.idle_gaps import CAUSES, idle_gaps
from tfvis_nb.analysis.idle.launch_bound import launch_bound
from tfvis_nb.analysis.steps.utilization import ran_on_device, utilization
from tfvis_nb.analysis.unavailable import cannot_say, why_not
from tfvis_nb.core.categories import containing
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.intervals import lengths, priority_union, union
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "step_ns": "Length of the union of the steps in which the device ran something, in ns.",
    "busy_ns": "Time of these steps during which the device ran something, in ns, each point in time once.",
    "idle_ns": "step_ns - busy_ns, in ns.",
    "busy_share": "busy_ns / step_ns, from 0 to 1: GPU busy, of step time. A CPU is busy while it runs an op,"
    " launches or compiles, not while it runs Python.",
    "cause": "The cause of most of the device's idle time; see idle_gaps.",
    "cause_ns": "The idle time that has this cause, in ns: the length of the union of its idle_gaps, without"
    " time that another gap or step accounts for.",
    "cause_share": "cause_ns / step_ns, from 0 to 1: idle for this cause, of step time.",
    "launch_wait_ns": "The idle time whose cause is late launch, in ns.",
    "launches": "Number of events on the device in these steps; missing if their launches are not recorded.",
    "late": "Number of these events that were launched after everything before them on the device had "
    "ended; missing if launches are not recorded.",
}

_COLUMNS = {
    "task": "str",
    "device": "str",
    "steps": "int64",
    "step_ns": "int64",
    "busy_ns": "int64",
    "idle_ns": "int64",
    "busy_share": "float64",
    "cause": "str",
    "cause_ns": "int64",
    "cause_share": "float64",
    "launch_wait_ns": "int64",
    "launches": "Int64",
    "late": "Int64",
}
_KEYS = ["task", "device"]


@validate_input
def device_idle(trace: Trace, steps: Collection[int] | None = None, *, of_cpus: bool = False) -> pd.DataFrame:
    """Return how busy each accelerator was over all steps, and the main cause of its idle time.

    Parameters
    ----------
    trace
        Any trace.
    steps
        Numbers of the steps to add up; None for all.
    of_cpus
        Whether to return the same of the CPUs of tasks without accelerators.

    Returns
    -------
    pandas.DataFrame
        One row per device, the least busy first: ``task``, ``device`` (str), ``steps``, ``step_ns``,
        ``busy_ns``, ``idle_ns`` (int64), ``busy_share`` (float64), ``cause`` (str; one of `CAUSES` of
        `tfvis_nb.analysis.idle_gaps`, empty without idle time), ``cause_ns`` (int64), ``cause_share``
        (float64), ``launch_wait_ns`` (int64), ``launches`` and ``late`` (Int64), as in `FIGURES`.
        `cannot_say` if nothing is known about any such device in a step.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import device_idle
    >>> table = events.build({"start_ns": [0, 10, 30], "duration_ns": [28, 9, 5], "lane": ["ops", "s", "s"],
    ...                       "kind": ["op", "kernel", "kernel"], "device": ["/device:GPU:0"] * 3,
    ...                       "scheduled_ns": [None, 2, 27]})
    >>> result = device_idle(Trace(table))
    >>> result[["busy_ns", "idle_ns", "cause", "cause_ns", "late"]].values.tolist()
    [[14, 21, 'late launch', 21, 1]]
    """
    every = utilization(trace)
    with_accelerator = every["task"].isin(every["task"][accelerators(every)])
    cpus = ~with_accelerator & ~containing(every["device"], HOROVOD)
    busy = _chosen(every[cpus] if of_cpus else every, steps)
    on_accelerator = busy["hta_kernel_ns"].notna()
    on_accelerator = on_accelerator.groupby([busy[key] for key in _KEYS]).transform("any")
    busy = busy[busy["busy_ns"].notna() & (on_accelerator | of_cpus) & (busy["step_ns"] > 0)]
    if busy.empty:
        return cannot_say(_COLUMNS, why_not(utilization(trace)) or Text("no_gpu_events"))
    idle = idle_by_cause(trace, steps)
    table = busy.groupby(_KEYS).size().rename("steps").to_frame()
    idle = idle.reindex(table.index, fill_value=0)
    table["idle_ns"] = idle.sum(axis=1)
    table["step_ns"] = _lengths(trace, busy)
    table["busy_ns"] = table["step_ns"] - table["idle_ns"]
    table["busy_share"] = table["busy_ns"] / table["step_ns"]
    main = idle.to_numpy().argmax(axis=1)
    amount = idle.to_numpy()[np.arange(len(idle)), main]
    table["cause"] = np.where(amount > 0, np.array(CAUSES, object)[main], "")
    table["cause_ns"] = amount
    table["cause_share"] = amount / table["step_ns"]
    table["launch_wait_ns"] = idle["late launch"]
    launched = _chosen(launch_bound(trace), steps).groupby(_KEYS)[["launches", "late"]].sum()
    table = table.join(launched.astype("Int64")).reset_index()
    table = table.sort_values("busy_share", kind="stable").reset_index(drop=True)
    return table[list(_COLUMNS)].astype({"task": object, "device": object})


def _chosen(table: pd.DataFrame, steps: Collection[int] | None) -> pd.DataFrame:
    return _of_steps(table, steps).astype(dict.fromkeys(_KEYS, object))


def _of_steps(table: pd.DataFrame, steps: Collection[int] | None) -> pd.DataFrame:
    return table if steps is None else table[table["step"].isin(list(steps))]


def _lengths(trace: Trace, rows: pd.DataFrame) -> pd.Series:
    """Return the length of the union of each device's steps in ns; `rows` are rows of its utilization."""
    group, first = number_rows(*(rows[key] for key in _KEYS))
    devices = pd.MultiIndex.from_frame(rows[_KEYS].iloc[first])
    spans = trace.steps.set_index("step").loc[rows["step"], ["start_ns", "end_ns"]].to_numpy(np.int64)
    return pd.Series(lengths(union(group, *spans.T), len(devices), 2)[:, 1], devices)


@validate_input
def idle_by_cause(trace: Trace, steps: Collection[int] | None = None) -> pd.DataFrame:
    """Return the idle time of each device in ns, with a column per cause; each point in time counts once."""
    gaps = _of_steps(idle_gaps(trace), steps)
    of_gap, first = number_rows(*(gaps[key] for key in _KEYS))
    devices = pd.MultiIndex.from_frame(gaps[_KEYS].iloc[first].astype(object))
    cause = gaps["cause"].cat.codes.to_numpy(np.int64)
    start, long = (gaps[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    if gaps.empty or not _steps_overlap(trace):
        idle = np.zeros((len(devices), len(CAUSES)), np.int64)
        np.add.at(idle, (of_gap, cause), long)
        return pd.DataFrame(idle, devices, list(CAUSES))
    busy = _busy(trace, steps)
    group = np.append(of_gap, devices.get_indexer(pd.MultiIndex.from_frame(busy[_KEYS])))
    swept = priority_union(
        np.maximum(group, 0),
        np.append(start, busy["start_ns"]),
        np.append(start + long, busy["end_ns"]),
        np.where(group < 0, 0, np.append(cause + 1, np.full(len(busy), len(CAUSES) + 1))),
    )
    idle = lengths(swept, len(devices), len(CAUSES) + 2)[:, 1:-1]
    return pd.DataFrame(idle, devices, list(CAUSES))


def _steps_overlap(trace: Trace) -> bool:
    table = trace.steps[trace.steps["step"] != NO_STEP].sort_values("start_ns")
    return bool((table["start_ns"].to_numpy()[1:] < table["end_ns"].cummax().to_numpy()[:-1]).any())


def _busy(trace: Trace, steps: Collection[int] | None) -> pd.DataFrame:
    """Return when devices were busy: if steps overlap, one step's work may fill another one's gap."""
    here = step_devices(trace)
    assert here is not None
    ran = np.flatnonzero(ran_on_device(trace, here))
    rows = here.table.take(here.device_row[ran]).reset_index(drop=True)
    return _chosen(rows.assign(start_ns=here.start[ran], end_ns=here.end[ran]), steps)
