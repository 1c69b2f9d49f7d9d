"""The steps that took longer than others, and on which task and by which activity."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.fleet.grid import DURATION, Grid, grid
from tfvis_nb.analysis.fleet.own_time import own_times
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "duration_ns": "Duration of the step on the task where it took longest, in ns.",
    "excess_ns": "duration_ns minus its median over the steps of all runs, in ns.",
    "ratio": "duration_ns / its median over the steps of all runs.",
    "slow": f"Whether ratio is {SLOW_STEP_RATIO} or more.",
    "first": "Whether it is the first of three or more steps of its run. These initialise and compile, and "
    "stand behind all others.",
    "task": "The task whose own time exceeds its median over the steps most: duration minus communication, "
    "which includes waits. It made the others wait if they wait for one another.",
    "tasks": f"Number of tasks on which the step took {SLOW_STEP_RATIO} times the task's median or more.",
    "activity": "The activity that exceeds its median over the steps most on that task; see the breakdown.",
    "activity_ns": "Its time minus that median, in ns.",
}

_FEWEST = 3
"""Steps that show which of them is typical."""
_COLUMNS = {
    "run": "str",
    "step": "int64",
    "duration_ns": "int64",
    "excess_ns": "float64",
    "ratio": "float64",
    "slow": "bool",
    "first": "bool",
    "task": "str",
    "tasks": "int64",
    "activity": "str",
    "activity_ns": "float64",
}


def fleet_outliers(steps: pd.DataFrame) -> pd.DataFrame:
    """Rank the steps of a fleet by how much longer than the median step they took.

    Parameters
    ----------
    steps
        ``steps`` of a dataset of traces, or some of its rows.

    Returns
    -------
    pandas.DataFrame
        One row per run and step, the longest first but first steps last: ``run`` (str), ``step`` (int64),
        and as in `FIGURES` ``duration_ns`` (int64), ``excess_ns``, ``ratio`` (float64), ``slow``, ``first``
        (bool), ``task`` (str), ``tasks`` (int64), ``activity`` (str, empty if none exceeds its median) and
        ``activity_ns`` (float64). `cannot_say` where there are not at least three steps.

    Raises
    ------
    TypeError
        If `steps` is no table of steps.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.analysis import fleet_outliers
    >>> steps = pd.DataFrame({"task": ["w0", "w1"] * 3, "step": [0, 0, 1, 1, 2, 2],
    ...                       "duration_ns": [10, 10, 30, 29, 10, 10],
    ...                       "communication_ns": [1, 1, 1, 15, 1, 1]})
    >>> fleet_outliers(steps)[["step", "ratio", "slow", "task", "tasks"]].values.tolist()[0]
    [1, 3.0, True, 'w0', 2]
    """
    found = grid(steps, "fleet_outliers")
    if len(found.steps) < _FEWEST:
        return cannot_say(_COLUMNS, Text("too_few_fleet_steps", fewest=_FEWEST))
    took = found.values(DURATION)
    longest = np.nanmax(took, axis=0)
    median = float(np.median(longest))
    task = np.nanargmax(_beyond(own_times(found)), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = longest / median if median else np.full(len(longest), np.nan)
        own = took / _median(took)
    activity, activity_ns = _activity(found, task)
    values: dict[str, Any] = {
        "run": found.runs,
        "step": found.steps,
        "duration_ns": longest,
        "excess_ns": longest - median,
        "ratio": ratio,
        "slow": ratio >= SLOW_STEP_RATIO,
        "first": _first(found),
        "task": [found.tasks[number] for number in task.tolist()],
        "tasks": (own >= SLOW_STEP_RATIO).sum(axis=0),
        "activity": activity,
        "activity_ns": activity_ns,
    }
    table = pd.DataFrame(values).astype(dtypes(_COLUMNS))
    order = np.lexsort((-longest, table["first"].to_numpy()))
    return table.loc[order].reset_index(drop=True)


def _first(found: Grid) -> np.ndarray:
    is_first = np.zeros(len(found.steps), bool)
    for run in found.recordings(np.arange(len(found.steps))):
        is_first[run[0]] = len(run) >= _FEWEST
    return is_first


def _median(values: np.ndarray) -> np.ndarray:
    """Return the median of each task over its steps, NaN without any."""
    known = ~np.isnan(values).all(axis=1)
    found = np.full((len(values), 1), np.nan)
    found[known, 0] = np.nanmedian(values[known], axis=1)
    return found


def _beyond(values: np.ndarray) -> np.ndarray:
    beyond: np.ndarray = values - _median(values)
    return beyond


def _activity(found: Grid, task: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the activity that exceeds its median most in each step on one task, and by how much."""
    parts = [part for part in PARTS if part in found.table]
    if not parts:
        return [""] * len(task), np.zeros(len(task))
    column = np.arange(len(task))
    more = np.stack([np.nan_to_num(_beyond(found.values(part)))[task, column] for part in parts])
    most = more.argmax(axis=0)
    by = more[most, column]
    names = [parts[part].removesuffix("_ns") if ns > 0 else "" for part, ns in zip(most, by, strict=True)]
    return names, np.maximum(by, 0)
