"""The tables of a trace as views: DuckDB asks for a schema when it plans, and for rows only when it scans."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.trace_tables import table_names

_Source = TypeVar("_Source")

_OWN = ("events", "steps", "annotations")
_NO_TABLE = "overview"
_EVENT, _TRACE = pa.field("event", pa.int64()), pa.field("trace", pa.int64())
_ROOFLINE = pa.schema([(name, pa.large_string()) for name in ("name", "op", "program", "hlo_op")])
"""First columns of ``roofline``: kernels have the first two, instructions the others."""
_NAMES = pa.list_(pa.large_string())
_TYPES = dict.fromkeys(("fetches", "targets", "feeds", "fetch_types", "feed_types"), _NAMES) | {
    "events": pa.list_(pa.int64()),
    "lanes": pa.list_(_NAMES),
}
"""Types of object columns with lists, not text: names of signatures, events and lanes of findings."""
_NUMBERS = {"i": pa.int64(), "u": pa.int64(), "f": pa.float64(), "b": pa.bool_()}


class View:
    """A table with a schema known in advance, whose rows are converted at the first scan and then kept.

    Parameters
    ----------
    schema
        The columns and their types.
    source
        Returns the object with the rows. As long as it is the same object, its rows are not converted again.
    convert
        Returns its rows with that schema.
    """

    def __init__(
        self, schema: pa.Schema, source: Callable[[], _Source], convert: Callable[[_Source], pa.Table]
    ) -> None:
        self.schema = schema
        self._rows_of = convert
        self._source_of = source
        self._kept: tuple[object, pa.Table] | None = None
        self._lock = Lock()

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        # DuckDB may scan one table from several threads.
        with self._lock:
            source = self._source_of()
            if self._kept is None or self._kept[0] is not source:
                self._kept = source, self._rows_of(source)
            return self._kept[1].__arrow_c_stream__(requested_schema)


def trace_views(trace: Trace) -> dict[str, View]:
    """Return a view of each table of a trace, by the name of its attribute.

    ``events`` also has the column ``event``, the number of the row.
    """
    return {
        name: View(schema, partial(getattr, trace, name), partial(rows, schema=schema))
        for name, schema in schemas().items()
    }


def views_of_traces(numbers: Callable[[], Sequence[int]], read: Callable[[int], Trace]) -> dict[str, View]:
    """Return a view of each table of several traces, whose first column ``trace`` is the trace's number."""
    last: list[Sequence[int]] = [[]]

    def source() -> Sequence[int]:
        if (now := numbers()) != last[0]:
            last[0] = now
        return last[0]

    def convert(of: Sequence[int], name: str, schema: pa.Schema) -> pa.Table:
        parts = [_numbered(number, rows(getattr(read(number), name), schemas()[name])) for number in of]
        return pa.concat_tables([*parts, schema.empty_table()])

    found = {}
    for name, columns in schemas().items():
        schema = pa.schema([_TRACE, *columns])
        found[name] = View(schema, source, partial(convert, name=name, schema=schema))
    return found


def _numbered(number: int, table: pa.Table) -> pa.Table:
    return table.add_column(0, _TRACE, pa.repeat(pa.scalar(number, _TRACE.type), table.num_rows))


def table_view(table: Callable[[], pd.DataFrame]) -> View:
    """Return a view of a table whose rows may change, but not its columns."""
    schema = _schema(table())
    return View(schema, table, partial(rows, schema=schema))


@cache
def schemas() -> Mapping[str, pa.Schema]:
    """Return the columns of all tables; the same for all traces.

    Examples
    --------
    >>> from tfvis_nb.sql.views import schemas
    >>> schemas()["steps"].names
    ['step', 'start_ns', 'end_ns', 'duration_ns', 'events', 'label', 'joules']
    """
    # An analysis gives its columns and dtypes whatever the events are.
    empty = Trace(event_table.build({"start_ns": [], "duration_ns": [], "kind": []}))
    names = [*_OWN, *(name for name in table_names().values() if name != _NO_TABLE)]
    found = {name: _schema(getattr(empty, name)) for name in names}
    found["events"] = pa.schema([_EVENT, *found["events"]])
    rest = [field for field in found["roofline"] if field.name not in _ROOFLINE.names]
    return found | {"roofline": pa.schema([*_ROOFLINE, *rest])}


def _schema(table: pd.DataFrame) -> pa.Schema:
    return pa.schema([(str(name), _type(str(name), column.dtype)) for name, column in table.items()])


def _type(name: str, dtype: Any) -> pa.DataType:
    if isinstance(dtype, pd.CategoricalDtype):
        return pa.dictionary(pa.int32(), pa.large_string())
    if dtype.kind == "i" and dtype.itemsize == 4:
        return pa.int32()
    if dtype.kind == "O" and not isinstance(dtype, pd.StringDtype):
        return _TYPES.get(name, pa.large_string())
    if dtype.kind == "M":
        return pa.timestamp("ns", "UTC")
    return _NUMBERS.get(dtype.kind, pa.large_string())


def rows(table: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """Convert a table to a schema; a missing ``event`` is the row number, other missing columns are null."""
    columns = {_EVENT.name: np.arange(len(table))} | {
        field.name: _column(table[field.name], field.type) for field in schema if field.name in table
    }
    lacking = pa.nulls(len(table))
    return pa.table([columns.get(field.name, lacking) for field in schema], schema=schema)


def _column(column: pd.Series, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        codes = pa.array(column.cat.codes.to_numpy(), pa.int32(), mask=column.isna().to_numpy())
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.cat.categories, kind.value_type))
    if column.dtype == object and pa.types.is_large_string(kind):
        column = column.map(lambda value: value if isinstance(value, str) else json.dumps(value, default=str))
    return pa.Array.from_pandas(column, type=kind)
