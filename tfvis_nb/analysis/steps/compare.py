"""Compare two traces, or two steps of one: which parts take longer, and by how much."""

from typing import Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.locations import LOCATIONS
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.steps import step_differences
from tfvis_nb.analysis.steps.compared_steps import ComparedSteps, Side, Steps, compared_pair
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.analysis.steps.op_statistics import (
    Groups,
    group_statistics,
    groups,
    labelled_groups,
    op_statistics,
)
from tfvis_nb.analysis.steps.step_differences import SIDES, StepTimes, add_differences, ratio_of
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

Grouping = Literal["op", "name", "scope", "device", "layer", "line"]
GROUPINGS = get_args(Grouping)
"""The groupings of `compare`."""
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
    "typical_a_ns": "Time of the row in a typical step of a, in ns, if typical_difference_ns is known.",
    "typical_b_ns": "The same in a typical step of b, in ns.",
    "typical_difference_ns": "How much longer the row takes in a typical step of b than in one of a, in ns: "
    "the difference of the means over the steps without the longest and the shortest fifth, or with three or"
    " more runs a side of the same means over the typical steps of the runs. Rows of ops have their self"
    " time. A first step that is set apart does not count. Not known if one has a single step, or if four"
    " fifths of the steps of both are without such events.",
    "low_ns": "Lower end of the 95 % interval of typical_difference_ns, in ns, from how much steps vary or,"
    " with three or more runs a side, runs. It is not corrected for the number of rows: it can exclude 0"
    " although shown is false.",
    "high_ns": "Upper end of that interval, in ns.",
    "typical_ratio": "typical_b_ns / typical_a_ns.",
    "low_ratio": "Lower end of the 95 % interval of typical_ratio.",
    "high_ratio": "Upper end of that interval.",
    "shown": "Whether a difference is shown: p_value is below 0.05. With fewer than three runs a side it is a"
    " difference of these recordings.",
    "p_value": "How likely a difference of this size is by chance, corrected for the number of rows"
    " (Benjamini and Hochberg): of the rows below 0.05, 5 % differ by chance only. If no step of one takes as"
    " long as any of the other, with five or more of each, it is at most the share of orders in which that"
    " happens.",
}

_COLUMNS = {
    "kind": "category",
    "side": "category",
    "change": "category",
    **step_differences.COLUMNS,
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
    **step_differences.P_VALUE,
}


