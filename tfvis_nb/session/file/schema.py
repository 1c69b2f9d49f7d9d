"""The tables of a session, and a check that a file has exactly these."""

import functools
import sqlite3
from pathlib import Path

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.errors import DamagedSessionError, damage, is_damage
from tfvis_nb.texts import Text, text_of

APPLICATION = 0x74667673
VERSION = 4
BEFORE_TRACED_RUNS = 1
"""The version of files that do not distinguish traced runs; they are read and continued unchanged."""
BEFORE_LAYERS = 2
"""The version of files that do not keep the layers of models."""
BEFORE_KEPT = 3
"""The version of files that neither list traces to be kept nor have a place for annotations."""

EVERY = 0
"""Stands for all signatures."""

MAGIC = b"SQLite format 3\0"

_TRACED_RUNS = """
        traced INTEGER NOT NULL DEFAULT 0, traced_ns INTEGER NOT NULL DEFAULT 0,"""
_OF_TRACED_RUN = """
        tracing_ns INTEGER, untraced_ns INTEGER, untraced_runs INTEGER NOT NULL DEFAULT 0,
        batch INTEGER,"""
_LAYERS = " layers TEXT,"
# As ALTER TABLE writes it.
_KEEP = ", keep INTEGER"
_KEPT = "CREATE TABLE kept(trace INTEGER PRIMARY KEY, annotations TEXT NOT NULL, views TEXT NOT NULL)"
_ADDED = {
    BEFORE_TRACED_RUNS: (_TRACED_RUNS, _OF_TRACED_RUN, _LAYERS, _KEEP, _KEPT),
    BEFORE_LAYERS: (_LAYERS, _KEEP, _KEPT),
    BEFORE_KEPT: (_KEEP, _KEPT),
}
"""The columns and tables that files of a version lack."""

TABLES = (
    """CREATE TABLE signatures(
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, label TEXT NOT NULL, fetches TEXT NOT NULL,
        targets TEXT NOT NULL, feeds TEXT NOT NULL, options TEXT NOT NULL,
        UNIQUE(kind, fetches, targets, feeds, options))""",
    f"""CREATE TABLE writers(
        id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, pid INTEGER NOT NULL,
        started_ns INTEGER NOT NULL, ended_ns INTEGER{_KEEP})""",
    f"""CREATE TABLE counts(
        writer INTEGER NOT NULL, signature INTEGER NOT NULL, slot INTEGER NOT NULL,
        runs INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
        total_ns INTEGER NOT NULL DEFAULT 0, longest_ns INTEGER NOT NULL DEFAULT 0,
        first_ns INTEGER NOT NULL DEFAULT 0, last_ns INTEGER NOT NULL DEFAULT 0,{_TRACED_RUNS}
        PRIMARY KEY(writer, signature)) WITHOUT ROWID""",
    f"""CREATE TABLE traces(
        id INTEGER PRIMARY KEY AUTOINCREMENT, signature INTEGER NOT NULL, writer INTEGER NOT NULL,
        run INTEGER NOT NULL, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,{_OF_TRACED_RUN}
        format TEXT NOT NULL, epoch_ns INTEGER NOT NULL, size INTEGER NOT NULL, note TEXT NOT NULL,{_LAYERS}
        data BLOB NOT NULL)""",
    "CREATE INDEX newest ON traces(signature, id)",
    """CREATE TABLE rules(
        signature INTEGER PRIMARY KEY, kind TEXT NOT NULL, value REAL NOT NULL)""",
    """CREATE TABLE requests(
        id INTEGER PRIMARY KEY AUTOINCREMENT, signature INTEGER NOT NULL, writer INTEGER)""",
    _KEPT,
    f"PRAGMA application_id = {APPLICATION}",
)

_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


def empty_session(version: int = VERSION) -> Guarded:
    """Return a session in memory with the empty tables of a version."""
    connection = sqlite3.connect(":memory:", isolation_level=None, factory=Guarded)
    connection.set_authorizer(None)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    left_out = _ADDED.get(version, ())
    for statement in TABLES:
        connection.execute(functools.reduce(lambda sql, added: sql.replace(added, ""), left_out, statement))
    connection.execute(f"PRAGMA user_version = {version}")
    return connection


def new_session() -> bytes:
    """Return the contents of a new session's file, in WAL mode."""
    connection = empty_session()
    content = bytearray(connection.serialize())
    connection.close()
    # Bytes 18 and 19 of SQLite's file format, for writing and reading: 2 is WAL, which in-memory databases
    # lack.
    content[18:20] = b"\2\2"
    return bytes(content)


def has_kept(connection: sqlite3.Connection, schema: str = "main") -> bool:
    """Whether a session lists the traces that are kept whatever the limit."""
    return bool(connection.execute(f"PRAGMA {schema}.user_version").fetchone()[0] > BEFORE_KEPT)


def add_kept(connection: Guarded) -> bool:
    """Make a session one that `has_kept`, as part of a transaction in which nobody else records into it.

    False for files of the first two versions, which also lack columns in the middle of a table.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == BEFORE_KEPT:
        with connection.unguarded():
            connection.execute(f"ALTER TABLE writers ADD COLUMN {_KEEP.removeprefix(', ')}")
            connection.execute(_KEPT)
            connection.execute(f"PRAGMA user_version = {VERSION}")
    return bool(version >= BEFORE_KEPT)


def begins_as_session(head: bytes) -> bool:
    """Whether the first bytes of a file (at least 72) are those of a session."""
    return head.startswith(MAGIC) and head[68:72] == APPLICATION.to_bytes(4, "big")


@functools.cache
def _own(version: int) -> frozenset[tuple[str, ...]]:
    connection = empty_session(version)
    try:
        return frozenset(connection.execute(_SCHEMA).fetchall())
    finally:
        connection.close()


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a file is a session before using anything in it.

    TraceFormatError if it is another kind of file or version; DamagedSessionError if it has other tables,
    views or triggers, which would run as if they were ours.
    """
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        statements = connection.execute(f"{_SCHEMA} LIMIT ?", (len(_own(VERSION)) + 1,)).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not is_damage(error):
            raise
        if _begins_as_database(path):
            raise DamagedSessionError(damage(text_of(error)).named(path)) from None
        raise TraceFormatError(Text("no_session", path=path)) from None
    if application != APPLICATION:
        raise TraceFormatError(Text("sqlite_but_no_session", path=path))
    if version not in (*_ADDED, VERSION):
        raise TraceFormatError(Text("session_version", path=path, version=version))
    # As frozensets, because a repaired copy may have another order; there are no duplicates.
    if len(statements) != len(_own(version)) or frozenset(statements) != _own(version):
        raise DamagedSessionError(damage(Text("tables_of_others")).named(path))


def _begins_as_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
