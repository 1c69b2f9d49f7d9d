"""The column of a table with the differences of its rows from those of a base."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.compare_groups import compare_groups
from tfvis_nb.analysis.steps.difference_text import change_texts, share_in_base, untested_text
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import TableColumn

LABEL = "Against the base"
_DEFINITION = (
    "How much longer or shorter the row takes in a typical step than in one of the base, with the 95 %"
    " interval from how much steps vary. A difference that chance explains is not clear."
)
_UNTESTED = "The arithmetic difference per step; nothing shows whether it is more than chance: {reason}."
_EXACT = "The arithmetic difference of {figure} from the same row of the base, of several the largest."
_SHARE = "{figure} in the base; no test covers how much it varies."

Changed = tuple[pd.DataFrame, list[TableColumn]]
"""Rows of a table and, if there is a base with such rows, the column."""


def with_changes(
    rows: pd.DataFrame, changes: pd.DataFrame | None, keys: Sequence[str], a: str = "a", b: str = "b"
) -> Changed:
    """Add the column to rows with the same `keys` as `changes`, which `compare` or a similar function made.

    `a` and `b` are its sums over the steps. Without changes there is no column. Rows that share their keys
    have no difference of their own.
    """
    if changes is None or changes.empty:
        return rows, []
    texts = dict(zip(_keys(changes, keys), change_texts(changes, a, b), strict=True))
    reason = changes.attrs.get("no_interval")
    definition = _UNTESTED.format(reason=reason) if reason else _DEFINITION
    own = [*_keys(rows, keys)]
    count = Counter(own)
    column = TableColumn("against", LABEL, "text", definition)
    return rows.assign(against=[texts.get(key, "") if count[key] == 1 else "" for key in own]), [column]


def with_group_changes(
    rows: pd.DataFrame,
    trace: Trace,
    base: Trace | None,
    keys: Sequence[str],
    amounts: Callable[[Trace], pd.DataFrame],
) -> Changed:
    """Add the column by `compare_groups`, if the base has any such groups."""
    if base is None or rows.empty:
        return rows, []
    changes = compare_groups(base, trace, keys, amounts)
    return with_changes(rows, changes if changes["a"].any() else None, keys)


def with_exact_changes(
    rows: pd.DataFrame, before: pd.DataFrame | None, keys: Sequence[str], figure: str, label: str
) -> Changed:
    """Add the column with the arithmetic difference of a figure, if the base has such rows.

    `label` is the head of the column with the figure.
    """
    if before is None or before.empty:
        return rows, []
    largest = _largest(rows, before, keys, figure)
    pairs = zip(_keys(rows, keys), _numbers(rows[figure]), strict=True)
    texts = [untested_text(largest.get(key, 0), value) for key, value in pairs]
    return rows.assign(against=texts), [_column(_EXACT, label)]


def with_base_shares(
    rows: pd.DataFrame, before: pd.DataFrame | None, keys: Sequence[str], figure: str, label: str
) -> Changed:
    """Add the column with a share of the same row in the base, 0 if only the base lacks the row."""
    if before is None or before.empty:
        return rows, []
    largest = _largest(rows, before, keys, figure)
    texts = [share_in_base(largest.get(key, 0)) for key in _keys(rows, keys)]
    return rows.assign(against=texts), [_column(_SHARE, label)]


def _largest(
    rows: pd.DataFrame, before: pd.DataFrame, keys: Sequence[str], figure: str
) -> dict[tuple[Any, ...], float]:
    """Return the largest value of each row of the base; single tasks match under any names."""
    if "task" in keys and len(set(before["task"])) == len(set(rows["task"])) == 1:
        before = before.assign(task=rows["task"].iloc[0])
    largest: dict[tuple[Any, ...], float] = {}
    for key, value in zip(_keys(before, keys), _numbers(before[figure]), strict=True):
        largest[key] = max(value, largest.get(key, value))
    return largest


def _column(definition: str, label: str) -> TableColumn:
    return TableColumn("against", LABEL, "text", definition.format(figure=label))


def _numbers(column: pd.Series) -> list[float]:
    return column.to_numpy(np.float64, na_value=np.nan).tolist()


def _keys(table: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    columns = [table[name].astype(object).where(table[name].notna(), "").tolist() for name in names]
    return zip(*columns, strict=True)
