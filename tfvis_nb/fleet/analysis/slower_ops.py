"""Ops that take longer since a given step."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.difference import (
    LEVEL,
    TRIM,
    Differences,
    differences,
    false_discovery_rates,
)
from tfvis_nb.analysis.steps.step_differences import ratio_of
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.labels import natural
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.analysis.grid import check_table, place_of, places
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "before_ns": "Self time of the op per step and task before the step, in ns: its sum over the tasks, "
    "divided by the number of tasks that recorded ops in the step, and of these figures the mean without "
    "the highest and lowest fifth of the steps. With three or more runs of several steps on both sides, the "
    "same mean of the runs' means: runs differ more than steps of one.",
    "since_ns": "The same from that step on, in ns.",
    "difference_ns": "since_ns minus before_ns, in ns.",
    "low_ns": "Lower end of the 95 % interval of difference_ns, in ns.",
    "high_ns": "Upper end of that interval, in ns.",
    "ratio": "since_ns / before_ns.",
    "low_ratio": "Lower end of the 95 % interval of ratio.",
    "high_ratio": "Upper end of that interval.",
    "shown": "Whether the difference is more than chance: p_value is below 0.05.",
    "p_value": "How likely a difference of this size is by chance, corrected for the number of ops after "
    "Benjamini and Hochberg; see compare.",
}

_KEYS = ["op", "kind"]
_MOST_CELLS = 1 << 22
_VALUES = dict.fromkeys(list(FIGURES)[:-2], "float64") | {"shown": "boolean", "p_value": "float64"}

Since = int | tuple[str, int]
"""The number of a step, or its run and number."""


class _Cells(NamedTuple):
    group: np.ndarray  # Row of the result for each row of the table
    place: np.ndarray  # Index of its step among all
    ns: np.ndarray
    runs: list[str]
    steps: np.ndarray
    tasks: np.ndarray  # Number of tasks with ops in each step


def slower_ops(ops: pd.DataFrame, since: Since) -> pd.DataFrame:
    """Return how much longer each op takes since a step than before it, and whether that is more than chance.

    Parameters
    ----------
    ops
        ``ops`` of a dataset of traces, or its smaller ``step_ops``, or some of their rows.
    since
        The first of the later steps: its number if there is one run, or a pair of run and number. Steps
        are ordered by run, in natural order, and number.

    Returns
    -------
    pandas.DataFrame
        One row per op type and kind: ``op``, ``kind`` (str), and as in `FIGURES` ``before_ns``, ``since_ns``,
        ``difference_ns``, ``low_ns``, ``high_ns``, ``ratio``, ``low_ratio``, ``high_ratio`` (float64),
        ``shown`` (boolean) and ``p_value`` (float64). The largest ``difference_ns`` first. All are NaN and NA
        for an op in at most a fifth of the steps of each side; intervals are NaN if a side has a single step.
        ``attrs["steps"]`` has the number of steps of both sides. `cannot_say` if there are no steps on a
        side.

    Raises
    ------
    TypeError
        If `ops` is not a table of ops.
    ValueError
        If there are several runs, and none or several of them have a step of this number.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.fleet import slower_ops
    >>> ops = pd.DataFrame({"step": range(8), "op": "MatMul", "kind": "kernel",
    ...                     "self_ns": [10, 11, 9, 10, 15, 16, 14, 15]})
    >>> slower_ops(ops, since=4)[["op", "before_ns", "since_ns", "shown"]].values.tolist()
    [['MatMul', 10.0, 15.0, True]]
    """
    check_table(ops, ("step", *_KEYS, "self_ns"), "slower_ops")
    columns = dict.fromkeys(_KEYS, "str") | _VALUES
    kept = (ops["step"] != NO_STEP).to_numpy()
    if "side" in ops:
        kept = kept & (ops["side"].astype(object) != "repeated").to_numpy(bool)
    ops = ops[kept]
    keys = ops[_KEYS].astype(object).fillna("").astype(str)
    grouped = keys.groupby(_KEYS, sort=True)
    group = grouped.ngroup().to_numpy()
    table = grouped.size().reset_index()[_KEYS]
    cells = _cells(ops, group)
    first = _first(cells, since)
    if not 0 < first < len(cells.steps):
        return cannot_say(columns, Text("no_steps_before" if first == 0 else "no_steps_since"))
    change = _differences(cells, first, len(table))
    ratio = ratio_of(pd.Series(change.b), pd.Series(change.a))
    p_value = false_discovery_rates(change.p_value)
    figures = (change.a, change.b, change.b - change.a, change.low, change.high, ratio, *change[4:6])
    for name, values in zip(_VALUES, figures, strict=False):
        table[name] = values
    table["shown"] = pd.arrays.BooleanArray(p_value < LEVEL, np.isnan(p_value))
    table["p_value"] = p_value
    table = table.astype(dtypes(columns))
    table = table.sort_values("difference_ns", ascending=False, kind="stable", ignore_index=True)
    table.attrs["steps"] = (first, len(cells.steps) - first)
    return table


def _cells(ops: pd.DataFrame, group: np.ndarray) -> _Cells:
    place, runs, steps = places(ops)
    tasks = np.ones(len(steps), np.int64)
    if "tasks" in ops:
        np.maximum.at(tasks, place, ops["tasks"].to_numpy(np.int64))
    elif "task" in ops:
        pairs = pd.DataFrame({"place": place, "task": ops["task"].astype(str).to_numpy()}).drop_duplicates()
        tasks = np.bincount(pairs["place"], minlength=len(steps))
    return _Cells(group, place, ops["self_ns"].to_numpy(np.float64, na_value=0), runs, steps, tasks)


def _first(cells: _Cells, since: Since) -> int:
    """Return the number of steps before a step, which need not have ops itself."""
    if isinstance(since, tuple):
        run, step = since
    else:
        is_one_run = len(set(cells.runs)) < 2
        at = 0 if is_one_run else place_of(cells.runs, cells.steps, since)
        run, step = cells.runs[at] if cells.runs else "", since
    first = natural(run), step
    keys = zip(map(natural, cells.runs), cells.steps.tolist(), strict=True)
    return sum(key < first for key in keys)


def _differences(cells: _Cells, first: int, count: int) -> Differences:
    """Compare the rows that are in enough steps, some at a time."""
    steps = len(cells.steps)
    seen = np.unique(cells.group * steps + cells.place)
    is_before = seen % steps < first
    before, after = (np.bincount(seen[side] // steps, minlength=count) for side in (is_before, ~is_before))
    often = (before > int(first * TRIM)) | (after > int((steps - first) * TRIM))
    rows = np.flatnonzero(often)
    change = Differences(*np.full((len(Differences._fields), count), np.nan))
    names = np.array(cells.runs, object)
    cuts = np.union1d(np.flatnonzero(names[1:] != names[:-1]) + 1, [first])
    earlier = int(np.searchsorted(cuts, first)) + 1
    for chunk in np.array_split(rows, max(-(-len(rows) * steps // _MOST_CELLS), 1)):
        at = np.full(count, -1)
        at[chunk] = np.arange(len(chunk))
        row = at[cells.group]
        index = row[row >= 0] * steps + cells.place[row >= 0]
        sums = np.bincount(index, weights=cells.ns[row >= 0], minlength=len(chunk) * steps)
        matrices = np.split(sums.reshape(len(chunk), steps) / cells.tasks, cuts, axis=1)
        values = differences(matrices[:earlier], matrices[earlier:])
        for column, of_chunk in zip(change, values, strict=True):
            column[chunk] = of_chunk
    return change
