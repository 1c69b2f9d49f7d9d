"""Causes of each device's idle time over time."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.critical_path.backtrack import WAITS, PathSegments, backtracker
from tfvis_nb.analysis.critical_path.critical_path import final_events
from tfvis_nb.analysis.critical_path.dependencies import LONG_SLEEP
from tfvis_nb.analysis.events.activity import ACTIVITIES, COPY_DONE, NUMBER, accelerators, activity
from tfvis_nb.analysis.events.step_devices import StepDevices, step_devices
from tfvis_nb.analysis.events.traced_calls import traced_calls
from tfvis_nb.analysis.steps.slow_steps import OtherSteps
from tfvis_nb.analysis.steps.utilization import ran_on_device
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import beginning, containing
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.intervals import overlap, union
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text, id_of

FIGURES: dict[str, str] = {
    "gap_ns": "How long a device was idle, in ns: from the end of an event to the start of the next, from"
    " the start of the step to the first event, or from the last event to the end of the step.",
    "duration_ns": "The part of a gap that has one cause, in ns; the parts of a step and device add up to"
    " idle_ns of its utilization exactly.",
    "input": "The step waited for its next batch, or for the input pipeline's work on it, in ns.",
    "recv wait": "A tensor that the task was to receive was not there yet because another task was making"
    " it or had not sent it, or the task was at a collective at which another rank had not arrived, in "
    "ns.",
    "recv transfer": "Tensors were being received, or a collective moved data, in ns; all of a collective"
    " if the other ranks are not in the trace.",
    "late launch": "The host had not yet launched the next event, or had only just launched it, in ns: it"
    " executed and launched ops.",
    "dependency on another device": "The next event, or the rest of the step, waited for another device "
    "or for another task, in ns.",
    "kernel gap": "The next event was launched in time; the device took this long to start it, in ns.",
    "copy": "The device itself waited for a copy that it had started, as in copy-done on a TPU, in ns.",
    "host": "The host did something other than launching, such as Python, ops on a CPU or compiling, in ns.",
    "unknown": "No record shows what the device waited for, in ns. This includes the host's turn if no event "
    "shows what the host did.",
}
"""Meanings of the columns and of the causes of gaps."""

CAUSES = tuple(FIGURES)[2:]
"""All causes; see `FIGURES`."""

_CAUSE = {name: number for number, name in enumerate(CAUSES)}
_COLUMNS = {
    "step": "int64",
    "task": "category",
    "device": "category",
    "start_ns": "int64",
    "duration_ns": "int64",
    "cause": "category",
    "cause_event": "int64",
    "gap": "int64",
    "gap_ns": "int64",
    "end_event": "int64",
}
_OF_WAIT = {
    "transfer_wait": "recv wait",
    "launch_latency": "late launch",
    "kernel_gap": "kernel gap",
    "unknown": "unknown",
}
_OF_ACTIVITY = {
    "preprocessing": "input",
    "input": "input",
    "runtime": "host",
    "host_compute": "host",
    "compile": "host",
    "none": "host",
    "launch": "late launch",
    "communication": "recv transfer",
}


class _Idle(NamedTuple):
    """Gaps in which a device did nothing: device, start, end, and the event that was waited for.

    That event ended the gap, unless the step ended first: then ``ended_by`` is -1.
    """

    device_row: np.ndarray
    start: np.ndarray
    end: np.ndarray
    event: np.ndarray
    ended_by: np.ndarray


@validate_input
def idle_gaps(trace: Trace) -> pd.DataFrame:
    """Return when each device was idle, and why.

    The event that ends a gap had waited for something. Following its path back from its start, as
    `tfvis_nb.analysis.critical_path.backtrack.Backtracker.trace_back` does, shows what happened during the
    gap. After the last event of a device, the path starts at the end of the step.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per gap and cause, the longest gap first, in a gap by time: ``step`` (int64), ``task``,
        ``device`` (category), ``start_ns``, ``duration_ns`` (int64), ``cause`` (category of `CAUSES`),
        ``cause_event`` (int64 id of the event that took most of that time), ``gap`` (int64, from 0),
        ``gap_ns`` (int64) and ``end_event`` (int64 id of the device's event that ended the gap, -1 if the
        step ended first). Devices are accelerators, and the CPUs of tasks without accelerators. `cannot_say`
        if no device of a step has a row of its work.

    Notes
    -----
    A device is idle when it is not busy as defined in `tfvis_nb.analysis.utilization`, so all durations of a
    step and device add up to its ``idle_ns``. Holistic Trace Analysis distinguishes causes of gaps by whether
    a kernel was launched before the one ahead of it ended (``hta/analyzers/breakdown_analysis.py``), as
    ``late launch`` and ``kernel gap`` here.

    At a collective a rank waits until the last one arrives (see `tfvis_nb.analysis.collective_waits`). That
    wait is ``recv wait`` and its event the rank's own collective; the rest is ``recv transfer``.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import idle_gaps
    >>> gpu = "/job:worker/replica:0/task:0/device:GPU:0"
    >>> table = events.build({
    ...     "start_ns": [0, 50, 70, 80], "duration_ns": [60, 40, 10, 20], "scheduled_ns": [0, 50, 55, 60],
    ...     "kind": ["op", "op", "kernel", "kernel"], "op": ["IteratorGetNext", "Sum", "Sum", "Sum"],
    ...     "name": ["next", "sum", "sum", "sum"], "lane": ["ops", "ops", "stream:1", "stream:1"],
    ...     "device": ["/job:worker/replica:0/task:0/device:CPU:0", gpu, gpu, gpu],
    ...     "detail": ["next = IteratorGetNext()", "sum = Sum(next)", "", ""],
    ... })
    >>> idle_gaps(Trace(table))[["duration_ns", "cause", "cause_event", "gap_ns"]].values.tolist()
    [[50, 'input', 0, 70], [20, 'late launch', 2, 70]]
    """
    if isinstance(trace, OtherSteps):
        return trace.without_first(idle_gaps(trace.whole))
    here = step_devices(trace)
    shown = np.zeros(0, bool) if here is None else _shown(trace, here)
    if here is None or not shown.any():
        return cannot_say(_COLUMNS, Text("no_device_activity"))
    idle = _idle(trace, here, shown)
    pieces = backtracker(trace).trace_back(idle.event, idle.end, idle.start)
    pieces, cause = _with_waits(trace, here, idle, pieces, _causes(trace, here, idle, pieces))
    # Consecutive segments of one cause form a row; the longest one names the event.
    new = np.append(True, (pieces.walk[1:] != pieces.walk[:-1]) | (cause[1:] != cause[:-1]))[: len(cause)]
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(new))[: len(first)] - 1
    group = np.cumsum(new) - 1
    length = pieces.end - pieces.start
    as_long = np.flatnonzero(length == np.maximum.reduceat(length, first)[group])[::-1]
    longest = np.empty(len(first), np.int64)
    # In reverse order, so that the first of equally long segments stays.
    longest[group[as_long]] = as_long
    gap = pieces.walk[first]
    table = here.table.take(idle.device_row[gap]).reset_index(drop=True)
    table["start_ns"] = pieces.start[last]
    table["duration_ns"] = pieces.end[first] - pieces.start[last]
    causes = pd.CategoricalDtype(list(CAUSES))
    table["cause"] = pd.Categorical.from_codes(cause[first].astype(np.int8), dtype=causes)
    table["cause_event"] = pieces.event[longest]
    table["gap"] = gap
    table["gap_ns"] = (idle.end - idle.start)[gap]
    table["end_event"] = idle.ended_by[gap]
    order = np.lexsort((table["start_ns"], gap, -table["gap_ns"]))
    return table.take(order).reset_index(drop=True)


def _shown(trace: Trace, here: StepDevices) -> np.ndarray:
    """Return the devices that have gaps: accelerators, and the CPU of tasks without any."""
    device, task = here.table["device"], here.table["task"].cat.codes.to_numpy()
    accelerator = np.zeros(len(device), bool)
    accelerator[here.device_row[accelerators(trace.events)[here.event]]] = True
    with_accelerator = np.isin(task, task[accelerator])
    cpu = ~with_accelerator & ~containing(device, HOROVOD) & (device != "").to_numpy()
    shown: np.ndarray = (accelerator | cpu) & ~here.untraced
    return shown


def _idle(trace: Trace, here: StepDevices, shown: np.ndarray) -> _Idle:
    """Find the gaps of the devices shown, and the event that ended each."""
    ran = np.flatnonzero(ran_on_device(trace, here) & shown[here.device_row] & (here.end > here.start))
    ran = ran[np.lexsort((-here.end[ran], here.start[ran], here.device_row[ran]))]
    device_row, start = here.device_row[ran], here.start[ran]
    first = np.append(True, device_row[1:] != device_row[:-1])[: len(ran)]
    reached = pd.Series(here.end[ran]).groupby(device_row).cummax().to_numpy(np.int64)
    free = np.where(first, here.first[device_row], np.append(0, reached[:-1])[: len(ran)])
    gaps = np.flatnonzero(free < start)
    # After its last event, or if it has none, a device is idle until the end of the step.
    device_rows = np.flatnonzero(shown)
    until = here.first.copy()
    np.maximum.at(until, device_row, reached)
    tails = device_rows[until[device_rows] < here.last[device_rows]]
    final = final_events(trace, here.table["step"].to_numpy(np.int64)[tails])
    # A tracing keeps its device busy from the start of its call on, so the call ends the gap.
    traced, ended_by = traced_calls(trace), here.event[ran[gaps]]
    calls = np.arange(len(trace.events))
    calls[traced.tracing] = traced.call
    ended_by = calls[ended_by]
    return _Idle(
        np.concatenate([device_row[gaps], tails]),
        np.concatenate([free[gaps], until[tails]]),
        np.concatenate([start[gaps], here.last[tails]]),
        np.concatenate([ended_by, final]),
        np.concatenate([ended_by, np.full(len(tails), -1)]),
    )


def _causes(trace: Trace, here: StepDevices, idle: _Idle, pieces: PathSegments) -> np.ndarray:
    """Return the index in `CAUSES` of each piece."""
    paths = backtracker(trace)
    times, event = paths.times, pieces.event
    on_device = times.device[event]
    of_activity = np.array([_CAUSE[_OF_ACTIVITY.get(name, "unknown")] for name in ACTIVITIES])
    doing = of_activity[paths.activity[event]]
    # The next event is late because its launch came too late for the device.
    of_wait = np.array([_CAUSE.get(_OF_WAIT.get(wait, ""), -1) for wait in WAITS])
    waiting = of_wait[np.maximum(pieces.wait, 0)]
    late = np.where(on_device, _CAUSE["late launch"], doing)
    running = np.where(on_device, _CAUSE["unknown"], doing)
    cause = np.where(pieces.wait < 0, running, np.where(waiting < 0, late, waiting))
    device_row = idle.device_row[pieces.walk]
    other = on_device & (times.device_number[event] != _codes(trace, here, "device")[device_row])
    remote = times.task[event] != _codes(trace, here, "task")[device_row]
    cause[(pieces.wait < 0) & on_device & beginning(trace.events["op"], COPY_DONE)[event]] = _CAUSE["copy"]
    cause[_silent(trace, here, device_row, pieces) & ~on_device] = _CAUSE["unknown"]
    cause[other | remote] = _CAUSE["dependency on another device"]
    received = _after(pieces.walk, times.received[event] & ~remote)
    cause[remote & received] = _CAUSE["recv wait"]
    if any(id_of(note) == "op_times_replaced" for note in trace.notes):
        # Paths pass through ops, whose times are those of their kernels.
        cause[np.isin(cause, [_CAUSE[name] for name in ("late launch", "kernel gap", "host")])] = _CAUSE[
            "unknown"
        ]
    return cause


def _with_waits(
    trace: Trace, here: StepDevices, idle: _Idle, pieces: PathSegments, cause: np.ndarray
) -> tuple[PathSegments, np.ndarray]:
    """Cut pieces at the arrival of the last rank at a collective: until then, earlier ranks waited."""
    times, arrived = backtracker(trace).times, collective_waits(trace)
    waited = arrived["wait_ns"].to_numpy(np.int64, na_value=0)
    if not waited.any():
        return pieces, cause
    last_arrival = times.start.copy()
    last_arrival[arrived["event"].to_numpy(np.int64)] += waited
    # The path includes the events of the last rank: the piece before them is the collective that waits for
    # it.
    own = times.task[pieces.event] == _codes(trace, here, "task")[idle.device_row[pieces.walk]]
    left = np.maximum.accumulate(np.where(own, np.arange(len(own)), 0))
    collective = _around(times.parent, pieces.event, last_arrival > times.start)[left]
    waits = cause == np.where(own, _CAUSE["recv transfer"], _CAUSE["dependency on another device"])
    waits &= (collective >= 0) & own[left] & (pieces.walk[left] == pieces.walk)
    first = np.maximum(times.start[collective], pieces.start)
    last = np.minimum(last_arrival[collective], pieces.end)
    waits &= first < last
    # Backwards: the time after the wait, the wait, the time before it.
    moments = np.stack([pieces.end, last, first, pieces.start], 1)
    moments[~waits, 1:3] = pieces.start[~waits][:, None]
    row, part = np.divmod(np.flatnonzero(moments[:, :-1] != moments[:, 1:]), 3)
    waiting = part == 1
    cut = PathSegments(*(column[row] for column in pieces))._replace(
        start=moments[row, part + 1],
        end=moments[row, part],
        event=np.where(waiting, collective[row], pieces.event[row]),
    )
    return cut, np.where(waiting, _CAUSE["recv wait"], cause[row])


def _around(parent: np.ndarray, event: np.ndarray, mark: np.ndarray) -> np.ndarray:
    """Return the innermost marked event, itself or enclosing, of each event on its thread; -1 for none."""
    outer = event.copy()
    while (on := np.flatnonzero((outer >= 0) & ~mark[outer])).size:
        outer[on] = parent[outer[on]]
    return outer


def _silent(trace: Trace, here: StepDevices, device_row: np.ndarray, pieces: PathSegments) -> np.ndarray:
    """Return a mask of pieces that are long waits of the host with hardly any rows in that time.

    Something unrecorded wakes a thread after such a long time. The mark of a step shows Python at work only
    on a thread that has other rows.
    """
    between = [WAITS.index("scheduling"), WAITS.index("queueing")]
    works = activity(trace) != NUMBER["none"]
    lanes, _ = number_rows(*(trace.events[column] for column in ("task", "device", "lane")))
    at_work = np.bincount(lanes, works) > 0
    waits = np.isin(pieces.wait, between) | ((pieces.wait < 0) & ~at_work[lanes[pieces.event]])
    long = np.flatnonzero(waits & (pieces.end - pieces.start > LONG_SLEEP))
    silent = np.zeros(len(device_row), bool)
    if not len(long):
        return silent
    rows = np.flatnonzero((~backtracker(trace).times.device & works)[here.event])
    active = union(here.whole[here.device_row[rows]], here.start[rows], here.end[rows])
    worked = overlap(active, here.whole[device_row[long]], pieces.start[long], pieces.end[long])
    silent[long] = 2 * worked < (pieces.end - pieces.start)[long]
    return silent


def _after(walk: np.ndarray, mark: np.ndarray) -> np.ndarray:
    """Return a mask of the pieces after a marked one on their path, going back in time."""
    passed = np.cumsum(mark)
    first = np.flatnonzero(np.append(True, walk[1:] != walk[:-1])[: len(walk)])
    before = np.repeat(passed[first] - mark[first], np.diff(np.append(first, len(walk))))
    return passed > before


def _codes(trace: Trace, here: StepDevices, column: str) -> np.ndarray:
    """Return the event table's number of the device or task of each row."""
    codes = trace.events[column].cat.categories.get_indexer(pd.Index(here.table[column].astype(object)))
    return np.asarray(codes, np.int64)
