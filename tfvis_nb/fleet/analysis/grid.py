"""Figures of steps as a grid of tasks and steps."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.labels import natural
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

DURATION = "duration_ns"
KEYS = ("run", "task", "step")
"""Columns that identify a row of the tables; without ``run`` or ``task``, there is only one."""
_WORK = ("ops", "kernels")
"""Columns with the numbers of events that show whether runs do the same work."""
FEWEST_STEPS = 3
"""The minimum number of steps that show a typical one."""
_LIKE = 1.25
"""How many times the events of another run are still about as many."""

Runs = list[np.ndarray]
"""The steps of each run (ascending indexes)."""


class Grid(NamedTuple):
    """The rows of a table by task and step, the tasks and runs in natural order."""

    tasks: list[str]
    runs: list[str]
    """The run of each step."""
    steps: np.ndarray
    """The number of each step within its run (int64)."""
    rows: np.ndarray
    """The row of the table for each task and step, -1 if there is none; shape (tasks, steps), int64."""
    table: pd.DataFrame

    def values(self, metric: str) -> np.ndarray:
        """Return a column as an array of the grid's shape (float64), NaN if unknown.

        Raises
        ------
        KeyError
            If the table has no such column.
        """
        column = self.table[metric].astype("Float64").to_numpy(np.float64, na_value=np.nan)
        # The row -1 is the last element.
        values: np.ndarray = np.append(column, np.nan)[self.rows]
        return values

    def recordings(self, steps: np.ndarray) -> Runs:
        """Group steps (ascending indexes) by run: one array for each run."""
        names = np.array([self.runs[step] for step in steps.tolist()], object)
        ends = np.flatnonzero(names[1:] != names[:-1]) + 1
        return np.split(steps, ends)

    def alike(self) -> list[np.ndarray]:
        """Return the steps that are compared with one another: of each run, or of runs with too few.

        Of these, only runs with the same tasks and about as many ops and kernels in a step are alike. Groups
        with fewer steps than `FEWEST_STEPS` are left out.
        """
        groups: list[np.ndarray] = []
        few: dict[bytes, Runs] = {}
        for run in self.recordings(np.arange(len(self.steps))):
            if len(run) >= FEWEST_STEPS:
                groups.append(run)
            elif len(run):
                tasks = (self.rows[:, run] >= 0).any(axis=1)
                few.setdefault(tasks.tobytes(), []).append(run)
        groups += [np.concatenate(runs) for same in few.values() for runs in self._of_like_work(same)]
        return [group for group in groups if len(group) >= FEWEST_STEPS]

    def _of_like_work(self, runs: Runs) -> list[Runs]:
        """Split runs of the same tasks where they run more ops or kernels than others."""
        groups = [runs]
        for name in _WORK:
            if name in self.table:
                values = self.values(name)
                groups = [part for group in groups for part in _split(group, values)]
        return groups


def _split(runs: Runs, values: np.ndarray) -> list[Runs]:
    """Split runs where the mean of their steps is more than `_LIKE` times the next smaller one."""
    work = np.array([np.nansum(values[:, run]) / len(run) for run in runs])
    order = np.argsort(work, kind="stable")
    cuts = np.flatnonzero(work[order[1:]] > _LIKE * work[order[:-1]]) + 1
    return [[runs[at] for at in sorted(part.tolist())] for part in np.split(order, cuts)]


def grid(table: pd.DataFrame, function: str) -> Grid:
    """Return the grid of a dataset's steps.

    Events outside steps, and steps without events of the task, are left out. If a task and step have several
    rows, the last one counts.

    Raises
    ------
    TypeError
        If it is not a table of steps; the message names the `function`.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.fleet.analysis.grid import grid
    >>> steps = pd.DataFrame({"task": ["b", "a"], "step": [7, 7], "duration_ns": [5, 6]})
    >>> result = grid(steps, "fleet_heat_map")
    >>> result.tasks, result.steps.tolist(), result.values("duration_ns").tolist()
    (['a', 'b'], [7], [[6.0], [5.0]])
    """
    check_table(table, ("step", DURATION), function)
    has_events = (table["step"].to_numpy() != NO_STEP) & table[DURATION].notna().to_numpy()
    table = table[has_events].reset_index(drop=True)
    tasks, task = ordered(table, "task")
    place, runs, steps = places(table)
    rows = np.full((len(tasks), len(steps)), -1)
    rows[task, place] = np.arange(len(table))
    return Grid(tasks, runs, steps, rows, table)


def check_table(table: object, columns: Sequence[str], function: str) -> None:
    """Raise TypeError unless it is a table with these columns."""
    if not isinstance(table, pd.DataFrame) or not set(columns) <= set(table.columns):
        raise TypeError(Text("no_fleet_table", function=function, columns=", ".join(columns)))


def ordered(table: pd.DataFrame, column: str) -> tuple[list[str], np.ndarray]:
    """Return the names in a column in natural order, and each row's index; one empty name without it."""
    if column not in table:
        return [""] * bool(len(table)), np.zeros(len(table), np.int64)
    codes, names = pd.factorize(table[column].astype(str))
    order = sorted(range(len(names)), key=lambda code: natural(str(names[code])))
    number = np.empty(len(names), np.int64)
    number[order] = np.arange(len(names))
    return [str(names[code]) for code in order], number[codes]


def places(table: pd.DataFrame) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Return the index of each row's step among all, and the run and number of each step, in order."""
    runs, run = ordered(table, "run")
    step = table["step"].to_numpy(np.int64)
    pairs, place = np.unique(np.stack([run, step], axis=1), axis=0, return_inverse=True)
    return place.reshape(-1), [runs[number] for number in pairs[:, 0].tolist()], pairs[:, 1]


def place_of(runs: Sequence[str], steps: np.ndarray, step: int | tuple[str, int]) -> int:
    """Return the index of a step among all; `runs` and `steps` are those of `places`.

    Raises
    ------
    ValueError
        If there is no such step, or several runs have a step with this number.
    """
    run, number = step if isinstance(step, tuple) else (None, step)
    matching = [at for at in np.flatnonzero(steps == number).tolist() if run in (None, runs[at])]
    if not matching:
        raise ValueError(Text("no_step", step=step))
    if len(matching) > 1:
        raise ValueError(Text("step_of_runs", step=number, runs=len(matching)))
    return int(matching[0])
