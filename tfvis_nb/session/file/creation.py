"""Making the files of a session, one process at a time, so that leftovers of killed processes are known.

A file has a temporary name until it is complete. A process that makes a file holds a lock on the folder, so
files with such names that are there before belong to no living process. A file is removed only if it has such
a name and the content that this package or SQLite writes.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfvis_nb.core.folder_lock import lock_folder
from tfvis_nb.session.file.companions import read_plain
from tfvis_nb.session.file.counters import NEW_LEDGER, is_ledger
from tfvis_nb.session.file.errors import DamagedSessionError
from tfvis_nb.session.file.schema import begins_as_session

NEW = ".new-"
"""After the name of a session, in that of one which is being made."""

_NEW_SESSION = re.compile(re.escape(NEW) + r"[0-9a-f]{32}")
_NEW_COUNTS = re.compile(r"-counts[0-9]+" + re.escape(NEW_LEDGER))
_COUNTS = re.compile(r"-counts[0-9]+")
_LOG, _SHARED = "-wal", "-shm"

_HEAD = 100
_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_SHARED_VERSION = 3_007_000


@contextmanager
def making_files(path: Path) -> Iterator[None]:
    """Make files of the session at `path`, after removing those that killed processes have left unfinished.

    Without a session, files next to its path are a deleted one's and are also removed: SQLite would take the
    old log for the new session's.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:  # creation reports it better
        yield
        return
    try:
        if lock_folder(folder):
            _remove_left(path)
        yield
    finally:
        os.close(folder)


def in_the_way(path: Path) -> list[Path]:
    """Return foreign files that SQLite would take for companions of a new session, and overwrite."""
    beside = [path.with_name(path.name + rest) for rest in (_LOG, _SHARED, "-journal")]
    return [each for each in beside if os.path.lexists(each)]


def _remove_left(path: Path) -> None:
    """Remove what is left; where that is not allowed, nothing can be made either."""
    name = path.name
    try:
        deleted = not path.exists()
        for each in path.parent.iterdir():
            if each.name.startswith(name) and _is_left(each, each.name[len(name) :], deleted=deleted):
                each.unlink(missing_ok=True)
    except OSError:
        return


def _is_left(path: Path, rest: str, *, deleted: bool) -> bool:
    """Whether a file is ours by the rest of its name and by its content."""
    unfinished = _NEW_SESSION.fullmatch(rest) or _NEW_COUNTS.fullmatch(rest)
    beside = deleted and (rest in (_LOG, _SHARED) or _COUNTS.fullmatch(rest))
    # Files next to an existing session are not even opened: closing one would drop this process's locks on
    # it, and the next process to open the session would truncate it under us.
    if not (unfinished or beside):
        return False
    try:
        head = read_plain(path, _HEAD)
    except (OSError, DamagedSessionError):
        return False
    if rest == _LOG:
        return not head or head.startswith(_LOG_MAGIC)
    if rest == _SHARED:
        return int.from_bytes(head[:4], "little") == _SHARED_VERSION or not any(head)
    if _NEW_SESSION.fullmatch(rest):
        return not head or begins_as_session(head)
    return is_ledger(head) or (not head and unfinished is not None)
