"""Read tables of an SQLite file in memory, without trusting its schema, its types or its texts."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import numpy as np

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import ends_early
from tfvis_nb.reading.sources.unpacking import Allowance
from tfvis_nb.texts import Text

MISSING = int(np.iinfo(np.int64).min)
"""Stands for an integer that a row or the whole table lacks."""

Columns = dict[str, np.ndarray]

_HEADER = 100
_LONGEST = 1 << 24
"""Bytes of the longest text; names of kernels have some thousands."""
_ROW = 4
"""Bytes of a row without its columns, at least: its place in the page, its size and that of its header."""
_PIECE = 1 << 14
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_PRAGMA)
# A column may hold values of any type, whatever its declaration.
_NUMBER = f"CASE typeof({{0}}) WHEN 'integer' THEN {{0}} ELSE {MISSING} END"
_REAL = "CASE WHEN typeof({0}) IN ('integer', 'real') THEN {0} END"
_TEXT = "CASE typeof({0}) WHEN 'text' THEN {0} END"


class Database:
    """The tables of an open SQLite file: `columns` has the columns of each; views are left out."""

    def __init__(self, connection: sqlite3.Connection, size: int, label: str, allowance: Allowance) -> None:
        self._connection, self._size, self._label, self._allowance = connection, size, label, allowance
        # Virtual tables have no page of their own.
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        names = [name for (name,) in connection.execute(query) if isinstance(name, str)]
        self.columns = {name: self._columns(name) for name in names}

    def _columns(self, table: str) -> list[str]:
        """Return the names of the stored columns; computed ones, which could run code, are left out."""
        quoted = table.replace('"', '""')
        return [str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{quoted}")')]

    def has_rows(self, table: str) -> bool:
        """Return whether a table has a row."""
        quoted = table.replace('"', '""')
        return self._connection.execute(f'SELECT 1 FROM "{quoted}" LIMIT 1').fetchone() is not None  # noqa: S608 - quoted

    def rows(
        self, table: str, numbers: Sequence[str], *, reals: Sequence[str] = (), texts: Sequence[str] = ()
    ) -> Columns:
        """Return columns of all rows of a table; none if it has no such table.

        `numbers` are int64 with `MISSING`, `reals` float64 with NaN, and `texts` objects with None for values
        that are missing or of another type, and for columns that this table does not have.
        """
        wanted: list[tuple[str, str, Any]] = [
            *((name, _NUMBER, np.int64) for name in numbers),
            *((name, _REAL, np.float64) for name in reals),
            *((name, _TEXT, object) for name in texts),
        ]
        pieces: dict[str, list[np.ndarray]] = {name: [np.zeros(0, dtype)] for name, _, dtype in wanted}
        if known := self.columns.get(table):
            terms = [form.format(f'"{name}"' if name in known else "NULL") for name, form, _ in wanted]
            cursor = self._connection.execute(f'SELECT {", ".join(terms)} FROM "{table}"')  # noqa: S608 - our names
            # Damaged pages can be part of a table many times.
            most, count = self._size // (_ROW + len(known)), 0
            while rows := cursor.fetchmany(_PIECE):
                count += len(rows)
                if count > most:
                    raise TraceFormatError(Text("sqlite_rows_repeat", label=self._label, table=table))
                for (name, _, dtype), values in zip(wanted, zip(*rows, strict=True), strict=True):
                    if dtype is object:
                        self._allowance.take(sum(map(len, filter(None, values))), self._label)
                    pieces[name].append(np.array(values, dtype))
        return {name: np.concatenate(parts) for name, parts in pieces.items()}


@contextmanager
def opened(data: Data, label: str, allowance: Allowance) -> Iterator[Database]:
    """Open an SQLite file; TraceFormatError if it is cut off or damaged, also while it is read."""
    head = bytes(data[:_HEADER])
    pages, page = int.from_bytes(head[28:32]), int.from_bytes(head[16:18])
    # The number of pages is only valid if the last program that wrote it knew of it.
    promised = pages * (1 << 16 if page == 1 else page) if head[24:28] == head[92:96] else 0
    if len(data) < max(_HEADER, promised):
        raise TraceFormatError(ends_early(label, "an SQLite database", len(data)))
    if 2 in head[18:20]:
        # A database in memory has no write-ahead log.
        data = b"".join((head[:18], b"\1\1", data[20:]))
    try:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            connection.text_factory = partial(bytes.decode, errors="replace")
            connection.deserialize(data)
            connection.set_authorizer(_authorized)
            yield Database(connection, len(data), label, allowance)
    except sqlite3.Error as error:
        raise TraceFormatError(Text("sqlite_damaged", label=label, reason=error)) from None


def _authorized(action: int, *named: str | None) -> int:
    """Reject everything but reading, and reading by a view or trigger, which is the last argument."""
    reads = action in _READS and named[-1] is None
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY
