"""Gaps in which an accelerator did nothing, and the part of each that is due to a late launch."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.critical_path.backtrack import launching_parts
from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.step_devices import StepDevices, step_devices
from tfvis_nb.analysis.unavailable import NONE, cannot_say
from tfvis_nb.core.intervals import Segments, overlap, union
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "launching_ns": "For a gap between two events on a device, if the second was launched after the first"
    " had ended: the time between that end and the launch during which the host launched or the executor "
    "of the device's ops was active, in ns, without the time in which a call waited for a device.",
    "host_other_ns": "For such a gap, the rest of the time up to the launch, during which the host "
    "launched nothing, in ns.",
    "latency_ns": "For such a gap, the time from the start of the launch to the start of the launched "
    "event, in ns.",
    "queued_ns": "The whole gap, in ns, if the event that ends it was launched before the gap: it waited "
    "for something other than its launch.",
    "unknown_ns": "The whole gap, in ns, if the launch of the event that ends it is not recorded.",
}

PARTS = tuple(FIGURES)
"""The columns whose sum is ``duration_ns``, to the nanosecond."""

_COLUMNS = (
    {"step": "int64", "task": "category", "device": "category", "start_ns": "int64", "duration_ns": "int64"}
    | dict.fromkeys(PARTS, "int64")
    | {"event": "int64"}
)


class OnDevices(NamedTuple):
    """Events that accelerators ran in steps, ordered by device, start and launch.

    * ``here``: the devices; ``event``, ``device_row``, ``start``, ``end`` as in
      `tfvis_nb.analysis.events.step_devices.StepDevices`.
    * ``reached``: the latest end of all events before on the device; undefined for its first event (ns).
    * ``launched``, ``launch``: whether the launch time is known, and the launch time (ns).
    """

    here: StepDevices
    event: np.ndarray
    device_row: np.ndarray
    start: np.ndarray
    end: np.ndarray
    reached: np.ndarray
    launched: np.ndarray
    launch: np.ndarray


@validate_input
def launch_gaps(trace: Trace) -> pd.DataFrame:
    """Return the gaps between accelerators' events in a step, and the part of each due to its launch.

    A gap is late if the event that ends it was launched after all earlier work on the device had ended: the
    device waited for the host. If several events end a gap together, the one launched first counts.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per gap, ordered by step, task, device and time: ``step`` (int64), ``task``, ``device``
        (category), ``start_ns``, ``duration_ns`` and `PARTS` (int64 ns), and ``event`` (int64), which ended
        it. The time before a device's first event in a step and after its last is not a gap. `cannot_say` if
        no GPU has rows, or none records when it was launched.

    Notes
    -----
    Late gaps correspond to "host wait" in Holistic Trace Analysis (``get_idle_time_breakdown`` in
    ``hta/analyzers/breakdown_analysis.py``), but per device instead of stream, and measured from the latest
    end of all earlier events. ``RunMetadata`` truncates GPU times to whole microseconds, so gaps may seem a
    microsecond longer than they were.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import launch_gaps
    >>> table = events.build({"start_ns": [0, 10, 30], "duration_ns": [5, 9, 5], "lane": ["ops", "s", "s"],
    ...                       "kind": ["op", "kernel", "kernel"], "device": ["GPU:0"] * 3,
    ...                       "scheduled_ns": [None, 2, 27]})
    >>> launch_gaps(Trace(table))[["start_ns", "duration_ns", "host_other_ns", "latency_ns"]].values.tolist()
    [[19, 11, 8, 3]]
    """
    ran = on_devices(trace)
    if reason := why_unknown(ran):
        return cannot_say(_COLUMNS, reason)
    assert ran is not None
    gaps = gaps_between(trace, ran)
    where = ran.here.table.take(gaps.pop("device_row").to_numpy()).reset_index(drop=True)
    return pd.concat([where, gaps], axis=1)


def why_unknown(ran: OnDevices | None) -> Text:
    """Explain why late launches are unknown; empty if they are known."""
    if ran is None:
        return Text("no_gpu_events")
    return NONE if ran.launched.any() else Text("no_launches")


@validate_input
def gaps_between(trace: Trace, ran: OnDevices) -> pd.DataFrame:
    """Return the gaps of `launch_gaps`, each with its ``device_row`` instead of the names."""
    again = np.append(False, ran.device_row[1:] == ran.device_row[:-1])
    rows = np.flatnonzero(again & (ran.start > ran.reached))
    device_row, since, start = ran.device_row[rows], ran.reached[rows], ran.start[rows]
    known, launch = ran.launched[rows], ran.launch[rows]
    late = known & (launch >= since)
    # With a repaired clock, a launch may be slightly later than the start of its kernel or copy.
    until = np.where(late, np.minimum(launch, start), since)
    launching = overlap(_launching(trace, ran.here), ran.here.whole[device_row], since, until)
    gap = start - since
    return pd.DataFrame(
        {
            "device_row": device_row,
            "start_ns": since,
            "duration_ns": gap,
            "launching_ns": launching,
            "host_other_ns": until - since - launching,
            "latency_ns": np.where(late, start - until, 0),
            "queued_ns": np.where(known & ~late, gap, 0),
            "unknown_ns": np.where(known, 0, gap),
            "event": ran.event[rows],
        }
    )


@validate_input
def on_devices(trace: Trace) -> OnDevices | None:
    """Return the events of accelerators in steps; None if nothing is recorded."""
    here = step_devices(trace)
    if here is None:
        return None
    events = trace.events
    runs = accelerators(events) & (locations(events) == LOCATIONS.index("device"))
    rows = np.flatnonzero((runs & (activity(trace) != NUMBER["none"]))[here.event])
    if not len(rows):
        return None
    scheduled = events["scheduled_ns"]
    launched = scheduled.notna().to_numpy()[here.event[rows]]
    launch = scheduled.to_numpy(np.int64, na_value=0)[here.event[rows]]
    device_row, start, end = here.device_row[rows], here.start[rows], here.end[rows]
    known_first = np.where(launched, launch, np.iinfo(np.int64).max)
    order = np.lexsort((here.event[rows], known_first, start, device_row))
    rows, launched, launch = rows[order], launched[order], launch[order]
    device_row, start, end = device_row[order], start[order], end[order]
    reached = pd.Series(end).groupby(device_row).cummax().to_numpy()
    return OnDevices(
        here=here,
        event=here.event[rows],
        device_row=device_row,
        start=start,
        end=end,
        reached=np.concatenate([start[:1], reached[:-1]]),
        launched=launched,
        launch=launch,
    )


def _launching(trace: Trace, here: StepDevices) -> Segments:
    """Return the launching times of each task in each step; the group is the row of the whole task."""
    rows = np.flatnonzero((activity(trace) == NUMBER["launch"])[here.event])
    part, start, end = launching_parts(trace, here.event[rows], here.start[rows], here.end[rows])
    return union(here.whole[here.device_row[rows[part]]], start, end)
