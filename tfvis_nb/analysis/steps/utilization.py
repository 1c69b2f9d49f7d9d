"""The utilization of devices in each step: busy time, parallelism, and queueing."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.events.step_devices import StepDevices, step_devices
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import is_kind, map_categories
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.step_spans import STEP_NS
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

_HTA = "in Holistic Trace Analysis' temporal breakdown"

FIGURES: dict[str, str] = {
    "step_ns": STEP_NS,
    "busy_ns": "Length of the union of the events on the device, in ns: kernels, memsets, copies and "
    "collectives on an accelerator; ops of the step, launching and compiling on a CPU.",
    "idle_ns": "step_ns - busy_ns, in ns: the gaps, including the time before the first event and after "
    "the last.",
    "utilization": "busy_ns / step_ns, from 0 to 1.",
    "parallelism": "Sum of the durations of the events on the device / busy_ns: how many ran at once on "
    "average.",
    "queued": "Number of events on the device whose ready time is recorded.",
    "queueing_ns": "Sum of start - ready over these events, in ns; a kernel or copy is ready at its launch.",
    "queueing_mean_ns": "queueing_ns / queued.",
    "hta_kernel_ns": "Last end minus first start of the events on an accelerator, in ns, without the "
    f"start and end of the step. Called kernel time {_HTA}.",
    "hta_idle_ns": "hta_kernel_ns minus the length of the union of these events, in ns. Called idle time "
    f"{_HTA}.",
    "hta_compute_ns": "Length of the union of kernels, without memsets, copies and collectives, in ns. "
    f"Called compute time {_HTA}.",
    "hta_non_compute_ns": "hta_kernel_ns - hta_compute_ns - hta_idle_ns, in ns. Called non-compute time "
    f"{_HTA}.",
}

_RECORDED = ("busy_ns", "idle_ns", "queueing_ns")
_HTA_NAMES = tuple(name for name in FIGURES if name.startswith("hta_"))
_COLUMNS = (
    {"step": "int64", "task": "category", "device": "category", "step_ns": "int64"}
    | dict.fromkeys(_RECORDED[:2], "Int64")
    | {"utilization": "float64", "parallelism": "float64", "queued": "int64", "queueing_ns": "Int64"}
    | {"queueing_mean_ns": "float64"}
    | dict.fromkeys(_HTA_NAMES, "Int64")
)
_EXECUTOR_LANES = ("ops", "collective", "recv")
_ON_ACCELERATOR = ("h2d", "d2h", "d2d", "device_compute", "communication")
_ON_HOST = ("host_compute", "launch", "compile")


@validate_input
def utilization(trace: Trace) -> pd.DataFrame:
    """Return how busy each device was in each step.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per step, task and device: ``step`` (int64), ``task``, ``device`` (category), ``step_ns``
        (int64), ``busy_ns`` and ``idle_ns`` (Int64; together ``step_ns``; NA on a GPU with known ops but
        unknown kernels), ``utilization`` and ``parallelism`` (float64, NaN if unknown or nothing ran),
        ``queued`` (int64), ``queueing_ns`` (Int64, NA if no event shows when it was ready),
        ``queueing_mean_ns`` (float64), and the metrics of Holistic Trace Analysis, ``hta_..._ns`` (Int64, NA
        on a CPU or if nothing ran). `cannot_say` if no event of a step has a device.

    Notes
    -----
    Executor rows of a GPU record when the host launched an op, not the work of the GPU. Python, and waits for
    input and other tasks, do not keep a CPU busy; nor does the input pipeline, which works ahead of the
    step on its own threads. Holistic Trace Analysis measures from the first kernel to
    the last (``hta/analyzers/breakdown_analysis.py``), which hides a GPU that waits at the start of each
    step.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import utilization
    >>> table = events.build({"start_ns": [0, 20, 30], "duration_ns": [100, 30, 30],
    ...                       "kind": ["op", "kernel", "memcpy"], "scheduled_ns": [0, 10, 30],
    ...                       "device": ["CPU:0", "GPU:0", "GPU:0"]})
    >>> result = utilization(Trace(table)).set_index("device")
    >>> columns = ["busy_ns", "idle_ns", "parallelism", "queueing_ns", "hta_kernel_ns"]
    >>> result.loc["GPU:0", columns].map(float).tolist()
    [40.0, 60.0, 1.5, 10.0, 40.0]
    """
    here = step_devices(trace)
    rows = np.flatnonzero(here.table["device"] != "") if here is not None else np.zeros(0, np.int64)
    if here is None or not len(rows):
        return cannot_say(_COLUMNS, Text("no_devices"))
    row_count = len(here.table)
    ran = ran_on_device(trace, here)
    busy = _union(here, ran, row_count)
    step = here.last - here.first
    total = _sum(here.device_row[ran], (here.end - here.start)[ran], row_count)
    unknown = here.untraced

    scheduled = trace.events["scheduled_ns"]
    has_ready = ran & scheduled.notna().to_numpy()[here.event]
    ready = scheduled.to_numpy(np.int64, na_value=0)[here.event[has_ready]]
    queued = np.bincount(here.device_row[has_ready], minlength=row_count)
    waited = _sum(here.device_row[has_ready], np.maximum(here.start[has_ready] - ready, 0), row_count)

    first = np.full(row_count, np.iinfo(np.int64).max)
    last = np.full(row_count, np.iinfo(np.int64).min)
    np.minimum.at(first, here.device_row[ran], here.start[ran])
    np.maximum.at(last, here.device_row[ran], here.end[ran])
    accelerator = accelerators(trace.events)[here.event]
    computed = ran & accelerator & is_kind(trace.events, "kernel")[here.event]
    device = np.zeros(row_count, bool)
    device[here.device_row[accelerator & ran]] = True
    kernel = np.where(device, last - np.where(device, first, 0), 0)
    compute = _union(here, computed, row_count)

    table = here.table.copy()
    table["step_ns"] = step
    table["busy_ns"] = _nullable(busy, unknown)
    table["idle_ns"] = _nullable(step - busy, unknown)
    table["utilization"] = _ratio(busy, np.where(unknown, 0, step))
    table["parallelism"] = _ratio(total, np.where(unknown, 0, busy))
    table["queued"] = queued.astype(np.int64)
    table["queueing_ns"] = _nullable(waited, queued == 0)
    table["queueing_mean_ns"] = _ratio(waited, queued)
    figures = (kernel, kernel - busy, compute, busy - compute)
    for name, figure in zip(_HTA_NAMES, figures, strict=True):
        table[name] = _nullable(figure, ~device)
    return table.loc[rows, list(_COLUMNS)].reset_index(drop=True)


@validate_input
def busiest_accelerator(trace: Trace) -> dict[int, int | None]:
    """Return the busy time (ns) of the busiest accelerator of each step; None if unknown.

    Steps without accelerators are left out.
    """
    if not accelerators(trace.events).any():
        return {}
    table = utilization(trace)
    table = table[accelerators(table)]
    busy = table["busy_ns"].groupby(table["step"].to_numpy()).max()
    most = [None if ns is pd.NA else int(ns) for ns in busy]
    return dict(zip(busy.index.tolist(), most, strict=True))


@validate_input
def busy_between(trace: Trace, start_ns: int, end_ns: int) -> pd.Series:
    """Return how long each accelerator was busy in a range (ns), in steps or outside, by task and device."""
    events = trace.events
    rows = np.flatnonzero(accelerators(events) & _keeps_busy(trace))
    ran = events[["task", "device"]].take(rows)
    group, first = number_rows(ran["task"], ran["device"])
    devices = pd.MultiIndex.from_frame(ran.take(first).astype(str))
    start = events["start_ns"].to_numpy(np.int64)[rows]
    end = np.minimum(start + events["duration_ns"].to_numpy(np.int64)[rows], end_ns)
    start = np.maximum(start, start_ns)
    inside = end > start
    busy = union(group[inside], start[inside], end[inside])
    return pd.Series(lengths(busy, len(devices), 2)[:, 1], devices)


@validate_input
def ran_on_device(trace: Trace, here: StepDevices) -> np.ndarray:
    """Return a mask of the events in steps that kept their device busy."""
    mask: np.ndarray = _keeps_busy(trace)[here.event]
    return mask


def _keeps_busy(trace: Trace) -> np.ndarray:
    events = trace.events
    executor = map_categories(events["lane"], lambda lane: lane in _EXECUTOR_LANES)
    mask: np.ndarray = np.where(
        accelerators(events),
        _one_of(activity(trace), _ON_ACCELERATOR) & ~executor,
        _one_of(activity(trace), _ON_HOST),
    )
    return mask


def _one_of(activity: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    return np.isin(activity, [NUMBER[name] for name in names])


def _union(here: StepDevices, chosen: np.ndarray, row_count: int) -> np.ndarray:
    merged = union(here.device_row[chosen], here.start[chosen], here.end[chosen])
    return lengths(merged, row_count, 2)[:, 1]


def _sum(device_row: np.ndarray, value: np.ndarray, row_count: int) -> np.ndarray:
    total = np.zeros(row_count, np.int64)
    np.add.at(total, device_row, value)
    return total


def _nullable(values: np.ndarray, unknown: np.ndarray) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(np.where(unknown, 0, values).astype(np.int64), unknown.copy())


def _ratio(value: np.ndarray, base: np.ndarray) -> np.ndarray:
    ratio: np.ndarray = np.divide(value, base, out=np.full(len(base), np.nan), where=base > 0)
    return ratio
