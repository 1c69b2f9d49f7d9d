"""A finding: figures, a share of the time, and its events in the trace."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.breakdown import breakdown
from tfvis_nb.core.categories import map_categories
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

PROBLEM, MINOR, OBSERVATION = LEVELS = ("problem", "minor", "observation")
"""How much a finding matters: high cost, low cost, or a fact to know."""
PROBLEM_SHARE = 0.1
"""Findings that lose at least this share of step time are problems, others are minor."""

SELECTED = 50
"""The most events of a finding that are selected to show it."""


class Finding(NamedTuple):
    """One thing that made steps slow, in figures, with its evidence."""

    id: str
    """The rule, and after a dot its case."""
    share: float
    """Share of step time; NaN for time outside steps and for a first step that is set apart."""
    figures: dict[str, Any]
    step: int
    start_ns: int
    end_ns: int
    events: list[int]
    """All events, the most relevant first; the table of findings has some of them and their number."""
    level: str = ""
    """One of `LEVELS`; empty if the share decides."""
    lost_ns: int = 0
    """The lost time if the share is NaN."""
    once_ns: int = 0
    """The part of it that a longer training does not take more of."""

    def rated(self) -> str:
        """Return the level, derived from the share if the rule gives none."""
        return self.level or (PROBLEM if self.share >= PROBLEM_SHARE else MINOR)


@per_trace
def whole_tasks(trace: Trace) -> pd.DataFrame:
    """Return the rows of ``trace.breakdown`` for whole tasks."""
    table = breakdown(trace)
    return table[table["device"].astype(str) == ""]


def step_times(trace: Trace) -> pd.DataFrame:
    """Return the rows of ``trace.steps`` that are steps, indexed by their number."""
    return trace.steps[trace.steps["step"] != NO_STEP].set_index("step")


def step_range(trace: Trace, step: int) -> tuple[int, int]:
    """Return start and end of a step, in epoch nanoseconds."""
    row = trace.steps[trace.steps["step"] == step]
    return int(row["start_ns"].to_numpy()[0]), int(row["end_ns"].to_numpy()[0])


def of_task(trace: Trace, task: str) -> np.ndarray:
    """Return a mask of the events of a task; the task without a name has the others."""
    tasks = trace.events["task"]
    mask = map_categories(tasks, lambda name: name == task)
    return mask if task else mask | tasks.isna().to_numpy()


def longest_events(trace: Trace, mask: np.ndarray) -> list[int]:
    """Return the chosen events, the longest first."""
    rows = np.flatnonzero(mask)
    order = np.argsort(-trace.events["duration_ns"].to_numpy()[rows], kind="stable")
    longest: list[int] = rows[order].tolist()
    return longest


def overlaps(trace: Trace, start_ns: int, end_ns: int) -> np.ndarray:
    """Return a mask of the events that run at some time between a start and an end."""
    start = trace.events["start_ns"].to_numpy()
    mask: np.ndarray = (start < end_ns) & (start + trace.events["duration_ns"].to_numpy() > start_ns)
    return mask
