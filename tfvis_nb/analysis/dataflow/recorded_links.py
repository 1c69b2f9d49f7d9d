"""Edges recorded by the source: launches of kernels, and work handed over between threads."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.nested_columns import FLOWS_IN, FLOWS_OUT
from tfvis_nb.core.trace import Trace


def recorded_links(trace: Trace) -> pd.DataFrame:
    """Return the edges between events that carry the same number: ``source``, ``target``, ``kind``.

    A profiler gives a launching call and its kernel or copy the same number, ``launch``. Work that one thread
    hands to others has a number, ``produced``; the events that take it up have it as ``consumed``. Such a
    pair is an edge of kind ``control``. An arrow of a Chrome trace is a ``flow``.
    """
    produced = _equal(*link_numbers(trace.nested, "produced"), *link_numbers(trace.nested, "consumed"))
    pairs = {"launch": launches(trace), "control": produced, "flow": flows(trace)}
    kind = np.repeat(np.arange(len(pairs), dtype=np.int8), [len(source) for source, _ in pairs.values()])
    return pd.DataFrame(
        {
            "source": np.concatenate([source for source, _ in pairs.values()]),
            "target": np.concatenate([target for _, target in pairs.values()]),
            "kind": pd.Categorical.from_codes(kind, dtype=pd.CategoricalDtype([*pairs])),
        }
    )


def flows(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the events at both ends of arrows in a Chrome trace, except arrows that leave their step."""
    (source, number), (target, wanted) = (_listed(trace.nested, name) for name in (FLOWS_OUT, FLOWS_IN))
    step = trace.events["step"].to_numpy(np.int64)
    code = pd.factorize(np.concatenate([number, wanted]))[0]
    key = code * (int(step.max(initial=0)) + 2) + step[np.concatenate([source, target])] + 1
    return _equal(source, key[: len(source)], target, key[len(source) :])


def launches(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the launching calls, and the kernels or copies they launched."""
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


def _listed(nested: pa.Table | None, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers, and the event of each."""
    if nested is None or name not in nested.column_names:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    lists = nested[name].combine_chunks()
    numbers = pc.list_flatten(lists).cast(pa.int64(), safe=False)
    rows = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    known = numbers.is_valid().to_numpy(zero_copy_only=False)
    return rows[known], numbers.drop_null().to_numpy()


def _equal(
    source: np.ndarray, number: np.ndarray, target: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first source with each target's number; targets without one are left out."""
    if not len(source):
        return source, source
    order = np.argsort(number, kind="stable")
    known = number[order]
    index = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    is_equal = known[index] == wanted
    return source[order[index[is_equal]]], target[is_equal]
