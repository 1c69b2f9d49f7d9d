"""Steps that took longer than others, with the task and activity responsible."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.fleet.analysis.grid import DURATION, FEWEST_STEPS, Grid, grid
from tfvis_nb.fleet.analysis.own_time import own_times
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "duration_ns": "Duration of the step on the task where it took longest, in ns.",
    "excess_ns": "duration_ns minus its median over the steps of the run, in ns. Runs of one or two steps "
    "are compared with those that have the same tasks and about as many ops and kernels in a step: sorted by "
    "these numbers, each at most a quarter more than the one before. NaN if such runs have fewer than three "
    "steps in all.",
    "ratio": "duration_ns / that median.",
    "slow": f"Whether ratio is {SLOW_STEP_RATIO} or more.",
    "first": "Whether it is the first of three or more steps of its run. These initialise and compile, and "
    "stand behind all others.",
    "task": "The task whose own time exceeds its median over the steps most: duration minus communication, "
    "which includes waits, on a parameter server also minus idle. It made the others wait if they wait for "
    "one another. Empty if that is less than half of excess_ns.",
    "tasks": f"Number of tasks on which the step took {SLOW_STEP_RATIO} times the task's median or more.",
    "activity": "The activity that exceeds its median over the steps most on that task, or without one where "
    "the step took longest; see the breakdown. Empty if that is less than half of excess_ns.",
    "activity_ns": "Its time minus that median, in ns; NaN without an activity.",
    "work_ratio": "How long the busiest device of that task ran kernels / the median of that over the steps; "
    f"the lower one if their number is even. {SLOW_STEP_RATIO} or more points to a larger batch, or to other "
    "work. NaN without kernels.",
}

WORK = "work_ns"
_EXPLAINS = 0.5
"""The least part of a step's excess that names its cause."""
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
    "work_ratio": "float64",
}


def fleet_outliers(steps: pd.DataFrame) -> pd.DataFrame:
    """Rank the steps of a fleet by how much longer than the median step of their run they took.

    Parameters
    ----------
    steps
        ``steps`` of a dataset of traces, or some of its rows.

    Returns
    -------
    pandas.DataFrame
        One row per run and step, the largest ``excess_ns`` first but first steps last: ``run`` (str),
        ``step`` (int64), and as in `FIGURES` ``duration_ns`` (int64), ``excess_ns``, ``ratio`` (float64),
        ``slow``, ``first`` (bool), ``task`` (str), ``tasks`` (int64), ``activity`` (str), ``activity_ns`` and
        ``work_ratio`` (float64). `cannot_say` if there are not at least three steps to compare.

    Raises
    ------
    TypeError
        If `steps` is not a table of steps.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.fleet import fleet_outliers
    >>> steps = pd.DataFrame({"task": ["w0", "w1"] * 3, "step": [0, 0, 1, 1, 2, 2],
    ...                       "duration_ns": [10, 10, 30, 29, 10, 10],
    ...                       "communication_ns": [1, 1, 1, 15, 1, 1]})
    >>> fleet_outliers(steps)[["step", "ratio", "slow", "task", "tasks"]].values.tolist()[0]
    [1, 3.0, True, 'w0', 2]
    """
    cells = grid(steps, "fleet_outliers")
    groups = cells.alike()
    if not groups:
        return cannot_say(_COLUMNS, Text("too_few_fleet_steps", fewest=FEWEST_STEPS))
    took = cells.values(DURATION)
    longest = np.nanmax(took, axis=0)
    median = _medians(longest[None], groups)[0]
    own = own_times(cells)
    usual = _medians(own, groups)
    more = np.where(np.isnan(own - usual), -np.inf, own - usual)
    excess = longest - median
    late = more.argmax(axis=0)
    is_late = _explains(more.max(axis=0), excess)
    task = np.where(is_late, late, np.nanargmax(took, axis=0))
    ratio = _ratios(longest, median)
    activity, activity_ns = _activity(cells, task, groups, excess)
    values: dict[str, Any] = {
        "run": cells.runs,
        "step": cells.steps,
        "duration_ns": longest,
        "excess_ns": excess,
        "ratio": ratio,
        "slow": ratio >= SLOW_STEP_RATIO,
        "first": _first(cells),
        "task": [cells.tasks[at] if named else "" for at, named in zip(late, is_late, strict=True)],
        "tasks": (_ratios(took, _medians(took, groups)) >= SLOW_STEP_RATIO).sum(axis=0),
        "activity": activity,
        "activity_ns": activity_ns,
        "work_ratio": _work_ratios(cells, task, groups),
    }
    table = pd.DataFrame(values).astype(dtypes(_COLUMNS))
    # NaN sorts after all numbers.
    order = np.lexsort((-longest, -excess, table["first"].to_numpy()))
    return table.loc[order].reset_index(drop=True)


def _first(cells: Grid) -> np.ndarray:
    is_first = np.zeros(len(cells.steps), bool)
    for run in cells.recordings(np.arange(len(cells.steps))):
        is_first[run[0]] = len(run) >= FEWEST_STEPS
    return is_first


def _lower_median(values: np.ndarray, axis: int) -> np.ndarray:
    medians: np.ndarray = np.nanquantile(values, 0.5, axis=axis, method="lower")
    return medians


def _medians(
    values: np.ndarray, groups: Sequence[np.ndarray], median: Callable[..., np.ndarray] = np.nanmedian
) -> np.ndarray:
    """Return, for each value, the median of its row over the steps it is compared with; NaN if none."""
    medians = np.full(values.shape, np.nan)
    for group in groups:
        known = ~np.isnan(values[:, group]).all(axis=1)
        medians[np.ix_(known, group)] = median(values[np.ix_(known, group)], axis=1)[:, None]
    return medians


def _ratios(values: np.ndarray, medians: np.ndarray) -> np.ndarray:
    ratios = np.full(values.shape, np.nan)
    np.divide(values, medians, out=ratios, where=medians > 0)
    return ratios


def _explains(part: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """Return whether a part is enough of a step's excess to be its cause; False where none is known."""
    return (excess > 0) & (part >= _EXPLAINS * excess)


def _activity(
    cells: Grid, task: np.ndarray, groups: Sequence[np.ndarray], excess: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Return the activity that exceeds its median most in each step on one task, and by how much."""
    parts = [part for part in PARTS if part in cells.table]
    if not parts:
        return [""] * len(task), np.full(len(task), np.nan)
    column = np.arange(len(task))
    values = [cells.values(part) for part in parts]
    more = np.stack([np.nan_to_num(one - _medians(one, groups))[task, column] for one in values])
    most = more.argmax(axis=0)
    by = more[most, column]
    known = _explains(by, excess)
    names = [
        parts[part].removesuffix("_ns") if named else "" for part, named in zip(most, known, strict=True)
    ]
    return names, np.where(known, by, np.nan)


def _work_ratios(cells: Grid, task: np.ndarray, groups: Sequence[np.ndarray]) -> np.ndarray:
    if WORK not in cells.table:
        return np.full(len(task), np.nan)
    work = cells.values(WORK)
    # As in `slow_steps`.
    ratios: np.ndarray = _ratios(work, _medians(work, groups, _lower_median))[task, np.arange(len(task))]
    return ratios