@validate_input
def compare(a: Side, b: Side, by: Grouping = "op", steps: tuple[Steps, Steps] = (None, None)) -> pd.DataFrame:
    """Return times in two traces and their differences, the largest first.

    Parameters
    ----------
    a, b
        Two traces, or the same one twice. Either may be several traces that repeat the same steps, such as a
        list or a session; their steps are combined. Three or more traces of several steps on each side count
        as runs: the intervals then include how much runs vary.
    by
        One of `GROUPINGS`: ``op`` type, ``name`` of the node, ``scope``, ``device``, ``layer`` of
        `tfvis_nb.analysis.layers`, or ``line`` of the user's code, as ``file:line``.
    steps
        The steps of each side: a number, several, or None for all events, including those outside steps.
        ``compare(trace, trace, steps=(7, 13))`` compares two steps of one trace, ``steps=(range(30),
        range(30, 60))`` two halves.

    Returns
    -------
    pandas.DataFrame
        One row per value of `by` (the first column, str), kind and side: ``kind``, ``side`` and
        ``change`` (category of `CHANGES`); ``typical_a_ns``, ``typical_b_ns``, ``typical_difference_ns``,
        ``low_ns``, ``high_ns``, ``typical_ratio``, ``low_ratio``, ``high_ratio`` (float64), ``shown``
        (boolean); ``count_a``, ``count_b``, ``total_a_ns``, ``total_b_ns``, ``difference_ns`` (int64),
        ``mean_a_ns``, ``mean_b_ns``, ``ratio``, ``step_difference_ns`` (float64, NaN where undefined),
        ``self_a_ns``, ``self_b_ns``, ``self_difference_ns`` (Int64), as in `FIGURES`, ``longest_a`` and
        ``longest_b`` (Int64), the longest event of each, and ``p_value`` (float64). Ordered by the
        absolute ``step_difference_ns``, largest first, then rows without one by ``difference_ns``.
        ``attrs["unit"]`` is by what both sides are compared: ``steps``, ``iterations`` of a loop that nothing
        marks as steps, or ``recordings``, if nothing divides one of them into steps or their steps do other
        work. ``attrs["steps"]`` has the number of these on each side, at least 1,
        ``attrs["step_time"]`` the `tfvis_nb.analysis.steps.difference.Difference` of their durations,
        ``attrs["loop_time"]`` that of the times from a step's start to the next. If a side has a single
        step, ``attrs["no_interval"]`` is set. `cannot_say` if neither trace has events, or `by` is
        ``line`` and one has no stacks.

    Raises
    ------
    TypeError
        If `a` or `b` is neither a trace nor several, or `steps` is not a pair of step numbers or of
        lists.
    ValueError
        If `by` is not one of these, a number in `steps` is not a step, or a list of numbers or traces is
        empty.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import compare
    >>> columns = {"start_ns": [0, 10, 50, 60], "duration_ns": [5, 5, 7, 20], "kind": ["op"] * 4,
    ...            "op": ["Add", "MatMul", "Add", "MatMul"], "step": [0, 0, 1, 1]}
    >>> trace = Trace(events.build(columns))
    >>> result = compare(trace, trace, steps=(0, 1))
    >>> result[["op", "total_a_ns", "total_b_ns", "difference_ns"]].values.tolist()
    [['MatMul', 5, 20, 15], ['Add', 5, 7, 2]]
    """
    if by not in GROUPINGS:
        raise ValueError(Text("not_one_of", choices=", ".join(GROUPINGS), by=by))
    sides = compared_pair(a, b, steps)
    if by == "line" and any(side.trace.stacks is None for side in sides):
        return cannot_say({by: "str"} | _COLUMNS, Text("no_stacks_in_both"))
    rows = [of_steps(side.trace, side.numbers) for side in sides]
    if not any(map(len, rows)):
        return cannot_say({by: "str"} | _COLUMNS, Text("no_events_in_both"))
    grouped = [_groups(side, by, own) for side, own in zip(sides, rows, strict=True)]
    table = _beside(
        by,
        [
            group_statistics(side.trace, by, own, group)
            if by == "layer" or by == "line"  # noqa: PLR1714 - which mypy understands
            else op_statistics(side.trace, by, side.numbers)
            for side, own, group in zip(sides, rows, grouped, strict=True)
        ],
    )
    for letter, side in zip(SIDES, sides, strict=True):
        own = table[f"self_{letter}_ns"].to_numpy(np.float64, na_value=np.nan)
        table[f"step_{letter}_ns"] = own / side.unit_count
    table["difference_ns"] = table["total_b_ns"] - table["total_a_ns"]
    table["self_difference_ns"] = table["self_b_ns"] - table["self_a_ns"]
    table["step_difference_ns"] = table["step_b_ns"] - table["step_a_ns"]
    table["ratio"] = ratio_of(table["total_b_ns"], table["total_a_ns"])
    table["change"] = _changes(table)
    times = [
        _step_times(side.trace, own, group, table[f"longest_{letter}"])
        for letter, side, own, group in zip(SIDES, sides, rows, grouped, strict=True)
    ]
    add_differences(table, sides, times, table["self_difference_ns"].isna().to_numpy())
    by_step = table["step_difference_ns"].abs().fillna(-1).to_numpy()
    order = np.lexsort((-table["difference_ns"].abs().to_numpy(), -by_step))
    table = table.loc[order, [by, *_COLUMNS]].reset_index(drop=True)
    table.attrs["steps"] = tuple(side.unit_count for side in sides)
    return table


def _groups(side: ComparedSteps, by: str, rows: np.ndarray) -> Groups:
    """Return the groups of events of a side."""
    trace = side.trace
    if by == "layer":
        layer, _ = event_layers(trace)
        return labelled_groups(
            trace, rows, np.asarray(layer.indices)[rows].astype(np.int64), layer.dictionary
        )
    if by == "line":
        lines = np.append(trace.stacks.own_lines() if trace.stacks is not None else [], "")
        number, distinct = pd.factorize(lines)
        return labelled_groups(
            trace, rows, number[event_stacks(trace)[rows]], pa.array(distinct, pa.string())
        )
    return groups(trace, by, rows, side.numbers)


def _step_times(trace: Trace, rows: np.ndarray, group: Groups, longest: pd.Series) -> StepTimes:
    """Return the self time and the row of each event; `longest` has an event of each row."""
    row_of_group = np.full(len(group.keys), -1)
    there = longest.notna().to_numpy()
    event = longest.to_numpy(np.int64, na_value=-1)[there]
    row_of_group[group.of_row[np.searchsorted(rows, event)]] = np.flatnonzero(there)
    own, known = self_times_of(trace)
    step = trace.events["step"].to_numpy(np.int64)[rows]
    return StepTimes(row_of_group[group.of_row], step, np.where(known, own, 0)[rows])


def _beside(by: str, tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the figures of both sides next to each other, 0 for missing ones."""
    key = [by, "kind", "side"]
    parts = [
        table.astype({"kind": str, "side": str, "count": "Int64", "total_ns": "Int64"}) for table in tables
    ]
    parts = [part.set_index(key) for part in parts]
    index = parts[0].index.union(parts[1].index)
    table = pd.DataFrame(index=index)
    for side, part in zip(SIDES, parts, strict=True):
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
