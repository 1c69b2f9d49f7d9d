"""What is wrong with the file of a session, in words that name it and say what to do."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfvis_nb.core.errors import TraceFormatError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_DAMAGE = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA),
    # Our own statements do none of these to a file of ours: a wrong name, a refused trigger, no end.
    *(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CONSTRAINT),
    *(sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH),
}
_CUT_SHORT = sqlite3.SQLITE_IOERR_SHORT_READ
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


class DamagedSessionError(TraceFormatError):
    """The file was a session, and is damaged, or was made to look like one."""


FILE_ERRORS = (sqlite3.Error, OSError, DamagedSessionError)
"""What the file of a session may be the reason of; all else is a mistake in what was asked."""


def in_words(error: Exception, path: Path) -> str:
    """Say what is wrong with a session's file: `error` is one of `FILE_ERRORS`."""
    name = repr(str(path))
    number = error.errno if isinstance(error, OSError) else None
    code = primary(error)
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    if not _may_be_folder(path.parent):
        return f"there is no folder {str(path.parent)!r} for {path.name!r}: make it, or give another path"
    if isinstance(error, FileNotFoundError):
        return deleted(path)
    if number in _FULL or code == sqlite3.SQLITE_FULL:
        return f"the disk of {name} is full: make room, or record to another one"
    if is_damage(error):
        return f"{path}: {damage(str(error))}"
    if code in _BUSY:
        return f"another process has kept {name} locked for too long: end it, or give another path"
    if number in _FORBIDDEN or code in _UNWRITABLE:
        return f"{name} cannot be written ({reason}): allow it, or give another path"
    # Errors of this package name the file themselves.
    return str(error) if str(path) in str(error) else f"{name}: {reason}"


def deleted(path: Path) -> str:
    """Say that the file is not there any more, and where another is, that this is not it."""
    return (
        f"{str(path)!r} was deleted, emptied or moved while it was recorded into, or replaced by another"
        " file; a new TraceSession begins a new one"
    )


def damage(reason: str) -> str:
    """Say of a damaged file what is left of it."""
    return (
        f"this session is damaged ({reason}), and cannot be read. What is left of it is a copy made by"
        " save(), or a backup; to record again, move the file away or give another path"
    )


def primary(error: Exception) -> int | None:
    """Return SQLite's primary code of an error that is SQLite's, which tells its kind."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_damage(error: Exception) -> bool:
    """Whether SQLite has found the file damaged, or to be no database."""
    # Python raises this in place of SQLite's error, where that names something of the file.
    if isinstance(error, UnicodeDecodeError):
        return True
    return primary(error) in _DAMAGE or getattr(error, "sqlite_errorcode", None) == _CUT_SHORT


def is_busy(error: Exception) -> bool:
    """Whether another process was just writing."""
    return primary(error) in _BUSY


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Raise `DamagedSessionError` where SQLite finds the file damaged."""
    try:
        yield
    except DamagedSessionError as error:
        if str(path) in str(error):
            raise
        raise DamagedSessionError(f"{path}: {error}") from None
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not is_damage(error):
            raise
        raise DamagedSessionError(in_words(error, path)) from None


def _may_be_folder(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass  # it is there, and not to be looked into
    return True
