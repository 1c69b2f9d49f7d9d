"""Compares two traces, or two steps of one: which parts take longer, and by how much."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.locations import LOCATIONS
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.op_statistics import GROUPINGS, of_steps, op_statistics
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

Steps = int | Collection[int] | None
"""Which steps of a trace: one, several or, as None, all."""

CHANGES = ("added", "removed", "longer", "shorter", "same")

FIGURES: dict[str, str] = {
    "count_a": "Number of events in the first.",
    "count_b": "Number of events in the second.",
    "total_a_ns": "Sum of the events' durations in the first, in ns.",
    "total_b_ns": "Sum of the events' durations in the second, in ns.",
    "mean_a_ns": "total_a_ns / count_a, in ns.",
    "mean_b_ns": "total_b_ns / count_b, in ns.",
    "self_a_ns": "Sum of the events' durations in the first, in ns, without the events nested in them on "
    "their lane.",
    "self_b_ns": "Sum of the events' durations in the second, in ns, without the events nested in them on"
    " their lane.",
    "difference_ns": "total_b_ns - total_a_ns, for activities b_ns - a_ns, in ns. All differences of a "
    "table add up to the difference of the totals.",
    "self_difference_ns": "self_b_ns - self_a_ns, in ns: nested events count only once.",
    "step_difference_ns": "self_b_ns / steps of b - self_a_ns / steps of a, in ns: how much longer a step"
    " takes.",
    "ratio": "total_b_ns / total_a_ns, for activities b_ns / a_ns.",
    "change": "added or removed if only one has such events; otherwise longer, shorter or same, by "
    "difference_ns, as in trace_diff.py of Holistic Trace Analysis.",
    "a_ns": "Time of the activity in the first, in ns; see the breakdown.",
    "b_ns": "Time of the activity in the second, in ns; see the breakdown.",
}

_SIDES = ("a", "b")
_ACTIVITIES = {
    "task": "str",
    "activity": "str",
    "a_ns": "Int64",
    "b_ns": "Int64",
    "difference_ns": "Int64",
    "ratio": "float64",
}
_COLUMNS = {
    "kind": "category",
    "side": "category",
    "change": "category",
    "count_a": "int64",
    "count_b": "int64",
    "total_a_ns": "int64",
    "total_b_ns": "int64",
    "mean_a_ns": "float64",
    "mean_b_ns": "float64",
    "self_a_ns": "Int64",
    "self_b_ns": "Int64",
    "difference_ns": "int64",
    "self_difference_ns": "Int64",
    "step_difference_ns": "float64",
    "ratio": "float64",
    "longest_a": "Int64",
    "longest_b": "Int64",
}


@validate_input
def compare(a: Trace, b: Trace, by: str = "op", steps: tuple[Steps, Steps] = (None, None)) -> pd.DataFrame:
    """Return times in two traces and their differences, the largest first.

    Parameters
    ----------
    a, b
        Two traces, or one and the same.
    by
        One of `tfvis_nb.analysis.steps.op_statistics.GROUPINGS`: ``op`` type, ``name`` of the node, ``scope``
        or ``device``.
    steps
        Which steps of both: a number, several, or None for all events, including those outside steps. To
        compare two steps of one trace: ``compare(trace, trace, steps=(7, 13))``.

    Returns
    -------
    pandas.DataFrame
        One row per value of `by` (the first column, str), kind and side: ``kind``, ``side`` and ``change``
        (category of `CHANGES`), ``count_a``, ``count_b``, ``total_a_ns``, ``total_b_ns``, ``difference_ns``
        (int64), ``mean_a_ns``, ``mean_b_ns``, ``ratio``, ``step_difference_ns`` (float64, NaN where
        undefined), ``self_a_ns``, ``self_b_ns``, ``self_difference_ns`` (Int64), as in `FIGURES`, and
        ``longest_a`` and ``longest_b`` (Int64), the longest event of each. By the absolute
        ``step_difference_ns``, largest first; rows without one by ``difference_ns`` behind them.
        ``attrs["steps"]`` is how many steps of both were compared, at least 1 each. `cannot_say` if neither
        trace has events.

    Raises
    ------
    ValueError
        If `by` is not one of these, or there is no step of a number in `steps`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import compare
    >>> columns = {"start_ns": [0, 10, 50, 60], "duration_ns": [5, 5, 7, 20], "kind": ["op"] * 4,
    ...            "op": ["Add", "MatMul", "Add", "MatMul"], "step": [0, 0, 1, 1]}
    >>> trace = Trace(events.build(columns))
    >>> found = compare(trace, trace, steps=(0, 1))
    >>> found[["op", "total_a_ns", "total_b_ns", "difference_ns"]].values.tolist()
    [['MatMul', 5, 20, 15], ['Add', 5, 7, 2]]
    """
    if by not in GROUPINGS:
        raise ValueError(Text("not_one_of", choices=", ".join(GROUPINGS), by=by))
    chosen = [_numbers(trace, numbers) for trace, numbers in zip((a, b), steps, strict=True)]
    found = [op_statistics(trace, by, numbers) for trace, numbers in zip((a, b), chosen, strict=True)]
    if all(table.empty for table in found):
        return cannot_say({by: "str"} | _COLUMNS, Text("no_events_in_both"))
    table = _beside(by, found)
    for side, trace, numbers in zip(_SIDES, (a, b), chosen, strict=True):
        own = table[f"self_{side}_ns"].to_numpy(np.float64, na_value=np.nan)
        table[f"step_{side}_ns"] = own / _steps(trace, numbers)
    table["difference_ns"] = table["total_b_ns"] - table["total_a_ns"]
    table["self_difference_ns"] = table["self_b_ns"] - table["self_a_ns"]
    table["step_difference_ns"] = table["step_b_ns"] - table["step_a_ns"]
    table["ratio"] = _ratio(table["total_b_ns"], table["total_a_ns"])
    table["change"] = _changes(table)
    by_step = table["step_difference_ns"].abs().fillna(-1).to_numpy()
    order = np.lexsort((-table["difference_ns"].abs().to_numpy(), -by_step))
    table = table.loc[order, [by, *_COLUMNS]].reset_index(drop=True)
    table.attrs["steps"] = tuple(
        _steps(trace, numbers) for trace, numbers in zip((a, b), chosen, strict=True)
    )
    return table


@validate_input
def compare_activities(a: Trace, b: Trace, steps: tuple[Steps, Steps] = (None, None)) -> pd.DataFrame:
    """Return how long each activity took in the steps of two traces, and the differences.

    Parameters
    ----------
    a, b, steps
        As of `compare`; None is all steps, and events of no step count as in
        `tfvis_nb.analysis.breakdown`, of which these are the sums.

    Returns
    -------
    pandas.DataFrame
        One row per task and activity that took time in one of them: ``task`` and ``activity`` (str; the
        latter one of `tfvis_nb.analysis.steps.breakdown.PARTS` without ``_ns``), ``a_ns``, ``b_ns`` and
        ``difference_ns`` (Int64, NA where not known), ``ratio`` (float64). The largest difference of a task
        comes first. The tasks of two traces with one task each are taken for the same, whatever they are
        called. `cannot_say` where no event of either belongs to a step.

    Raises
    ------
    ValueError
        If there is no step of a number in `steps`.

    Notes
    -----
    The differences of a task add up to that of its steps' durations exactly, where nothing is NA.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import compare_activities
    >>> columns = {"start_ns": [0, 50], "duration_ns": [5, 9], "kind": ["op"] * 2, "step": [0, 1]}
    >>> trace = Trace(events.build(columns))
    >>> found = compare_activities(trace, trace, steps=(0, 1))
    >>> found[["activity", "a_ns", "b_ns", "difference_ns"]].values.tolist()
    [['host_compute', 5, 9, 4]]
    """
    sums = [
        _activities(trace, _numbers(trace, numbers)) for trace, numbers in zip((a, b), steps, strict=True)
    ]
    if all(part.empty for part in sums):
        return cannot_say(_ACTIVITIES, Text("no_steps"))
    tasks = [part.index.unique("task") for part in sums]
    if len(tasks[0]) == len(tasks[1]) == 1:
        sums[1].index = sums[0].index
    index = sums[0].index.union(sums[1].index)
    # A task missing from one trace took no time in it.
    times = [part.reindex(index, fill_value=0) for part in sums]
    table = pd.DataFrame({"a_ns": times[0], "b_ns": times[1]}).reset_index()
    table["difference_ns"] = table["b_ns"] - table["a_ns"]
    table["ratio"] = _ratio(table["b_ns"], table["a_ns"])
    table = table[((table["a_ns"].fillna(1) != 0) | (table["b_ns"].fillna(1) != 0)).to_numpy(bool)]
    for column in ("task", "activity"):
        table[column] = table[column].astype(event_table.TEXT)
    largest = -table["difference_ns"].abs().fillna(-1).to_numpy(np.int64)
    order = np.lexsort((largest, pd.factorize(table["task"], sort=True)[0]))
    return table.iloc[order][list(_ACTIVITIES)].reset_index(drop=True)


def _numbers(trace: Trace, steps: Steps) -> list[int] | None:
    """Return the numbers of the chosen steps in order, None for all; refuse those that are not there."""
    if steps is None:
        return None
    wanted = sorted({steps} if isinstance(steps, (int, np.integer)) else set(steps))
    of_steps(trace, wanted)
    return wanted


def _steps(trace: Trace, numbers: list[int] | None) -> int:
    return max(
        int((trace.steps["step"] != event_table.NO_STEP).sum()) if numbers is None else len(numbers), 1
    )


def _beside(by: str, found: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the figures of both, side by side, 0 for missing ones."""
    key = [by, "kind", "side"]
    parts = [
        table.astype({"kind": str, "side": str, "count": "Int64", "total_ns": "Int64"}) for table in found
    ]
    parts = [part.set_index(key) for part in parts]
    index = parts[0].index.union(parts[1].index)
    table = pd.DataFrame(index=index)
    for side, part in zip(_SIDES, parts, strict=True):
        there = part.reindex(index)
        nothing = there["count"].isna()
        table[f"count_{side}"] = there["count"].fillna(0).astype("int64")
        table[f"total_{side}_ns"] = there["total_ns"].fillna(0).astype("int64")
        table[f"mean_{side}_ns"] = there["mean_ns"]
        table[f"self_{side}_ns"] = there["self_ns"].astype("Int64").mask(nothing, 0)
        table[f"longest_{side}"] = there["longest"].astype("Int64")
    table = table.reset_index()
    table[by] = table[by].astype(event_table.TEXT)
    for column, categories in (("kind", event_table.KINDS), ("side", LOCATIONS)):
        table[column] = pd.Categorical(table[column], categories=list(categories))
    return table


