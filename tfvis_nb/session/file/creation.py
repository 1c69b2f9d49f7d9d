"""Create the files of a session, one process at a time, so that leftovers of killed processes are known.

A file has a temporary name until it is complete. A process that creates a file holds a lock on the folder, so
earlier files with such names belong to no running process. A file is only removed if it has such a name and
content written by this package or SQLite.

Nothing is created at a path next to which there are companions of a session: SQLite would take them for those
of the new one, and they may be a user's.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfvis_nb.core.folder_lock import locked_folder
from tfvis_nb.session.file.companions import is_log, read_plain
from tfvis_nb.session.file.counters import NEW_LEDGER, is_ledger, ledgers_beside
from tfvis_nb.session.file.errors import DamagedSessionError
from tfvis_nb.session.file.schema import begins_as_session
from tfvis_nb.texts import Text

NEW = ".new-"
"""The suffix of a session that is being created."""

_NEW_SESSION = re.compile(re.escape(NEW) + r"[0-9a-f]{32}")
_NEW_COUNTS = re.compile(r"-counts[0-9]+" + re.escape(NEW_LEDGER))
_COUNTS = re.compile(r"-counts[0-9]+")
_LOG, _SHARED = "-wal", "-shm"

_HEAD = 100
_SHARED_VERSION = 3_007_000


@contextmanager
def making_files(path: Path) -> Iterator[None]:
    """Create files of the session at `path`, after removing unfinished ones of killed processes."""
    with locked_folder(path.parent) as locked:
        if locked:
            _remove_left(path, deleted=False)
        yield


def remove_companions(path: Path) -> None:
    """Remove what a deleted session left that this process had open, unless there is a new one."""
    with making_files(path):
        if not path.exists():
            _remove_left(path, deleted=True)


def check_new(path: Path) -> None:
    """Check that no file has the name of a companion of a new session; FileExistsError if one has."""
    beside = [path.with_name(path.name + rest) for rest in (_LOG, _SHARED, "-journal")]
    for each in (*beside, *ledgers_beside(path)):
        if os.path.lexists(each):
            raise FileExistsError(Text("in_the_way", path=str(each)))


def _remove_left(path: Path, *, deleted: bool) -> None:
    """Remove leftovers; if that is not permitted, nothing can be created either."""
    name = path.name
    try:
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
        return is_log(head)
    if rest == _SHARED:
        return int.from_bytes(head[:4], "little") == _SHARED_VERSION or not any(head)
    if _NEW_SESSION.fullmatch(rest):
        return not head or begins_as_session(head)
    return is_ledger(head) or (not head and unfinished is not None)
