"""Check rows of a session's tables, because SQLite keeps any value in any column."""

import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfvis_nb.session.file.counters import MOST_COUNT
from tfvis_nb.session.file.errors import DamagedSessionError, damage
from tfvis_nb.texts import Text

MOST_TEXT = 1 << 28
"""Maximum characters that one query returns: rows of a crafted file may all share one long text."""

RULES = ("every", "all", "slower")
FORMATS = ("run_metadata", "xspace", "parquet")


def whole(value: Any) -> bool:
    """A whole number."""
    return type(value) is int


def whole_or_none(value: Any) -> bool:
    """A whole number, or nothing."""
    return value is None or type(value) is int


def count(value: Any) -> bool:
    """A count, or nanoseconds of a time or duration."""
    return type(value) is int and 0 <= value <= MOST_COUNT


def count_or_none(value: Any) -> bool:
    """A `count`, or nothing."""
    return value is None or count(value)


def text(value: Any) -> bool:
    """A text."""
    return type(value) is str


def text_or_none(value: Any) -> bool:
    """A text, or nothing."""
    return value is None or type(value) is str


def data(value: Any) -> bool:
    """The bytes of a trace."""
    return type(value) is bytes


def trace_format(value: Any) -> bool:
    """The format of a trace."""
    return value in FORMATS


def rule(value: Any) -> bool:
    """The kind of a rule."""
    return value in RULES


def factor(value: Any) -> bool:
    """The number of a rule."""
    return type(value) in (int, float) and 0 <= value < math.inf


def validate_rows(
    rows: Iterable[tuple[Any, ...]], *checks: Callable[[Any], bool]
) -> Iterator[tuple[Any, ...]]:
    """Yield rows after checking each value of each column.

    DamagedSessionError if a value is invalid, or the texts are too long in total.
    """
    left = MOST_TEXT
    for row in rows:
        for value, check in zip(row, checks, strict=True):
            if not check(value):
                reason = Text("value_of_no_column", type=type(value).__name__)
                raise DamagedSessionError(damage(reason))
            if type(value) is str:
                left -= len(value)
        if left < 0:
            raise DamagedSessionError(damage(Text("texts_too_long")))
        yield row


def numbers_by_signature(connection: sqlite3.Connection, table: str) -> dict[int, int]:
    """Return the number of rows of each signature in a table."""
    query = f"SELECT signature, count(*) FROM {table} GROUP BY signature"  # noqa: S608 - our own names
    return dict(validate_rows(connection.execute(query), whole, count))


def rules_by_signature(connection: sqlite3.Connection) -> dict[int, tuple[str, float]]:
    """Return the rule for automatic traces of each signature."""
    rows = connection.execute("SELECT signature, kind, value FROM rules")
    return {number: (kind, float(value)) for number, kind, value in validate_rows(rows, whole, rule, factor)}


def running_writers(connection: sqlite3.Connection) -> list[int]:
    """Return the processes that have not reported their end."""
    rows = connection.execute("SELECT id FROM writers WHERE ended_ns IS NULL ORDER BY id")
    return [row[0] for row in validate_rows(rows, count)]


def last_number(connection: sqlite3.Connection, table: str) -> int:
    """Return the highest number ever used in a table: numbers of deleted rows are not reused."""
    rows = connection.execute("SELECT seq FROM main.sqlite_sequence WHERE name = ?", (table,))
    return next((int(row[0]) for row in validate_rows(rows, count)), 0)
