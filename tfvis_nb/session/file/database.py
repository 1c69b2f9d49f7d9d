"""Create and open the SQLite file of a session.

It uses WAL mode: readers never wait for writers, and transactions survive the process that wrote them, no
matter how it ended.
"""

import os
import sqlite3
import uuid
from pathlib import Path

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.session.file.companions import OWNER_ONLY, check_beside, file_at
from tfvis_nb.session.file.connection import Guarded, opened
from tfvis_nb.session.file.creation import NEW, check_new, making_files
from tfvis_nb.session.file.errors import DamagedSessionError
from tfvis_nb.session.file.left_files import is_left, log_of, open_copy, state_of
from tfvis_nb.session.file.schema import check_schema, new_session
from tfvis_nb.texts import Text

PATIENCE_S = 30.0
"""How long a transaction waits for that of another process. Each takes milliseconds."""

_LOOKS = 5
"""How often to check a file that others are changing before it counts as damaged."""


def connect(path: Path, *, create: bool = False) -> Guarded:
    """Open the session at `path` to write, or create one if there is no file.

    FileNotFoundError if there is no file and none should be created, or no folder; FileExistsError if other
    programs' files have the names of its companions; IsADirectoryError for a folder; TraceFormatError if it
    is another kind of file, or damaged: then it is not written.
    """
    _check_file(path, create=create)
    if create and not path.parent.is_dir():
        raise FileNotFoundError(Text("no_folder_for_session", folder=str(path.parent), name=path.name))
    if create and file_at(path) is None:
        _put_new(path)
    check_beside(path)
    _look(path)
    return _connected(path)


def connect_reader(path: Path) -> tuple[Guarded, tuple[object, ...] | None]:
    """Open the session at `path` to read.

    Return the connection and, if it has a private copy because a killed process left files, the state of the
    original. Errors are those of `connect`.
    """
    _check_file(path, create=False)
    check_beside(path)
    copied = open_copy(path) if is_left(path) else None
    connection, state = copied or (None, None)
    if connection is None:
        whole = file_at(log_of(path)) is None
        try:
            _look(path)
            connection = _connected(path)
        except sqlite3.OperationalError:
            if not whole:
                raise
            # In a read-only folder or on a full disk, there can be no companion files and no writers.
            connection = opened(path, "ro&immutable=1", PATIENCE_S)
            check_schema(connection, path)
    connection.execute("PRAGMA query_only = ON")
    return connection, state


def _check_file(path: Path, *, create: bool) -> None:
    """Check that a path is that of a file, which is not empty unless a session may be created there."""
    if path.is_dir():
        raise IsADirectoryError(Text("session_is_folder", path=str(path)))
    if path.exists() and not path.is_file():
        raise TraceFormatError(Text("session_is_device", path=path))
    if create:
        return
    if not path.exists():
        raise FileNotFoundError(Text("no_such_session", path=str(path)))
    if path.stat().st_size == 0:
        raise TraceFormatError(Text("session_empty", path=path))


def _connected(path: Path) -> Guarded:
    connection = opened(path, "rw", PATIENCE_S)
    try:
        check_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    # Not for every transaction: a crash of the machine may lose the last ones, but never the file.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _look(path: Path) -> None:
    """Check the file read-only: opening it for writing would merge its companion files."""
    for look in range(_LOOKS):
        # Without a log it has no writers, and reading it needs no companion files.
        alone, before = file_at(log_of(path)) is None, state_of(path)
        connection = opened(path, "ro&immutable=1" if alone else "ro", PATIENCE_S)
        try:
            check_schema(connection, path)
        except DamagedSessionError:
            # Unless a job has started and ended since.
            if look == _LOOKS - 1 or state_of(path) == before:
                raise
        else:
            return
        finally:
            connection.close()


def _put_new(path: Path) -> None:
    """Create a new session atomically, because other processes may wait for the file."""
    with making_files(path):
        if file_at(path) is not None:
            return
        try:
            check_new(path)
        except FileExistsError:
            if file_at(path) is None:
                raise
            return  # those of the session of a faster process
        if path.exists():  # an empty file, such as those of `tempfile`
            path.write_bytes(new_session())
            return
        new = path.with_name(f"{path.name}{NEW}{uuid.uuid4().hex}")
        try:
            _write_new(new)
            # Unlike renaming, this does not replace the file of a faster process.
            os.link(new, path)
        except FileExistsError:
            return
        except PermissionError:
            _write_new(path)  # this file system has no links
        finally:
            new.unlink(missing_ok=True)


def _write_new(path: Path) -> None:
    make_private(path)
    path.write_bytes(new_session())


def make_private(path: Path) -> None:
    """Create an empty file that only its owner may read, regardless of the umask."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        if hasattr(os, "fchmod"):  # Windows has other permissions
            os.fchmod(file, OWNER_ONLY)
    finally:
        os.close(file)


class Transaction:
    """A transaction that may write from its start; an exception rolls it back."""

    def __init__(self, connection: Guarded) -> None:
        self._connection = connection

    def __enter__(self) -> Guarded:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            self._connection.execute("COMMIT")
        elif self._connection.in_transaction:  # a full disk has already ended it
            self._connection.execute("ROLLBACK")
