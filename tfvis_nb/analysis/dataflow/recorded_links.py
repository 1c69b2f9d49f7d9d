"""Edges that the source itself recorded: which call launched a kernel, who took up whose work."""

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core.trace import Trace


def recorded_links(trace: Trace) -> pd.DataFrame:
    """Return the edges between events that carry the same number: ``source``, ``target``, ``kind``.

    A profiler gives the call that launches a kernel or copy a number, ``launch``, which that kernel
    or copy has as well. What one thread hands to others has a number, ``produced``; those that
    take it up have it as ``consumed``, an edge of kind ``control``.
    """
    source, target = launches(trace)
    produced, consumed = _equal(
        *link_numbers(trace.nested, "produced"), *link_numbers(trace.nested, "consumed")
    )
    return pd.DataFrame(
        {
            "source": np.concatenate([source, produced]),
            "target": np.concatenate([target, consumed]),
            "kind": pd.Categorical(
                ["launch"] * len(source) + ["control"] * len(produced), categories=["launch", "control"]
            ),
        }
    )


def launches(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the call that launched each kernel or copy, and that kernel or copy."""
    rows, numbers = link_numbers(trace.nested, "launch")
    host = (trace.events["kind"] == "host").to_numpy()[rows]
    return _equal(rows[host], numbers[host], rows[~host], numbers[~host])


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
    index = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found = known[index] == wanted
    return source[order[index[found]]], target[found]
