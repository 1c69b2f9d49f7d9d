"""Compare the activities in the steps of two traces."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.steps import step_differences
from tfvis_nb.analysis.steps.breakdown import PARTS, breakdown
from tfvis_nb.analysis.steps.compared_steps import ComparedSteps, Side, Steps, compared_pair
from tfvis_nb.analysis.steps.step_differences import SIDES, StepTimes, add_differences, ratio_of
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.texts import Text

_COLUMNS = {
    "task": "str",
    "activity": "str",
    "a_ns": "Int64",
    "b_ns": "Int64",
    "difference_ns": "Int64",
    "ratio": "float64",
    **step_differences.COLUMNS,
    **step_differences.P_VALUE,
}


@validate_input
def compare_activities(a: Side, b: Side, steps: tuple[Steps, Steps] = (None, None)) -> pd.DataFrame:
    """Return the time of each activity in the steps of two traces, and the differences.

    Parameters
    ----------
    a, b, steps
        As in `compare`; None means all steps. Times are sums of `tfvis_nb.analysis.breakdown`, and events
        outside steps count as there.

    Returns
    -------
    pandas.DataFrame
        One row per task and activity that takes time in either: ``task`` and ``activity`` (str; one of
        `tfvis_nb.analysis.steps.breakdown.PARTS` without ``_ns``), ``a_ns``, ``b_ns`` and ``difference_ns``
        (Int64, NA if unknown), ``ratio`` (float64), and whether the difference is more than chance, as in
        `compare`, whose ``attrs`` it has. The largest difference of a task comes first. If both traces have a
        single task, these match under any names. `cannot_say` if no event of either belongs to a step.

    Raises
    ------
    TypeError
        If `a` or `b` is neither a trace nor several, or `steps` is not a pair of step numbers or of
        lists.
    ValueError
        If a number in `steps` is not a step, or a list of numbers or traces is empty.

    Notes
    -----
    The differences of a task add up exactly to the difference of step durations, if nothing is NA.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import compare_activities
    >>> columns = {"start_ns": [0, 50], "duration_ns": [5, 9], "kind": ["op"] * 2, "step": [0, 1]}
    >>> trace = Trace(events.build(columns))
    >>> result = compare_activities(trace, trace, steps=(0, 1))
    >>> result[["activity", "a_ns", "b_ns", "difference_ns"]].values.tolist()
    [['host_compute', 5, 9, 4]]
    """
    sides = compared_pair(a, b, steps, "compare_activities")
    parts = [_activities(side) for side in sides]
    if not any(len(part.step) for part in parts):
        return cannot_say(_COLUMNS, Text("no_steps"))
    names = [set(part.task) for part in parts]
    if len(names[0]) == len(names[1]) == 1:
        parts[1] = parts[1]._replace(task=parts[0].task[:1] * len(parts[1].task))
    tasks = sorted(set(parts[0].task) | set(parts[1].task))
    first_row = {task: number * len(PARTS) for number, task in enumerate(tasks)}
    table = pd.DataFrame(
        {
            "task": np.repeat(np.array(tasks, object), len(PARTS)),
            "activity": [part.removesuffix("_ns") for part in PARTS] * len(tasks),
        }
    )
    times = []
    for letter, part in zip(SIDES, parts, strict=True):
        first = np.array([first_row[task] for task in part.task], np.int64)
        row = first[:, None] + np.arange(len(PARTS))
        # A task missing in one trace took no time there.
        total, unknown = np.zeros(len(table), np.int64), np.zeros(len(table), bool)
        np.add.at(total, row, part.ns)
        np.logical_or.at(unknown, row, part.unknown)
        table[f"{letter}_ns"] = pd.arrays.IntegerArray(total, unknown)
        times.append(StepTimes(row.ravel(), np.repeat(part.step, len(PARTS)), part.ns.ravel()))
    table["difference_ns"] = table["b_ns"] - table["a_ns"]
    table.attrs["steps"] = tuple(side.unit_count for side in sides)
    table["ratio"] = ratio_of(table["b_ns"], table["a_ns"])
    took = ((table["a_ns"].fillna(1) != 0) | (table["b_ns"].fillna(1) != 0)).to_numpy(bool)
    add_differences(table, sides, times, table["difference_ns"].isna().to_numpy() | ~took)
    table = table[took]
    for column in ("task", "activity"):
        table[column] = table[column].astype(event_table.TEXT)
    largest = -table["difference_ns"].abs().fillna(-1).to_numpy(np.int64)
    order = np.lexsort((largest, pd.factorize(table["task"], sort=True)[0]))
    return table.iloc[order][list(_COLUMNS)].reset_index(drop=True)


class _Activities(NamedTuple):
    """A row per step and task, a column for each of `PARTS`."""

    task: list[str]
    step: np.ndarray
    ns: np.ndarray
    unknown: np.ndarray


def _activities(side: ComparedSteps) -> _Activities:
    table = breakdown(side.trace)
    table = table[(table["device"] == "").to_numpy()]
    if side.numbers is not None:
        table = table[table["step"].isin(side.numbers).to_numpy()]
    columns = [table[part].to_numpy(np.int64, na_value=0) for part in PARTS]
    unknown = [table[part].isna().to_numpy(bool) for part in PARTS]
    step = table["step"].to_numpy(np.int64)
    return _Activities(
        table["task"].astype(str).tolist(), step, np.stack(columns, axis=1), np.stack(unknown, axis=1)
    )
