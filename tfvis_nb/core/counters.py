"""The table of counters: values of a device or a process over time, next to the events of a trace.

A counter has one or more series, such as the bytes of each allocator. A value holds until the next one of its
series.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.events import LATEST_NS, TEXT
from tfvis_nb.texts import Text

SERIES = ("task", "device", "counter", "series", "unit")
"""The columns that together name a series."""

COLUMNS: dict[str, str] = {
    **dict.fromkeys(SERIES, "category"),
    "time_ns": "int64",
    "value": "float64",
}
"""Column name to dtype, in order. Times are epoch nanoseconds."""

POWER, ENERGY, SM_CLOCK, THROTTLED = "power", "energy", "SM clock", "throttled"
"""Counters of GPUs that recordings have: W, J since the first value, MHz, and 1 while clocks are lowered."""
RESIDENT, ALLOCATED = "resident memory", "allocated"
"""Counters of recordings: bytes of the process, and those that a framework uses of a device."""
REASONS = (
    "power cap",
    "sync boost",
    "heat",
    "power brake",
    "board limit",
    "reliability",
    "hardware slowdown",
)
"""Why they are lowered: the series of `THROTTLED`."""
OF_MACHINE = frozenset(
    (
        *(POWER, ENERGY, SM_CLOCK, THROTTLED, "temperature", "memory in use", "utilization"),
        *(RESIDENT, ALLOCATED, "TensorFlow", "JAX", "maximum", "memory", "W", "J", "MHz", "°C", *REASONS),
    )
)
"""The counters, series and units of samples of the machine, which name nothing of the program."""

_PERCENT = re.compile(r"(?:^|[^a-z])(?:pct|percent)(?:[^a-z]|$)", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"\(([^()]{1,12})\)\s*$")
_BYTES = re.compile(r"(?:^|[^a-z])bytes$", re.IGNORECASE)


def build(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Make a table of counters, ordered by series and time.

    Parameters
    ----------
    columns
        Column name to values, all of the same length. Omitted text columns are empty. Rows whose value is not
        finite are left out.

    Returns
    -------
    pandas.DataFrame
        With exactly the columns of `COLUMNS`.

    Raises
    ------
    ValueError, TypeError, OverflowError
        If a column has another length or type, or a time is beyond `tfvis_nb.events.LATEST_NS`.

    Examples
    --------
    >>> from tfvis_nb.core import counters
    >>> table = counters.build({"counter": ["queue"] * 2, "time_ns": [9, 5], "value": [1, 3]})
    >>> table[["counter", "time_ns", "value"]].values.tolist()
    [['queue', 5, 3.0], ['queue', 9, 1.0]]
    """
    time = np.asarray(columns.get("time_ns", []), np.int64)
    texts = [_categorical(columns.get(name), len(time)) for name in SERIES]
    numbers = {"time_ns": time, "value": np.asarray(columns.get("value", []), np.float64)}
    table: pd.DataFrame = pd.DataFrame({**dict(zip(SERIES, texts, strict=True)), **numbers})
    table = table[np.isfinite(table["value"].to_numpy())]
    keys = [table[name].cat.codes.to_numpy() for name in SERIES]
    table = table.take(np.lexsort((table["time_ns"].to_numpy(), *reversed(keys)))).reset_index(drop=True)
    check(table)
    return table


def _categorical(values: Any, rows: int) -> pd.Categorical:
    """Make texts a categorical with only the categories that occur, in order; missing texts become empty."""
    if values is None:
        values = pd.Categorical([""]).take(np.zeros(rows, np.intp))
    if not isinstance(values, pd.Categorical):
        values = getattr(values, "array", values)
    if not isinstance(values, pd.Categorical):
        values = pd.Categorical(np.asarray(values, object))
    names = np.array([*map(str, values.categories), ""], object)
    used, code = np.unique(values.codes, return_inverse=True)
    distinct, of_used = np.unique(names[used].astype(object), return_inverse=True)
    dtype = pd.CategoricalDtype(pd.Index(distinct, dtype=TEXT))
    return pd.Categorical.from_codes(of_used[code].astype(np.int32), dtype=dtype)


