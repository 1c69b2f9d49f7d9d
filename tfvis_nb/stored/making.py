"""Making the files of a session, one process at a time, so that those that a killed one left are known.

What is being made has a name of its own until it is whole. Whoever makes something holds a
lock on the folder: under it, what is there under such a name is of nobody who lives.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 5.0
"""How long to wait for others, each of whom takes milliseconds. Then it goes on beside them."""

NEW = ".new-"
"""After the name of a session, in that of one which is being made."""

NEW_LEDGER = ".new"
"""At the end of the name of a ledger which is being made."""


@contextmanager
def making_files(path: Path) -> Iterator[None]:
    """Make files of the session at `path`, after removing those that killed processes have left unfinished.

    Where there is no session, what lies beside it is of one that was deleted, and is removed,
    too: SQLite would take its log for that of the new one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tfvis_nb.stored.making import making_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     left = Path(folder) / "run.tfvis-counts1.new"
    ...     left.touch()
    ...     with making_files(Path(folder) / "run.tfvis"):
    ...         left.exists()
    False
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:  # which the making will tell better
        yield
        return
    try:
        if _locked(folder):
            _remove_left(path)
        yield
    finally:
        os.close(folder)


def _locked(folder: int) -> bool:
    import fcntl

    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
        except OSError:  # a file system without locks
            return False
        else:
            return True


def _remove_left(path: Path) -> None:
    """Remove what is left; where that is not allowed, nothing can be made either."""
    name = path.name
    try:
        deleted = not path.exists()
        for each in path.parent.iterdir():
            if not each.name.startswith(name):
                continue
            rest = each.name[len(name) :]
            unfinished = rest.startswith(NEW) or (rest.startswith("-counts") and rest.endswith(NEW_LEDGER))
            if unfinished or (deleted and (rest in ("-wal", "-shm") or _is_ledger(rest))):
                each.unlink(missing_ok=True)
    except OSError:
        return


def _is_ledger(rest: str) -> bool:
    return rest.startswith("-counts") and rest.removeprefix("-counts").isdigit()
