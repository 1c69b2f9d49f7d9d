"""Compare the times, or bytes, of any groups of events in the steps of two traces."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.compared_steps import Side, compared_pair
from tfvis_nb.analysis.steps.step_differences import SIDES, StepTimes, add_differences
from tfvis_nb.core.trace import Trace


def compare_groups(
    a: Side, b: Side, keys: Sequence[str], amounts: Callable[[Trace], pd.DataFrame]
) -> pd.DataFrame:
    """Return one row per group of events of two traces, with its difference as in `compare`.

    `amounts` returns a row per event of a trace: the `keys` of its group, its ``step``, and its ``amount``,
    such as its time in ns. Events outside steps count in the sums ``a`` and ``b`` only. If ``task`` is one of
    the keys and both traces have a single one, these match under any names; rows have that of `b`.

    Examples
    --------
    >>> from tfvis_nb import events
    >>> columns = {"start_ns": [0, 9], "duration_ns": [5, 7], "kind": ["op"] * 2, "name": ["x", "y"]}
    >>> trace = Trace(events.build(columns))
    >>> def amounts(trace):
    ...     return trace.events[["name", "step"]].assign(amount=trace.events["duration_ns"])
    >>> compare_groups(trace, trace, ["name"], amounts)[["name", "a", "b"]].values.tolist()
    [['x', 5.0, 5.0], ['y', 7.0, 7.0]]
    """
    sides = compared_pair(a, b, (None, None), "compare_groups")
    parts = [
        amounts(side.trace).dropna(subset="amount").astype(dict.fromkeys(keys, object)) for side in sides
    ]
    if "task" in keys and all(len(set(part["task"])) == 1 for part in parts):
        parts[0]["task"] = parts[1]["task"].iloc[0]
    both = pd.concat(parts, ignore_index=True)
    groups = both.groupby(list(keys), sort=False, dropna=False)
    table = groups.size().index.to_frame(index=False)
    row, step = groups.ngroup().to_numpy(), both["step"].to_numpy(np.int64)
    amount = both["amount"].to_numpy(np.float64)
    times = []
    for letter, own in zip(SIDES, np.split(np.arange(len(both)), [len(parts[0])]), strict=True):
        table[letter] = np.bincount(row[own], amount[own], len(table))
        times.append(StepTimes(row[own], step[own], amount[own]))
    table.attrs["steps"] = tuple(side.unit_count for side in sides)
    if len(table):
        add_differences(table, sides, times, np.zeros(len(table), bool))
    return table
