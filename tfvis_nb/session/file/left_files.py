"""Read a session that a killed process left with its log and counts, without changing any of its files.

SQLite would move the log into the session and remove it. Only a process that writes may do that.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tfvis_nb.session.file.companions import file_at, open_plain
from tfvis_nb.session.file.connection import Guarded, is_locked_here, opened, opening
from tfvis_nb.session.file.counters import abandoned, ledgers_beside
from tfvis_nb.session.file.schema import check_schema
from tfvis_nb.texts import Text

_TRIES = 5
"""How often to copy files that others are changing."""

_LOCKED_S = 1.0
_CHUNK = 1 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the log of a session."""
    real = Path(os.path.realpath(path))
    return real.with_name(f"{real.name}-wal")


def is_left(path: Path) -> bool:
    """Whether a session has a log or counts, but no process records into it."""
    if is_locked_here(path):
        return False
    ledgers = ledgers_beside(path)
    for ledger in ledgers:
        with abandoned(ledger) as let_go:
            if not let_go:
                return False
    return bool(ledgers) or file_at(log_of(path)) is not None


def state_of(path: Path) -> tuple[object, ...]:
    """Return a value that differs after each change of a session's file or log."""
    return tuple(_state_of(each) for each in (path, log_of(path)))


def open_copy(path: Path) -> tuple[Guarded, tuple[object, ...]] | None:
    """Open a private copy of a session with its log, and return it with the `state_of` the original.

    The copy has no name once it is open, so nothing of it stays, however this process ends. None if other
    connections keep the files from being copied; OSError if there is no room for the copy.
    """
    with tempfile.TemporaryDirectory(prefix="tfvis-nb-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "session"
        try:
            if (state := _copied(path, copy)) is None:
                return None
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise OSError(Text("no_room_for_copy", path=str(path), folder=tempfile.gettempdir())) from None
        with_log = opened(copy, "rw", 0)
        try:
            check_schema(with_log, path)
            with_log.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            with_log.close()
        connection = opened(copy, "ro&immutable=1", 0)
        try:
            check_schema(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection, state


def close_unchanged(connection: Guarded, path: Path) -> None:
    """Close a connection without moving the log into the session.

    SQLite moves it when the last connection that may write is closed. Another one is, here.
    """
    last = opened(path, "ro", _LOCKED_S)
    try:
        last.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        connection.close()
    finally:
        last.close()


def _copied(path: Path, copy: Path) -> tuple[object, ...] | None:
    """Copy a session and its log as they are at one time, and return their state; None if others use them."""
    for _ in range(_TRIES):
        state = state_of(path)
        # Closing a file drops the locks that SQLite holds on it in this process.
        with opening:
            if is_locked_here(path):
                return None
            _copy(os.open(path, os.O_RDONLY), copy)
        try:
            log = open_plain(log_of(path))
        except FileNotFoundError:
            log_of(copy).unlink(missing_ok=True)
        else:
            _copy(log, log_of(copy))
        if state == state_of(path):
            return state
    return None


def _copy(source: int, target: Path) -> None:
    """Copy a file from its descriptor, which is closed; holes stay holes, whose size is only a claim."""
    with os.fdopen(source, "rb", buffering=0) as file, target.open("wb") as written:
        size = os.fstat(source).st_size
        written.truncate(size)
        for start, end in _parts(source, size):
            file.seek(start)
            written.seek(start)
            left = end - start
            while data := file.read(min(_CHUNK, left)):
                written.write(data)
                left -= len(data)


def _parts(file: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a file that are not holes."""
    if not hasattr(os, "SEEK_DATA"):  # Windows
        yield 0, size
        return
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
            end = os.lseek(file, start, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # the rest is a hole
                return
            start, end = end, size  # this file system knows no holes
        yield start, end


def _state_of(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
