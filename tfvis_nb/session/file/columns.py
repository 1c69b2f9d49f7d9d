"""The columns of counts and traces in a session file; files of earlier versions have fewer."""

import sqlite3
from collections.abc import Iterable

from tfvis_nb.session.file.rows import count, count_or_none
from tfvis_nb.session.file.schema import BEFORE_KEPT, BEFORE_LAYERS, BEFORE_TRACED_RUNS

OF_TRACED_RUN = {
    "tracing_ns": count_or_none,
    "untraced_ns": count_or_none,
    "untraced_runs": count,
    "batch": count_or_none,
}
"""Columns about a traced run other than its time, and their checks."""

_UNKNOWN = dict.fromkeys(("traced", "traced_ns", "untraced_runs"), "0")
_UNKNOWN |= dict.fromkeys(("tracing_ns", "untraced_ns", "batch", "layers", "keep"), "NULL")
"""Replacements in queries of files that lack them."""


def stored(connection: sqlite3.Connection, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that the file has."""
    lacked = _lacked(connection)
    return tuple(column for column in columns if column not in lacked)


def selected(connection: sqlite3.Connection, columns: Iterable[str], schema: str = "main") -> str:
    """Return columns as expressions of a query."""
    lacked = _lacked(connection, schema)
    return ", ".join(_UNKNOWN[column] if column in lacked else column for column in columns)


def _lacked(connection: sqlite3.Connection, schema: str = "main") -> frozenset[str]:
    version = connection.execute(f"PRAGMA {schema}.user_version").fetchone()[0]
    return {
        BEFORE_TRACED_RUNS: frozenset(_UNKNOWN),
        BEFORE_LAYERS: frozenset({"layers", "keep"}),
        BEFORE_KEPT: frozenset({"keep"}),
    }.get(version, frozenset())
