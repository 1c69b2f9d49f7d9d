"""The column of a table with the differences of its rows from those of a base."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from tfvis_nb.analysis.steps.difference_text import change_texts, untested_text
from tfvis_nb.display.tabs.blocks import TableColumn

LABEL = "Against the base"
_DEFINITION = (
    "How much longer or shorter the row takes in a typical step than in one of the base, with the 95 %"
    " interval from how much steps vary. A difference that chance explains is not clear."
)
_UNTESTED = "The arithmetic difference per step; nothing shows whether it is more than chance: {reason}."
_EXACT = "The arithmetic difference from the same row of the base, of several the largest."


def with_changes(
    rows: pd.DataFrame, changes: pd.DataFrame | None, keys: Sequence[str], a: str = "a", b: str = "b"
) -> tuple[pd.DataFrame, list[TableColumn]]:
    """Add the column to rows with the same `keys` as `changes`, which `compare` or a similar function made.

    `a` and `b` are its sums over the steps. Without changes there is no column.
    """
    if changes is None or changes.empty:
        return rows, []
    texts = dict(zip(_keys(changes, keys), change_texts(changes, a, b), strict=True))
    reason = changes.attrs.get("no_interval")
    definition = _UNTESTED.format(reason=reason) if reason else _DEFINITION
    column = TableColumn("against", LABEL, "text", definition)
    return rows.assign(against=[texts.get(key, "") for key in _keys(rows, keys)]), [column]


def with_exact_changes(
    rows: pd.DataFrame, before: pd.DataFrame | None, keys: Sequence[str], figure: str
) -> tuple[pd.DataFrame, list[TableColumn]]:
    """Add the column with the arithmetic difference of a figure, if the base has such rows."""
    if before is None or before.empty:
        return rows, []
    largest: dict[tuple[Any, ...], float] = {}
    for key, value in zip(_keys(before, keys), before[figure].tolist(), strict=True):
        largest[key] = max(value, largest.get(key, 0))
    pairs = zip(_keys(rows, keys), rows[figure].tolist(), strict=True)
    texts = [untested_text(largest.get(key, 0), value) for key, value in pairs]
    return rows.assign(against=texts), [TableColumn("against", LABEL, "text", _EXACT)]


def _keys(table: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    columns = [table[name].astype(object).where(table[name].notna(), "").tolist() for name in names]
    return zip(*columns, strict=True)
