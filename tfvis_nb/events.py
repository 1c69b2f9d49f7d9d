"""The event table: its columns, their dtypes and units, and functions that build and check one.

One row is one recorded execution: an op run by TensorFlow's executor, a GPU
kernel, a copy, a tensor received from another task. Rows are ordered by
``start_ns`` and numbered from 0; that number is the *event id* which the
timeline, the selection and the dataflow edges use.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import kinds
from tfvis_nb.texts import Text

KINDS = kinds.KINDS
"""Kinds of rows. Every row of every format has one of them."""

COLUMNS: dict[str, str] = {
    "step": "int32",
    "task": "category",
    "device": "category",
    "lane": "category",
    "kind": "category",
    "name": "str",
    "op": "category",
    "start_ns": "int64",
    "duration_ns": "int64",
    "scheduled_ns": "Int64",
    "compute_start_ns": "Int64",
    "compute_end_ns": "Int64",
    "thread": "Int64",
    "bytes": "Int64",
    "source": "category",
    "destination": "category",
    "tensor": "str",
    "detail": "str",
}
"""Column name to dtype, in order. Times are epoch nanoseconds, durations nanoseconds, sizes bytes."""

NO_STEP = -1
"""The ``step`` of events outside any step; steps are numbered from 0."""

SHOWN = {"thread": "Thread"}
"""Columns of whole numbers that the details of an event show unformatted, with their labels there."""


def _text_dtype() -> Any:
    """Return the dtype that pandas 3 calls "str"; it has other names in pandas 2.2 and 2.3."""
    try:
        return pd.StringDtype("pyarrow", na_value=np.nan)
    except TypeError:
        return pd.api.types.pandas_dtype("string[pyarrow_numpy]")


LATEST_NS = 4_000_000_000_000_000_000
"""The year 2096 in ns. Times lie between minus and plus this, so differences of two times fit 64 bits."""

MOST_IN_ALL = 1 << 62
"""Limit for the sum of all durations of a table, and of all its bytes; partial sums then stay below it."""

TEXT = _text_dtype()
"""The dtype of the "str" columns: UTF-8 texts in Arrow memory, missing ones NaN."""

_DEFAULTS: dict[str, Any] = {"step": 0, "name": "", "tensor": "", "detail": ""}
_WHERE = ("task", "device", "lane")
TIMES = ("start_ns", "scheduled_ns", "compute_start_ns", "compute_end_ns")
"""Columns of points in time."""
_ONE_BY_ONE = ("step", "kind", "start_ns", "duration_ns")
"""Columns with a value in every row."""

OPTIONAL = tuple(name for name in COLUMNS if name not in {*_WHERE, *_ONE_BY_ONE, "name", "op"})
"""Columns that only some kinds of rows and some files have."""


def build(columns: Mapping[str, Any], *, rows: int | None = None) -> pd.DataFrame:
    """Make an event table from columns, with rows in the given order.

    Parameters
    ----------
    columns
        Column name to values (anything ``pandas.Series`` takes). Columns that are
        left out hold the empty value of their dtype: NA, ``""`` or, for ``step``, 0.
        A task, device, lane or op of None becomes ``""``, which means unknown.
    rows
        Number of rows; needed only when `columns` is empty.

    Returns
    -------
    pandas.DataFrame
        With exactly the columns of `COLUMNS`, not yet sorted.

    Raises
    ------
    ValueError
        If a column is unknown, or one of ``start_ns`` and ``duration_ns`` is missing; if a column has another
        length than the others or invalid values; if a value of ``step``, ``kind``, ``start_ns`` or
        ``duration_ns`` is missing.

    Examples
    --------
    >>> from tfvis_nb import events
    >>> table = events.build({"start_ns": [5, 9], "duration_ns": [3, 1], "name": ["a", "b"]})
    >>> table.loc[1, "name"]
    'b'
    >>> events.build({"start_ns": [5, None], "duration_ns": [3, 1]})
    Traceback (most recent call last):
        ...
    ValueError: column 'start_ns' has no value in row 1
    """
    unknown = sorted(set(columns) - set(COLUMNS))
    if unknown:
        raise ValueError(Text("unknown_column", column=unknown[0], columns=", ".join(COLUMNS)))
    if rows is None:
        missing = [name for name in ("start_ns", "duration_ns") if name not in columns]
        if missing:
            raise ValueError(Text("column_needed", column=missing[0]))
        rows = len(columns["start_ns"])
    index = pd.RangeIndex(rows)
    data = {name: _column(name, dtype, columns.get(name), index) for name, dtype in COLUMNS.items()}
    return pd.DataFrame(data, index=index, copy=False)


def _column(name: str, dtype: str, values: Any, index: pd.RangeIndex) -> pd.Series:
    if values is None:
        if dtype == "category":
            values = pd.Categorical([""]).take(np.zeros(len(index), np.intp))
            return _with_text_categories(pd.Series(values)).set_axis(index)
        empty: pd.Series = pd.Series(_DEFAULTS.get(name, pd.NA), index=index, dtype=_pandas_dtype(dtype))
        return empty
    if len(values) != len(index):
        raise ValueError(Text("column_length", name=name, values=len(values), rows=len(index)))
    try:
        series = _converted(dtype, values, index)
    except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
        _refuse_missing(name, pd.Series(values))
        raise ValueError(Text("column_values", name=name, dtype=dtype, reason=error)) from error
    if name in _ONE_BY_ONE:
        _refuse_missing(name, series)
    elif dtype == "category" and name in (*_WHERE, "op") and (series.cat.codes.to_numpy() < 0).any():
        # Rows without a lane could not be assigned to one.
        series = _with_text_categories(series.astype(object).fillna("").astype("category"))
    return series


def _converted(dtype: str, values: Any, index: pd.RangeIndex) -> pd.Series:
    if dtype == "str" and not isinstance(values, pd.Series):
        # Arrow texts are used directly; an object array would copy them one by one.
        return pd.Series(pd.array(values, dtype=TEXT), index=index, copy=False)
    series = values if isinstance(values, pd.Series) else pd.Series(values, copy=False)
    wanted = _pandas_dtype(dtype)
    series = series if series.dtype == wanted else series.astype(wanted)
    return (_with_text_categories(series) if dtype == "category" else series).set_axis(index)


def _refuse_missing(name: str, series: pd.Series) -> None:
    codes = series.cat.codes.to_numpy() if isinstance(series.dtype, pd.CategoricalDtype) else None
    missing = series.isna().to_numpy() if codes is None else codes < 0
    if missing.any():
        raise ValueError(Text("column_value_missing", name=name, row=int(missing.argmax())))


def _with_text_categories(series: pd.Series) -> pd.Series:
    """Give the categories the dtype `TEXT`, which pandas 3 does itself, so that two tables compare equal."""
    categories = series.cat.categories
    return series if categories.dtype == TEXT else series.cat.rename_categories(categories.astype(TEXT))


def _pandas_dtype(dtype: str) -> Any:
    return TEXT if dtype == "str" else dtype


def order(table: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Order a table by start, longer rows first among equal starts, and renumber it.

    Returns
    -------
    tuple
        The ordered table and, for each of its rows, the previous row number (shape ``(n,)``, int64).

    Examples
    --------
    >>> from tfvis_nb import events
    >>> table, before = events.order(events.build({"start_ns": [9, 5], "duration_ns": [1, 3]}))
    >>> before.tolist()
    [1, 0]
    """
    before = np.lexsort((-table["duration_ns"].to_numpy(), table["start_ns"].to_numpy()))
    return table.take(before).reset_index(drop=True), before


