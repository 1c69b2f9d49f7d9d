"""The result of an analysis for a trace that lacks the data: no rows, and the reason.

An unknown metric is not 0. If the data is missing, the reason is in ``table.attrs["cannot_say"]``. A table
with rows has no reason, nor has one that is empty because there is nothing to report.
"""

import functools
import html
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.texts import Text

_REASON = "cannot_say"


NONE = Text.stored("", "", {})
"""Nothing is missing."""


class UnavailableTable(pd.DataFrame):
    """A table without rows, which notebooks and terminals show as the reason.

    Operations on it also return such tables; if they have rows, they are shown normally.
    """

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return UnavailableTable

    def __repr__(self) -> str:
        reason = why_not(self)
        return f"Not available: {reason}." if self.empty and reason else super().__repr__()

    def _repr_html_(self) -> str | None:
        reason = why_not(self)
        if self.empty and reason:
            return f"<p>Not available: {html.escape(reason)}.</p>"
        shown: str | None = super()._repr_html_()  # type: ignore[misc]
        return shown


def cannot_say(columns: Mapping[str, str], reason: Text) -> pd.DataFrame:
    """Return a table without rows, with the reason.

    Parameters
    ----------
    columns
        Column name to dtype; ``"str"`` is the dtype of texts.
    reason
        A text from ``unavailable`` in the catalogue, to follow "Not available:".

    Raises
    ------
    ValueError
        If no reason is given.

    Examples
    --------
    >>> from tfvis_nb.analysis.unavailable import cannot_say, why_not
    >>> from tfvis_nb.texts import Text
    >>> table = cannot_say({"peak_bytes": "int64"}, Text("no_steps"))
    >>> len(table), why_not(table)
    (0, 'no event belongs to a step')
    >>> table
    Not available: no event belongs to a step.
    """
    if not reason:
        raise ValueError("a reason is needed")
    table = _empty(tuple(columns.items())).copy()
    table.attrs[_REASON] = reason
    return table


@functools.cache
def _empty(columns: tuple[tuple[str, str], ...]) -> UnavailableTable:
    return UnavailableTable({name: pd.Series(dtype=dtype) for name, dtype in dtypes(dict(columns)).items()})


def dtypes(columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the dtypes of columns for pandas, where ``"str"`` is the dtype of texts."""
    return {name: event_table.TEXT if dtype == "str" else dtype for name, dtype in columns.items()}


def why_not(table: pd.DataFrame) -> Text:
    """Return why an analysis has no rows; empty (false) if nothing is missing.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import why_not
    >>> reason = why_not(Trace(events.build({}, rows=0)).breakdown)
    >>> reason, reason.id
    ('no event belongs to a step', 'no_steps')
    """
    reason: Text = table.attrs.get(_REASON, NONE)
    return reason
