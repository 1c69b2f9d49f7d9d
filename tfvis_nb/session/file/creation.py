"""Create the files of a session, one process at a time, so that leftovers of killed processes are known.

A file has a temporary name until it is complete. A process that creates a file holds a lock on the folder, so
earlier files with such names belong to no running process. A file is only removed if it has such a name and
content written by this package or SQLite.
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
"""The suffix of a session that is being created."""

_NEW_SESSION = re.compile(re.escape(NEW) + r"[0-9a-f]{32}")
_NEW_COUNTS = re.compile(r"-counts[0-9]+" + re.escape(NEW_LEDGER))
_COUNTS = re.compile(r"-counts[0-9]+")
_LOG, _SHARED = "-wal", "-shm"

_HEAD = 100
_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_SHARED_VERSION = 3_007_000


@contextmanager
def making_files(path: Path) -> Iterator[None]:
    """Create files of the session at `path`, after removing unfinished ones of killed processes.

    Without a session, files next to its path belong to a deleted one and are also removed: SQLite would take
    the old log for that of the new session.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:  # creating files reports this better
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
    """Remove leftovers; if that is not permitted, nothing can be created either."""
    name = path.name
    try:
        deleted = not path.exists()
        for each in path.parent.iterdir():
            if each.name.startswith(name) and _is_left(each, each.name[len(name) :], deleted=deleted):
                each.unlink(missing_ok=True)
    except OSError:
        return


def _is_left(path: Path, rest: str, *, deleted: bool) -> bool:
    """Whether a file is ours, by the rest of its name and its content."""
    unfinished = _NEW_SESSION.fullmatch(rest) or _NEW_COUNTS.fullmatch(rest)
    beside = deleted and (rest in (_LOG, _SHARED) or _COUNTS.fullmatch(rest))
    # Files next to an existing session are not even opened: closing one would drop this process's locks on
    # it, and the next process to open the session would truncate it while we use it.
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
