"""The devices of each task in each step, and their events, for analyses by device."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis.events.activity import accelerators, during_steps
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.labels import natural
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import DEVICE


class StepDevices(NamedTuple):
    """The devices of each task in each step, each task as a whole, and their events.

    * ``table``: a row for each, ordered by ``step``, ``task`` and ``device``; the device of a task as a whole
      is empty.
    * ``first``, ``last``: for each row the start and end of its step (ns), over all tasks.
    * ``whole``: for each row the row of its task as a whole.
    * ``nowhere``: whether a row only collects a task's events without a device.
    * ``untraced``: whether accelerators ran ops there that no tracer recorded.
    * ``event``, ``device_row``, ``start``, ``end``: the events that count toward a step, their rows of
      ``table``, and the time range (ns) for which they count; see
      `tfvis_nb.analysis.events.activity.during_steps`.
    """

    table: pd.DataFrame
    first: np.ndarray
    last: np.ndarray
    whole: np.ndarray
    nowhere: np.ndarray
    untraced: np.ndarray
    event: np.ndarray
    device_row: np.ndarray
    start: np.ndarray
    end: np.ndarray


@per_trace
def step_devices(trace: Trace) -> StepDevices | None:
    """Find the devices of each task in each step; None if no event belongs to a step."""
    events = trace.events
    event, step, start, end = during_steps(trace)
    if not len(event):
        return None
    steps = trace.steps[trace.steps["step"] != event_table.NO_STEP]
    numbers = steps["step"].to_numpy(np.int64)
    tasks, task = _ranked(events["task"])
    devices, device = _ranked(events["device"])
    # A task as a whole comes before its devices, of which the empty one is the first.
    width = len(devices) + 1
    key = (np.searchsorted(numbers, step) * len(tasks) + task[event]) * width + device[event] + 1
    which, distinct = pd.factorize(key)
    keys = distinct_numbers(np.concatenate([distinct, distinct // width * width]))
    device_row = np.asarray(np.searchsorted(keys, distinct))[which]
    whole = np.searchsorted(keys, keys // width * width)
    of_step, of_device = keys // width // len(tasks), keys % width
    table = pd.DataFrame(
        {
            "step": numbers[of_step],
            "task": _category(tasks, keys // width % len(tasks)),
            "device": _category(np.append("", devices), of_device),
        }
    )
    accelerator, op = accelerators(events)[event], is_kind(events, "op")[event]
    # Not every source records the device of a kernel.
    by_tracer = is_kind(events, *DEVICE)[event]
    traced = np.zeros(len(keys), bool)
    traced[whole[device_row[(accelerator & ~op) | by_tracer]]] = True
    blind = device_row[accelerator & op]
    blind = blind[~traced[whole[blind]]]
    untraced = np.zeros(len(keys), bool)
    untraced[blind] = untraced[whole[blind]] = True
    return StepDevices(
        table=table,
        first=steps["start_ns"].to_numpy(np.int64)[of_step],
        last=steps["end_ns"].to_numpy(np.int64)[of_step],
        whole=whole,
        nowhere=of_device == 1,
        untraced=untraced,
        event=event,
        device_row=device_row,
        start=start,
        end=end,
    )


def _ranked(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the names in a column, ``task:2`` before ``task:10``, and the index of each row's name."""
    names = [str(name) for name in column.cat.categories]
    ordered = sorted({"", *names}, key=natural)
    rank_of = {name: number for number, name in enumerate(ordered)}
    # A missing name has the code -1, which indexes the last element.
    rank = np.array([*(rank_of[name] for name in names), rank_of[""]], np.int64)
    return np.array(ordered, object), rank[column.cat.codes.to_numpy()]


def _category(names: np.ndarray, codes: np.ndarray) -> pd.Categorical:
    """Make a column of names, of which some may be equal."""
    distinct, which = np.unique(names.astype(str), return_inverse=True)
    return pd.Categorical.from_codes(which[codes], categories=pd.Index(distinct, dtype=event_table.TEXT))
