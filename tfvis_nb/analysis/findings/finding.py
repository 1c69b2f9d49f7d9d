"""What a finding is made of: words, a share of the time, and where in the trace it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.categories import spread
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.labels import task_label

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

percent = format_percent
span = format_duration
task_name = task_label


class Finding(NamedTuple):
    """One thing that made steps slow; see `tfvis_nb.analysis.findings.findings.findings`."""

    kind: str
    title: str
    text: str
    advice: str
    share: float
    step: int
    start_ns: int
    end_ns: int
    events: list[int]


def whole_tasks(trace: Trace) -> pd.DataFrame:
    """Return the rows of ``trace.breakdown`` that are of whole tasks."""
    table = trace.breakdown
    return table[table["device"].astype(str) == ""]


def step_times(trace: Trace) -> pd.DataFrame:
    """Return the rows of ``trace.steps`` that are steps, indexed by their number."""
    return trace.steps[trace.steps["step"] >= 0].set_index("step")


def step_range(trace: Trace, step: int) -> tuple[int, int]:
    """Return start and end of a step, in epoch nanoseconds."""
    row = trace.steps[trace.steps["step"] == step]
    return int(row["start_ns"].to_numpy()[0]), int(row["end_ns"].to_numpy()[0])


def of_task(trace: Trace, task: str) -> np.ndarray:
    """Tell which events are of a task; those of none are of the task that has no name."""
    tasks = trace.events["task"]
    mask = spread(tasks, lambda word: word == task)
    return mask if task else mask | tasks.isna().to_numpy()
