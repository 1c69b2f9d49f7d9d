"""Ranks that others wait for: how often, how long, and whether by more than chance."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.difference import LEVEL, differences, false_discovery_rates, trimmed_means
from tfvis_nb.analysis.steps.step_differences import ratio_of
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.fleet.analysis.grid import DURATION, grid
from tfvis_nb.fleet.analysis.own_time import jobs, medians_of_others, own_times
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "steps": "Number of steps of the run that the task has together with another task of its job.",
    "last": "In how many of them its own time was the longest of its job: duration minus communication, "
    "which includes waits. Own times need no common clock.",
    "last_share": "last / steps, from 0 to 1. With n equal tasks, each is last in about 1 / n of the steps.",
    "sole_wait_ns": "How much longer its own time was than the second longest, in ns, summed over the steps "
    "in which it was last. All others waited for it alone at most this long.",
    "share": "sole_wait_ns / sum of the durations of the task's steps, from 0 to 1.",
    "lateness_mean_ns": "Mean of its own time minus the shortest of its job, in ns.",
    "lateness_max_ns": "Largest such difference, in ns.",
    "ratio": "Own time divided by the median of the other tasks' own times in the step: the mean over the "
    "steps without the highest and lowest fifth of them.",
    "low_ratio": "Lower end of the 95 % interval of ratio.",
    "high_ratio": "Upper end of that interval.",
    "straggler": "Whether ratio is above 1 by more than chance: p_value is below 0.05.",
    "p_value": "How likely a difference of this size is by chance, corrected for the number of tasks after "
    "Benjamini and Hochberg; see compare.",
}

_COLUMNS = {
    "run": "str",
    "task": "str",
    "steps": "int64",
    "last": "int64",
    "last_share": "float64",
    "sole_wait_ns": "int64",
    "share": "float64",
    "lateness_mean_ns": "float64",
    "lateness_max_ns": "int64",
    "ratio": "float64",
    "low_ratio": "float64",
    "high_ratio": "float64",
    "straggler": "boolean",
    "p_value": "float64",
}


def fleet_stragglers(steps: pd.DataFrame) -> pd.DataFrame:
    """Return how often and how long each task delayed the others of its job, for each run.

    Parameters
    ----------
    steps
        ``steps`` of a dataset of traces, or some of its rows.

    Returns
    -------
    pandas.DataFrame
        One row per run and task that shares steps with another of its job: ``run``, ``task`` (str), and as in
        `FIGURES` ``steps``, ``last`` (int64), ``last_share`` (float64), ``sole_wait_ns`` (int64), ``share``,
        ``lateness_mean_ns`` (float64), ``lateness_max_ns`` (int64), ``ratio``, ``low_ratio``,
        ``high_ratio`` (float64), ``straggler`` (boolean) and ``p_value`` (float64); the last five are NaN
        and NA if there are too few steps. The longest ``sole_wait_ns`` first. `cannot_say` if no two
        tasks of a job share a step.

    Raises
    ------
    TypeError
        If `steps` is not a table of steps.

    Notes
    -----
    `tfvis_nb.analysis.late_tasks` has the same figures for each barrier of one trace, from the times when
    tasks arrive. A dataset's steps have no barriers: here tasks arrive after their own working time.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.fleet import fleet_stragglers
    >>> waits = [30, 10, 31, 12, 29, 9, 30, 11, 32, 11, 30, 10, 29, 12]
    >>> steps = pd.DataFrame({"task": ["w0", "w1"] * 7, "step": [at // 2 for at in range(14)],
    ...                       "duration_ns": [50] * 14, "communication_ns": waits})
    >>> result = fleet_stragglers(steps)
    >>> result[["task", "last", "sole_wait_ns", "straggler"]].values.tolist()
    [['w1', 7, 136, True], ['w0', 0, 0, False]]
    """
    steps_grid = grid(steps, "fleet_stragglers")
    job = jobs(steps_grid.tasks)
    own, took = own_times(steps_grid), steps_grid.values(DURATION)
    parts = []
    # A task of another run is another task, even under the same name.
    for run in steps_grid.recordings(np.arange(len(steps_grid.steps))):
        for number in np.unique(job).tolist():
            tasks = np.flatnonzero(job == number)
            cells = np.ix_(tasks, run)
            part = _of_job([steps_grid.tasks[task] for task in tasks.tolist()], own[cells], took[cells])
            if len(part):
                parts.append(part.assign(run=steps_grid.runs[run[0]]))
    if not parts:
        return cannot_say(_COLUMNS, Text("one_task"))
    table = pd.concat(parts, ignore_index=True)
    table["p_value"] = false_discovery_rates(table["p_value"].to_numpy())
    p_value = table["p_value"].to_numpy()
    slower = (p_value < LEVEL) & (table["ratio"].to_numpy() > 1)
    table["straggler"] = pd.arrays.BooleanArray(slower, np.isnan(p_value))
    order = np.lexsort((-table["lateness_mean_ns"].to_numpy(), -table["sole_wait_ns"].to_numpy()))
    return table.loc[order, list(_COLUMNS)].reset_index(drop=True).astype(dtypes(_COLUMNS))


def _of_job(names: list[str], own: np.ndarray, took: np.ndarray) -> pd.DataFrame:
    """Return the rows of the tasks of one job in a run, from their own times and durations."""
    together = (~np.isnan(own)).sum(axis=0) > 1
    own = np.where(together, own, np.nan)
    known = ~np.isnan(own)
    tasks = np.flatnonzero(known.any(axis=1))
    own, known, took = own[tasks], known[tasks], took[tasks]
    if not len(tasks):
        return pd.DataFrame()
    # Below all own times.
    filled = np.where(known, own, -1)
    longest = filled.argmax(axis=0)
    is_last = (np.arange(len(tasks))[:, None] == longest) & together
    second, first = np.sort(filled, axis=0)[-2:]
    ahead = np.where(together, first - second, 0)
    late = own - np.where(known, own, np.inf).min(axis=0)
    whole = np.where(known, took, 0).sum(axis=1)
    sole = (is_last * ahead).sum(axis=1)
    steps = known.sum(axis=1)
    table = pd.DataFrame(
        {
            "task": [names[task] for task in tasks.tolist()],
            "steps": steps,
            "last": is_last.sum(axis=1),
            "last_share": is_last.sum(axis=1) / steps,
            "sole_wait_ns": sole,
            "share": ratio_of(pd.Series(sole), pd.Series(whole)),
            "lateness_mean_ns": np.nanmean(late, axis=1),
            "lateness_max_ns": np.nanmax(late, axis=1),
        }
    )
    figures = ("ratio", "low_ratio", "high_ratio", "p_value")
    for name, values in zip(figures, _ratios(own), strict=True):
        table[name] = values
    return table


def _ratios(own: np.ndarray) -> np.ndarray:
    """Return ratio, its interval and p-value of each task; tasks with the same steps are one call.

    Steps that are long or short for all tasks do not distinguish tasks, so the ratios within each step are
    compared with those of a task that varies equally around 1.
    """
    others = medians_of_others(own)
    known = others > 0
    ratio = np.divide(own, others, out=np.full(own.shape, np.nan), where=known)
    ratios = np.full((4, len(own)), np.nan)
    patterns, pattern = np.unique(known, axis=0, return_inverse=True)
    for number, present in enumerate(patterns):
        if not present.any():
            continue
        tasks = np.flatnonzero(pattern.reshape(-1) == number)
        b = ratio[np.ix_(tasks, present)]
        values = differences([b - trimmed_means(b)[:, None] + 1], [b])
        ratios[:, tasks] = values.b, values.ratio_low, values.ratio_high, values.p_value
    return ratios
