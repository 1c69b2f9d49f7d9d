"""The SQLite file of a session: its tables, and how it is opened.

It is in WAL mode: a reader never waits for a writer, and what a transaction has written
outlives the process that wrote it, however that ended.
"""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from pathlib import Path

from tfvis_nb.reading.errors import TraceFormatError
from tfvis_nb.stored.faults import DamagedSessionError, damage, is_damage
from tfvis_nb.stored.making import NEW, making_files

_MAGIC = b"SQLite format 3\0"

APPLICATION = 0x74667673
VERSION = 1

PATIENCE_S = 30.0
"""How long a transaction waits for that of another process. Each takes milliseconds."""

EVERY = 0
"""In the place of a signature: all of them."""

TABLES = (
    """CREATE TABLE IF NOT EXISTS signatures(
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, label TEXT NOT NULL, fetches TEXT NOT NULL,
        targets TEXT NOT NULL, feeds TEXT NOT NULL, options TEXT NOT NULL,
        UNIQUE(kind, fetches, targets, feeds, options))""",
    """CREATE TABLE IF NOT EXISTS writers(
        id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, pid INTEGER NOT NULL,
        started_ns INTEGER NOT NULL, ended_ns INTEGER)""",
    """CREATE TABLE IF NOT EXISTS counts(
        writer INTEGER NOT NULL, signature INTEGER NOT NULL, slot INTEGER NOT NULL,
        runs INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
        total_ns INTEGER NOT NULL DEFAULT 0, longest_ns INTEGER NOT NULL DEFAULT 0,
        first_ns INTEGER NOT NULL DEFAULT 0, last_ns INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY(writer, signature)) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS traces(
        id INTEGER PRIMARY KEY AUTOINCREMENT, signature INTEGER NOT NULL, writer INTEGER NOT NULL,
        run INTEGER NOT NULL, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
        format TEXT NOT NULL, epoch_ns INTEGER NOT NULL, size INTEGER NOT NULL, note TEXT NOT NULL,
        data BLOB NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS newest ON traces(signature, id)",
    """CREATE TABLE IF NOT EXISTS rules(
        signature INTEGER PRIMARY KEY, kind TEXT NOT NULL, value REAL NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS requests(
        id INTEGER PRIMARY KEY AUTOINCREMENT, signature INTEGER NOT NULL, writer INTEGER)""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


def connect(path: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open the session at `path`, or create one where there is no file.

    Raises
    ------
    FileNotFoundError
        If there is no such file and none is to be created, or no such folder.
    IsADirectoryError
        If it is a folder.
    TraceFormatError
        If the file is something else, or damaged.
    sqlite3.Error
        If it cannot be opened or written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tfvis_nb.stored.database import connect
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     connection = connect(Path(folder) / "run.tfvis", create=True)
    ...     connection.execute("PRAGMA journal_mode").fetchone()
    ...     connection.close()
    ('wal',)
    """
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: give the path of a session's file in it")
    if not create and not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if create and not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} for {path.name!r}: make it")
    if create and not path.exists():
        _put_new(path)
    whole = file_at(Path(f"{path}-wal")) is None
    connection = _opened(path, "rwc" if create else "rw")
    try:
        _check(connection, path, create=create)
    except sqlite3.OperationalError:
        connection.close()
        if create or not whole:
            raise
        # In a folder that is read-only, or on a full disk, nothing can be kept beside it; nor is it written.
        connection = _opened(path, "ro&immutable=1")
        _check(connection, path, create=False)
    except BaseException:
        connection.close()
        raise
    return connection


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=PATIENCE_S,
        isolation_level=None,
        check_same_thread=False,
    )


def _check(connection: sqlite3.Connection, path: Path, *, create: bool) -> None:
    try:
        empty = not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        if is_damage(error) and _begins_as_database(path):
            raise DamagedSessionError(f"{path}: {damage(str(error))}") from None
        raise TraceFormatError(f"{path}: this is no session of tfvis_nb, which is an SQLite file") from None
    if empty and create:
        _create(connection)
    elif empty and path.stat().st_size == 0:
        raise TraceFormatError(
            f"{path}: this file is empty, and so no session yet; a job that begins to record makes it one"
        )
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise TraceFormatError(f"{path}: this is an SQLite file, but no session of tfvis_nb")
    if version != VERSION:
        raise TraceFormatError(
            f"{path}: this session has version {version}, which this tfvis_nb does not know: update tfvis_nb"
        )
    # Not at every transaction: a crash of the machine may lose the last ones, never the file.
    connection.execute("PRAGMA synchronous = NORMAL")


def _begins_as_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def file_at(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another that is put in its place; None for none, or an empty one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tfvis_nb.stored.database import file_at
    >>> file_at(Path("no-such-run.tfvis")) is None
    True
    """
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_size else None


def empty_session() -> sqlite3.Connection:
    """Return a session in memory that has the tables, and nothing in them.

    Examples
    --------
    >>> from tfvis_nb.stored.database import empty_session
    >>> empty_session().execute("SELECT count(*) FROM traces").fetchone()
    (0,)
    """
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in TABLES:
        connection.execute(statement)
    return connection


def _put_new(path: Path) -> None:
    """Put a new session where there is no file; whole from the first moment, as others may wait for it."""
    new = path.with_name(f"{path.name}{NEW}{uuid.uuid4().hex}")
    with making_files(path):
        if path.exists():
            return
        try:
            connection = _opened(new, "rwc")
            try:
                _create(connection)
            finally:
                connection.close()
            # Unlike renaming, this replaces no file of a process that was faster.
            os.link(new, path)
        except OSError:
            return  # another one was; or there are no links here, and it has to be made in place
        finally:
            new.unlink(missing_ok=True)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            # Another process creates it just now. SQLite does not wait here of itself.
            if not busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
    with Transaction(connection):
        for statement in TABLES:
            connection.execute(statement)


def busy(error: sqlite3.Error) -> bool:
    """Whether another process was just writing."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Transaction:
    """A transaction that has the right to write from its beginning; an exception undoes it.

    Parameters
    ----------
    connection
        A connection that is in no transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:  # a full disk has ended it already
            self._connection.execute("ROLLBACK")
