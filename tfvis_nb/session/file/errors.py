"""Errors of session files, with their name and advice."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.texts import Text, text_of

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_DAMAGE = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA),
    # Our statements never cause these on our files: a wrong name, a rejected trigger, an endless query.
    *(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_CONSTRAINT),
    *(sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH),
}
_CUT_SHORT = sqlite3.SQLITE_IOERR_SHORT_READ
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


class DamagedSessionError(TraceFormatError):
    """The file is a damaged session, or was crafted to look like one."""


FILE_ERRORS = (sqlite3.Error, OSError, DamagedSessionError)
"""Errors that a session file may cause; all others are mistakes in a request."""


def in_words(error: Exception, path: Path) -> Text:
    """Describe the problem of a session file: `error` is one of `FILE_ERRORS`."""
    name = repr(str(path))
    number = error.errno if isinstance(error, OSError) else None
    code = primary(error)
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    if not _may_be_folder(path.parent):
        return Text("folder_missing", folder=str(path.parent), name=path.name)
    if isinstance(error, FileNotFoundError):
        return deleted(path)
    if number in _FULL or code == sqlite3.SQLITE_FULL:
        return Text("disk_full", name=name)
    if is_damage(error):
        return damage(text_of(error)).named(path)
    if code in _BUSY:
        return Text("locked_too_long", name=name)
    if number in _FORBIDDEN or code in _UNWRITABLE:
        return Text("session_unwritable", name=name, reason=reason)
    # Errors of this package already name the file.
    return text_of(error) if str(path) in str(error) else Text("session_failed", name=name, reason=reason)


def deleted(path: Path) -> Text:
    """State that the file no longer exists, or that another one has replaced it."""
    return Text("session_deleted", path=str(path))


def damage(reason: str) -> Text:
    """Describe the damage of a session file."""
    return Text("session_damaged", reason=reason)


def primary(error: Exception) -> int | None:
    """Return the primary code of an SQLite error, which identifies its kind."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def is_damage(error: Exception) -> bool:
    """Whether SQLite found that the file is damaged or not a database."""
    # Python raises this instead of SQLite's error if that contains names from the file.
    if isinstance(error, UnicodeDecodeError):
        return True
    return primary(error) in _DAMAGE or getattr(error, "sqlite_errorcode", None) == _CUT_SHORT


def is_busy(error: Exception) -> bool:
    """Whether another process was writing."""
    return primary(error) in _BUSY


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Raise `DamagedSessionError` if SQLite finds the file damaged."""
    try:
        yield
    except DamagedSessionError as error:
        if str(path) in str(error):
            raise
        raise DamagedSessionError(text_of(error).named(path)) from None
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
        pass  # it exists but cannot be read
    return True