def _changes(table: pd.DataFrame) -> pd.Categorical:
    changes = np.array(["shorter", "same", "longer"], object)[np.sign(table["difference_ns"].to_numpy()) + 1]
    changes[table["count_a"].to_numpy() == 0] = "added"
    changes[table["count_b"].to_numpy() == 0] = "removed"
    return pd.Categorical(changes, categories=list(CHANGES))


def _activities(trace: Trace, numbers: list[int] | None) -> pd.Series:
    """Return the sum of each activity over the chosen steps, by task and activity; NA where not known."""
    table = trace.breakdown
    table = table[(table["device"] == "").to_numpy()]
    if numbers is not None:
        table = table[table["step"].isin(numbers).to_numpy()]
    task = table["task"].astype(str)
    parts = table[list(PARTS)].astype("Int64").rename(columns=lambda part: part.removesuffix("_ns"))
    sums, unknown = parts.fillna(0).groupby(task).sum(), parts.isna().groupby(task).any()
    amounts = pd.arrays.IntegerArray(sums.to_numpy(np.int64).ravel(), unknown.to_numpy(bool).ravel())
    index = pd.MultiIndex.from_product([sums.index, sums.columns], names=["task", "activity"])
    return pd.Series(amounts, index)


def _ratio(b: pd.Series, a: pd.Series) -> np.ndarray:
    numerator, denominator = (
        column.astype("Float64").to_numpy(np.float64, na_value=np.nan) for column in (b, a)
    )
    ratio: np.ndarray = np.divide(numerator, denominator, out=np.full(len(a), np.nan), where=denominator > 0)
    return ratio
