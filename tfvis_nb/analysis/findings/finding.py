"""What a finding is made of: words, a share of the time, and where in the trace it shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.categories import spread

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

_TASK = re.compile(r"/job:([^/]+)(?:/replica:\d+)?/task:(\d+)")
_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "\N{MICRO SIGN}s"))


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


def task_name(task: str) -> str:
    """Name a task briefly.

    Examples
    --------
    >>> from tfvis_nb.analysis.findings.finding import task_name
    >>> task_name("/job:worker/replica:0/task:2"), task_name("/job:localhost/replica:0/task:0")
    ('worker 2', '')
    """
    match = _TASK.search(task)
    return "" if match is None or match[1] == "localhost" else f"{match[1]} {match[2]}"


def percent(share: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> from tfvis_nb.analysis.findings.finding import percent
    >>> percent(0.649), percent(0.043)
    ('65 %', '4.3 %')
    """
    return f"{share * 100:.0f} %" if share >= 0.0995 else f"{share * 100:.1f} %"


def span(nanoseconds: float) -> str:
    """Write a duration with three digits.

    Examples
    --------
    >>> from tfvis_nb.analysis.findings.finding import span
    >>> span(1_234_000), span(950)
    ('1.23 ms', '950 ns')
    """
    for size, unit in _UNITS:
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"
