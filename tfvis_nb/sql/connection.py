"""DuckDB connections to the tables of a trace, without access to files, networks or Python variables."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import pandas as pd
import psutil
import pyarrow as pa

from tfvis_nb.core.trace import Trace
from tfvis_nb.sql.views import trace_views
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    import duckdb

_MEMORY_SHARE = 0.25
"""Share of the machine's memory that a query may use."""

_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype()}

_ISOLATION = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # Else FROM finds variables of the caller
    "temp_directory": "",  # By default .tmp in the working directory
}


_CONNECTIONS: weakref.WeakKeyDictionary[Trace, Any] = weakref.WeakKeyDictionary()
"""The connection of each trace that queries share; not in the traces, so that these can be pickled."""


def trace_connection(trace: Trace, against: Trace | None = None) -> duckdb.DuckDBPyConnection:
    """Return a connection to the tables of a trace, also in schema ``b`` if ``a`` has those of a base."""
    tables = {"main": trace_views(trace)}
    if against is not None:
        tables |= {"a": trace_views(against), "b": tables["main"]}
    return connect(tables)


def trace_sql(trace: Trace, query: str, against: Trace | None = None) -> pd.DataFrame:
    """Return the result of one SELECT over the tables of a trace."""
    return frame(select(kept_connection(trace, against), query))


def kept_connection(trace: Trace, against: Trace | None = None) -> duckdb.DuckDBPyConnection:
    """Return the connection that queries of a trace share; a new one for a comparison."""
    if against is not None:
        return trace_connection(trace, against)
    if trace not in _CONNECTIONS:
        # A proxy, because a value that refers to its key would keep it forever.
        _CONNECTIONS[trace] = trace_connection(weakref.proxy(trace))
    connection: duckdb.DuckDBPyConnection = _CONNECTIONS[trace]
    return connection


def connect(
    schemas: Mapping[str, Mapping[str, object]], folder: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """Return a connection in which tables are views, and whose settings are locked.

    Parameters
    ----------
    schemas
        The tables of each schema by name, each a query or an object that DuckDB can register. Queries can
        name tables of ``main`` without the schema.
    folder
        The only folder whose files may be read and, except by `select`, written.

    Raises
    ------
    ImportError
        Without DuckDB.
    """
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(Text("sql_extra_missing")) from error
    memory = f"{psutil.virtual_memory().total * _MEMORY_SHARE / 2**20:.0f}MiB"
    connection = duckdb.connect(":memory:", config={**_ISOLATION, "memory_limit": memory})
    if folder is not None:
        connection.execute("SET allowed_directories = [?]", [f"{folder}/"])
    connection.execute("SET enable_external_access = false")
    for schema, tables in schemas.items():
        if schema != "main":
            connection.execute(f'CREATE SCHEMA "{schema}"')
        for name, table in tables.items():
            if isinstance(table, str):
                connection.execute(f'CREATE VIEW "{schema}"."{name}" AS {table}')
                continue
            # Python's objects can only be registered as temporary views, which have no schema.
            kept = name if schema == "main" else f"{schema}.{name}"
            connection.register(kept, table)
            if schema != "main":
                connection.execute(f'CREATE VIEW "{schema}"."{name}" AS FROM temp."{kept}"')
    connection.execute("SET lock_configuration = true")
    return connection


def select(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    *,
    seconds: float | None = None,
    rows: int | None = None,
) -> pa.Table:
    """Return the result of one SELECT; sums of integers are integers.

    Parameters
    ----------
    connection
        A connection to the tables.
    query
        One statement that returns rows.
    seconds
        A timeout; None for no limit. A running analysis is completed first.
    rows
        Limit on the rows; None for no limit.

    Raises
    ------
    ValueError
        If the query is not one SELECT, or takes longer; ``duckdb.Error`` if it is wrong.
    """
    import duckdb

    if [each.type for each in duckdb.extract_statements(query)] != [duckdb.StatementType.SELECT]:
        raise ValueError(Text("sql_one_select"))
    timer = Timer(seconds or 0, connection.interrupt)
    if seconds is not None:
        timer.start()
    try:
        relation = connection.sql(query)
        table = (relation if rows is None else relation.limit(rows)).to_arrow_table()
    except duckdb.InterruptException as error:
        raise ValueError(Text("sql_too_long", seconds=seconds)) from error
    finally:
        timer.cancel()
    return pa.table([_with_integers(column) for column in table], names=table.column_names)


def is_of_duckdb(error: Exception) -> bool:
    """Return whether DuckDB raised an error; works without DuckDB."""
    return any(each.__module__.partition(".")[0] in {"duckdb", "_duckdb"} for each in type(error).mro())


def _with_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert decimals, the type of DuckDB's sums of integers, to integers if they fit, or to floats."""
    if not pa.types.is_decimal(column.type):
        return column
    try:
        return column.cast(pa.float64() if column.type.scale else pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.float64())


def frame(table: pa.Table) -> pd.DataFrame:
    """Return a result as a DataFrame; integers stay integers if some are null."""
    columns = [
        column.to_pandas(types_mapper=_NULLABLE.get if column.null_count else None) for column in table
    ]
    result: pd.DataFrame = pd.concat(columns, axis="columns")
    return result.set_axis(table.column_names, axis="columns")
