"""The parts of each task's steps for the front end, in an event's details.

``js/model/wire/step_parts.ts`` reads it.
"""

from typing import NotRequired, TypedDict

import numpy as np

from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.labels import printable, task_label
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.container import WireColumn

_LONGEST = 400


class StepPartsHeader(TypedDict):
    """The names of activities and of tasks, in a trace of several steps."""

    parts: NotRequired[list[str]]
    parts_tasks: NotRequired[list[str]]


def step_parts(trace: Trace) -> tuple[StepPartsHeader, dict[str, WireColumn]]:
    """Store the parts of the steps of a trace of several steps.

    Returns the entries of the details header, and the columns: for each
    step and task, in the order of `trace.breakdown`, ``parts_step``, the step's number, ``parts_task``, the
    index of the task, and ``parts_total``, the length of the step in ns; ``parts_ns`` has the times of all
    activities of the first of these rows, then those of the second.
    """
    table = trace.breakdown
    if why_not(table) or table["step"].nunique() < 2:
        return {}, {}
    table = table[table["device"].astype(str) == ""]
    times = np.stack([table[part].to_numpy("f8", na_value=0) for part in PARTS], axis=1)
    used = (times != 0).max(axis=0, initial=False)
    tasks, task = np.unique(table["task"].astype(str).to_numpy(object), return_inverse=True)
    several = len(tasks) > 1
    header: StepPartsHeader = {
        "parts": [part.removesuffix("_ns") for part, is_used in zip(PARTS, used, strict=True) if is_used],
        "parts_tasks": [printable(task_label(name), _LONGEST) if several else "" for name in tasks],
    }
    return header, {
        "parts_step": WireColumn(table["step"].to_numpy("f8")),
        "parts_task": WireColumn(task.astype("u2")),
        "parts_total": WireColumn(table["step_ns"].to_numpy("f8")),
        "parts_ns": WireColumn(times[:, used].ravel()),
    }
