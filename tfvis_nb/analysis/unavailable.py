"""What an analysis gives when the trace does not hold what it needs: no rows, and the reason.

A figure that cannot be known is not 0. A table without rows says why in
``table.attrs["cannot_say"]``; one that has rows, or none because there is nothing to
report, has no such entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tfvis_nb import events as event_table

_REASON = "cannot_say"


def cannot_say(columns: Mapping[str, str], reason: str) -> pd.DataFrame:
    """Return a table without rows that says why it has none.

    Parameters
    ----------
    columns
        Column name to dtype; ``"str"`` is the dtype of texts.
    reason
        What the trace lacks, as the rest of a sentence that begins with "cannot say, because".

    Raises
    ------
    ValueError
        If no reason is given.

    Examples
    --------
    >>> from tfvis_nb.analysis.unavailable import cannot_say, why_not
    >>> table = cannot_say({"peak_bytes": "int64"}, "the trace has no allocation records")
    >>> len(table), why_not(table)
    (0, 'the trace has no allocation records')
    """
    if not reason:
        raise ValueError("a reason is needed")
    table = pd.DataFrame({name: pd.Series(dtype=_dtype(dtype)) for name, dtype in columns.items()})
    table.attrs[_REASON] = reason
    return table


def why_not(table: pd.DataFrame) -> str:
    """Return why an analysis cannot say anything; empty when it can.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.analysis import why_not
    >>> why_not(pd.DataFrame({"idle_ns": [0]}))
    ''
    """
    return str(table.attrs.get(_REASON, ""))


def _dtype(name: str) -> Any:
    return event_table.TEXT if name == "str" else name
