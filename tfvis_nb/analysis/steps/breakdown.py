"""The breakdown of step time into activities, such as input, launching, communication and computing."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.critical_path.backtrack import launching_parts
from tfvis_nb.analysis.events.activity import ACTIVITIES, NUMBER, activity
from tfvis_nb.analysis.events.step_devices import StepDevices, step_devices
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.intervals import Segments, fill_gaps, lengths, priority_union
from tfvis_nb.core.step_spans import STEP_NS
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text, id_of

_REST = "while none of the above happened, in ns"
_XPROF = "in XProf's step breakdown (event_span.h)"

FIGURES: dict[str, str] = {
    "step_ns": STEP_NS,
    "device_compute_ns": f"Time during which a kernel or memset ran, in ns. Called device compute {_XPROF}.",
    "d2h_ns": f"Time of copies from device to host {_REST}. Called output {_XPROF}.",
    "d2d_ns": "Time of copies within and between devices, and of copies without a recorded direction, "
    f"{_REST}. Called device to device {_XPROF}.",
    "input_ns": f"Time spent waiting for the next batch, as in IteratorGetNext, {_REST}. Together with "
    f"h2d_ns, called input {_XPROF}.",
    "communication_ns": "Time spent receiving tensors from other tasks and in collectives, including "
    f"waits, {_REST}. Waits for another device of the task do not count for the task as a whole. It is what "
    f"is called device collectives {_XPROF}, plus the network.",
    "launch_ns": "Time spent launching kernels and copies, and in the executor of an accelerator's ops, "
    "without waits of calls for earlier work of their stream or for their own copy, "
    f"{_REST}. Called kernel launch {_XPROF}. Missing if timeline.py replaced times of ops by those of their "
    "kernels (op_time).",
    "h2d_ns": f"Time of copies from host to device {_REST}. Together with input_ns, called input {_XPROF}.",
    "compile_ns": f"Time spent tracing and compiling functions {_REST}. Called compilation {_XPROF}.",
    "host_compute_ns": f"Time of ops on a CPU {_REST}. Together with runtime_ns, called host compute "
    f"{_XPROF}.",
    "runtime_ns": "Time spent in Python and the runtime around ops, working or waiting for what they "
    f"called, {_REST}. Together with host_compute_ns, called host compute {_XPROF}.",
    "preprocessing_ns": f"Time of the input pipeline's own threads {_REST}. Together with idle_ns, called "
    f"all others {_XPROF}.",
    "idle_ns": "The rest of the step, including its start and end, in ns. Together with preprocessing_ns,"
    f" called all others {_XPROF}.",
    "unknown_ns": "The rest of the step, in ns, on a task whose GPUs ran ops but recorded no kernels: "
    "computing, copying or idle. Also the time of launch_ns where it is missing.",
}

PARTS = tuple(FIGURES)[1:]
"""The columns whose sum without NA is exactly ``step_ns``; earlier ones take precedence over later ones."""

_OF_TRACER = ("device_compute_ns", "d2h_ns", "d2d_ns", "h2d_ns", "idle_ns")
_COLUMNS = {"step": "int64", "task": "category", "device": "category", "step_ns": "int64"} | {
    part: "Int64" if part in (*_OF_TRACER, "launch_ns") else "int64" for part in PARTS
}


@validate_input
def breakdown(trace: Trace) -> pd.DataFrame:
    """Divide the time of each step among its activities; the parts add up exactly to the step.

    At each point in time the step has one activity: if several run, the highest in the order of
    `tfvis_nb.analysis.events.activity.ACTIVITIES`. So ``communication_ns`` is communication that no kernel
    hides, and ``launch_ns`` is launching while the device is idle.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per step and task, with an empty ``device``, for all work of the task, and one per device, for
        the events on it. ``step`` (int64), ``task`` and ``device`` (category), ``step_ns`` (int64) and
        `PARTS` (int64 and Int64 nanoseconds). All rows of a step have the same ``step_ns``: the time a task
        waits for others before its first event and after its last is part of its step. Parts that only a
        GPU's tracer could measure, and ``idle_ns``, are NA on tasks whose GPUs ran ops but have no rows of
        kernels or copies, and ``launch_ns`` is NA if times of ops are those of their kernels; the time of
        what is missing is ``unknown_ns``. Events outside steps do not count,
        except as defined by `during_steps`. `cannot_say` if no event belongs to a step.

    Notes
    -----
    The breakdown follows XProf: ``ToNonOverlappedEvents`` in ``xprof/utils/event_span.cc``, and
    ``ConvertStepDetailsToStepInfo`` in ``xprof/convert/step_events_to_steps_db.cc`` for the rest.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import breakdown
    >>> table = events.build({"start_ns": [0, 40, 60], "duration_ns": [50, 30, 40],
    ...                       "kind": ["op", "op", "transfer"], "op": ["IteratorGetNext", "MatMul", ""]})
    >>> parts = ["step_ns", "input_ns", "communication_ns", "host_compute_ns"]
    >>> breakdown(Trace(table))[parts].values.tolist()
    [[100, 50, 40, 10]]
    """
    swept = _sweep(trace)
    if swept is None:
        return cannot_say(_COLUMNS, Text("no_steps"))
    table = swept.rows
    shares = lengths(swept.active, len(table), len(ACTIVITIES))
    unknown = swept.untraced
    # Ops that have the times of their kernels hide when the host launched these.
    replaced = np.full(len(table), any(id_of(note) == "op_times_replaced" for note in trace.notes))
    launch = np.where(replaced, shares[:, NUMBER["launch"]], 0)
    table["step_ns"] = swept.last - swept.first
    shares[:, NUMBER["none"]] = table["step_ns"] - shares.sum(axis=1)
    for part in PARTS:
        name = part.removesuffix("_ns")
        length = shares[:, NUMBER.get(name, 0)].copy()
        if part == "unknown_ns":
            length = np.where(unknown, length, 0) + launch
        if part == "launch_ns":
            table[part] = pd.arrays.IntegerArray(length - launch, replaced)
        elif part in _OF_TRACER:
            table[part] = pd.arrays.IntegerArray(np.where(unknown, 0, length), unknown.copy())
        else:
            table[part] = length
    return table


@validate_input
def activity_times(trace: Trace) -> pd.DataFrame:
    """Return the activity of each step over time.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        ``step`` (int64), ``task`` and ``device`` (category) as in `breakdown`, ``start_ns`` and
        ``duration_ns`` (int64), ``activity`` (category of `ACTIVITIES`; ``none`` if nothing happens). The
        rows of a step, task and device are ordered by time and cover the step without gaps or overlaps.
        `cannot_say` if no event belongs to a step.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import activity_times
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 1], "kind": ["op", "op"]})
    >>> activity_times(Trace(table))[["start_ns", "duration_ns", "activity"]].values.tolist()
    [[0, 5, 'host_compute'], [5, 4, 'none'], [9, 1, 'host_compute']]
    """
    swept = _sweep(trace)
    times = ("step", "task", "device")
    if swept is None:
        columns = {"start_ns": "int64", "duration_ns": "int64", "activity": "category"}
        return cannot_say({name: _COLUMNS[name] for name in times} | columns, Text("no_steps"))
    active = swept.active.take(np.argsort(swept.active.group, kind="stable"))
    pieces = fill_gaps(active, swept.first, swept.last)
    table = swept.rows.take(pieces.group)[list(times)].reset_index(drop=True)
    table["start_ns"] = pieces.start
    table["duration_ns"] = pieces.length
    table["activity"] = pd.Categorical.from_codes(
        pieces.level.astype(np.int8), dtype=pd.CategoricalDtype(list(ACTIVITIES))
    )
    return table


def _active(trace: Trace, here: StepDevices) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return device, start, end and activity of events; a call that waits for a device does not launch."""
    active = activity(trace)[here.event]
    launches = np.flatnonzero(active == NUMBER["launch"])
    part, start, end = launching_parts(trace, here.event[launches], here.start[launches], here.end[launches])
    others = np.flatnonzero(active != NUMBER["launch"])
    row = np.concatenate([others, launches[part]])
    return (
        here.device_row[row],
        np.concatenate([here.start[others], start]),
        np.concatenate([here.end[others], end]),
        active[row],
    )