def check(table: pd.DataFrame) -> None:
    """Raise ValueError unless `build` could have made this table; only the order of its rows may differ.

    >>> check(EMPTY)
    """
    if list(table.columns) != list(COLUMNS):
        raise ValueError(Text("wrong_columns", columns=list(table.columns), expected=list(COLUMNS)))
    for name, dtype in COLUMNS.items():
        if table[name].dtype != dtype:
            raise ValueError(Text("column_dtype", column=name, dtype=table[name].dtype, expected=dtype))
    time = table["time_ns"].to_numpy()
    beyond = (time < -LATEST_NS) | (time > LATEST_NS)
    if beyond.any():
        row = int(beyond.argmax())
        raise ValueError(Text("impossible_time", name="time_ns", time=time[row], row=row))


EMPTY = build({})
"""A table without rows."""


def joined(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate several tables of counters."""
    filled = [table for table in tables if len(table)]
    if len(filled) <= 1:
        return filled[0] if filled else EMPTY
    columns: dict[str, Any] = {
        name: pd.api.types.union_categoricals([table[name] for table in filled])
        if dtype == "category"
        else np.concatenate([table[name].to_numpy() for table in filled])
        for name, dtype in COLUMNS.items()
    }
    return build(columns)


def series_starts(table: pd.DataFrame) -> np.ndarray:
    """Return the first row of each series of an ordered table (int64)."""
    codes = np.stack([table[name].cat.codes.to_numpy() for name in SERIES])
    first = np.ones(len(table), bool)
    first[1:] = (codes[:, 1:] != codes[:, :-1]).any(axis=0)
    return np.flatnonzero(first)


def within(table: pd.DataFrame, start_ns: int, end_ns: int) -> pd.DataFrame:
    """Return the values that hold between `start_ns` and `end_ns`; earlier times become `start_ns`.

    >>> table = build({"counter": ["a"] * 3, "time_ns": [1, 5, 9], "value": [1, 2, 3]})
    >>> within(table, 6, 8)[["time_ns", "value"]].values.tolist()
    [[6.0, 2.0]]
    """
    time = table["time_ns"].to_numpy()
    until = np.append(time[1:], LATEST_NS)[: len(time)]
    until[series_starts(table)[1:] - 1] = LATEST_NS
    kept = table[(time <= end_ns) & (until > start_ns)]
    return kept.assign(time_ns=np.maximum(kept["time_ns"].to_numpy(), start_ns)).reset_index(drop=True)


def growth(table: pd.DataFrame, counter: str, start_ns: np.ndarray, end_ns: np.ndarray) -> np.ndarray:
    """Return by how much all series of a counter have grown together from starts to ends (float64).

    Between two values, a series grows evenly. NaN where no series has values before and after.

    >>> table = build({"counter": ["energy"] * 2, "time_ns": [0, 10], "value": [0, 5]})
    >>> growth(table, "energy", np.array([2, 9]), np.array([4, 11])).tolist()
    [1.0, nan]
    """
    grown = np.full(len(start_ns), np.nan)
    own = table[(table["counter"] == counter).to_numpy()]
    ends = np.append(series_starts(own), len(own))
    time, value = own["time_ns"].to_numpy(np.int64), own["value"].to_numpy(np.float64)
    for first, last in pairwise(ends):
        at, level = time[first:last], value[first:last]
        # Relative times, because float64 has no nanoseconds since 1970.
        before, after = (np.interp(edge - at[0], at - at[0], level) for edge in (start_ns, end_ns))
        known = (start_ns >= at[0]) & (end_ns <= at[-1])
        grown[known] = np.nan_to_num(grown[known]) + (after - before)[known]
    return grown


def unit_of(*names: str) -> str:
    """Return the unit in the name of a counter or series; empty if there is none.

    >>> unit_of("cpu", "bytes"), unit_of("L2 hits (Count)", ""), unit_of("sm.pct_of_peak"), unit_of("queue")
    ('bytes', 'Count', '%', '')
    """
    for name in names:
        if _PERCENT.search(name):
            return "%"
        if _BYTES.search(name):
            return "bytes"
        if match := _IN_PARENTHESES.search(name):
            return match[1]
    return ""
