"""Edges that the source itself recorded: which call launched a kernel, who took up whose work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.core.nested_columns import LINKS

if TYPE_CHECKING:
    import pyarrow as pa

    from tfvis_nb.core.trace import Trace


def recorded_links(trace: Trace) -> pd.DataFrame:
    """Return the edges between events that carry the same number.

    A profiler gives the call that launches a kernel or copy a number, ``launch``, which that kernel
    or copy has too; and what one thread hands to others, ``produced``, a number which those that
    take it up have as ``consumed``.

    Returns
    -------
    pandas.DataFrame
        ``source`` and ``target`` (int64 event ids) and ``kind`` (``launch`` or ``control``).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.dataflow.recorded_links import recorded_links
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 5], "kind": ["host", "kernel"]})
    >>> recorded_links(Trace(table, nested=pa.table({"launch": [7, 7]}))).values.tolist()
    [[0, 1, 'launch']]
    """
    columns = {name: link_numbers(trace.nested, name) for name in LINKS}
    rows, numbers = columns["launch"]
    host = (trace.events["kind"] == "host").to_numpy()[rows]
    source, target = _equal(rows[host], numbers[host], rows[~host], numbers[~host])
    produced, consumed = _equal(*columns["produced"], *columns["consumed"])
    return pd.DataFrame(
        {
            "source": np.concatenate([source, produced]),
            "target": np.concatenate([target, consumed]),
            "kind": pd.Categorical(
                ["launch"] * len(source) + ["control"] * len(produced), categories=["launch", "control"]
            ),
        }
    )


def link_numbers(nested: pa.Table | None, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the events that have a number, and the numbers."""
    if nested is None or name not in nested.column_names:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    column = nested[name]
    rows = np.flatnonzero(column.is_valid().to_numpy())
    return rows, column.drop_null().to_numpy()


def _equal(
    source: np.ndarray, number: np.ndarray, target: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each target the first source with its number; targets without one are left out."""
    if not len(source):
        return source, source
    order = np.argsort(number, kind="stable")
    known = number[order]
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found = known[place] == wanted
    return source[order[place[found]]], target[found]