def _arrivals(trace: Trace) -> np.ndarray:
    """Return until when each collective waited for a device of its own task, epoch ns; 0 for other events."""
    waited = collective_waits(trace)
    task = trace.events["task"].cat.codes.to_numpy()[waited["event"].to_numpy(np.int64)]
    # The rows of a collective are ordered by arrival.
    last = np.searchsorted(waited["collective"], waited["collective"], "right") - 1
    own = waited[(task == task[last]) & waited["wait_ns"].notna()]
    until = np.zeros(len(trace.events), np.int64)
    until[own["event"]] = own["start_ns"] + own["wait_ns"].astype("int64")
    return until


class _Swept(NamedTuple):
    """The rows of the breakdown with start, end and activity, and the GPUs that were not traced."""

    rows: pd.DataFrame
    first: np.ndarray
    last: np.ndarray
    active: Segments
    untraced: np.ndarray


def _sweep(trace: Trace) -> _Swept | None:
    """Assign each step's time to activities, for each task and each device; None without steps."""
    here = step_devices(trace)
    if here is None:
        return None
    on_device = priority_union(*_active(trace, here))
    moved = np.clip(_arrivals(trace)[here.event], here.start, here.end)
    if (moved > here.start).any():
        device, start, end, level = _active(trace, here._replace(start=moved))
        on_task = priority_union(here.whole[device], start, end, level)
    else:
        # Combine the devices of a task, because their segments are fewer than the events.
        on_task = priority_union(here.whole[on_device.group], on_device.start, on_device.end, on_device.level)
    both = Segments(*(np.concatenate(pair) for pair in zip(on_device, on_task, strict=True)))
    shown = ~here.nowhere
    kept = both.take(shown[both.group])
    return _Swept(
        rows=here.table[shown].reset_index(drop=True),
        first=here.first[shown],
        last=here.last[shown],
        active=kept._replace(group=(np.cumsum(shown) - 1)[kept.group]),
        untraced=here.untraced[shown],
    )