def check(table: pd.DataFrame) -> None:
    """Raise ValueError unless `table` is a well-formed event table.

    Checks the columns, their dtypes, the order of ``start_ns``, that no
    duration is negative, that times, durations and bytes are within `LATEST_NS` and
    `MOST_IN_ALL`, that every ``step`` is `NO_STEP` or a number from 0, that every ``kind`` is one of `KINDS`,
    and that every row has a task, a device and a lane, where ``""`` means unknown.

    Examples
    --------
    >>> from tfvis_nb import events
    >>> events.check(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}))
    """
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise ValueError(Text("columns_missing", columns=", ".join(missing)))
    if list(table.columns) != list(COLUMNS):
        raise ValueError(Text("wrong_columns", columns=list(table.columns), expected=list(COLUMNS)))
    wrong = [name for name, dtype in COLUMNS.items() if table[name].dtype != _pandas_dtype(dtype)]
    if wrong:
        raise ValueError(
            Text("column_dtype", column=wrong[0], dtype=table[wrong[0]].dtype, expected=COLUMNS[wrong[0]])
        )
    if not table["start_ns"].is_monotonic_increasing:
        raise ValueError(Text("rows_unordered"))
    if len(table) and int(table["duration_ns"].min()) < 0:
        raise ValueError(Text("negative_duration", event=int(table["duration_ns"].argmin())))
    if len(table) and int(table["step"].min()) < NO_STEP:
        raise ValueError(
            Text("impossible_step", event=int(table["step"].argmin()), step=int(table["step"].min()))
        )
    _check_sizes(table)
    for name in ("kind", *_WHERE):
        _refuse_missing(name, table[name])
    strange = set(table["kind"].cat.categories[table["kind"].cat.codes.unique()]) - set(KINDS)
    if strange:
        raise ValueError(Text("unknown_kind", kind=min(strange), kinds=", ".join(KINDS)))


def _check_sizes(table: pd.DataFrame) -> None:
    """Reject numbers whose differences or sums exceed 64 bits: they would silently wrap around."""
    for name in TIMES:
        _refuse_beyond(name, table[name], -LATEST_NS, LATEST_NS)
    _refuse_beyond("duration_ns", table["duration_ns"], 0, LATEST_NS - table["start_ns"].to_numpy())
    for name, unit in (("duration_ns", "ns"), ("bytes", "bytes")):
        size = table[name].to_numpy(np.float64, na_value=0)
        if np.abs(size, out=size).sum() > MOST_IN_ALL:
            raise ValueError(
                Text("column_sum_too_large", name=name, most=MOST_IN_ALL, unit=unit, row=int(size.argmax()))
            )


def _refuse_beyond(name: str, series: pd.Series, least: int, most: int | np.ndarray) -> None:
    values = series.to_numpy(np.int64, na_value=0)
    beyond = (values < least) | (values > most)
    if beyond.any():
        row = int(beyond.argmax())
        raise ValueError(Text("impossible_time", name=name, time=values[row], row=row))
