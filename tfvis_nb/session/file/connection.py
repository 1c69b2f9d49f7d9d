"""A connection to an untrusted file, with limits on actions and time."""

import math
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tfvis_nb.session.file.companions import file_at

QUERY_S = 60.0
"""How long a query of a session may take before it is cancelled."""

_STEPS = 100_000
"""Steps of SQLite's virtual machine between checks of the time, a few milliseconds."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_ATTACHED: 1,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 2,
}

_CHANGES = {
    value
    for name, value in vars(sqlite3).items()
    if name.startswith(("SQLITE_CREATE_", "SQLITE_DROP_", "SQLITE_ALTER_")) or name == "SQLITE_RECURSIVE"
}
"""Actions that our statements never take on the tables of a session."""


opening = threading.RLock()
"""Held while a connection is opened, and while a file is read that must have no connection meanwhile."""


class Guarded(sqlite3.Connection):
    """A connection that only runs our own statements: none from the file, and none without end."""

    file: tuple[int, int] | None = None
    """The file that it locks."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._until = math.inf
        # Before the first access to the tables.
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
            self.execute(f"PRAGMA {pragma}").fetchall()
        for limit, most in _LIMITS.items():
            self.setlimit(limit, most)
        if sys.version_info >= (3, 12):
            self.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            self.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
            self.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
        self.set_authorizer(_authorized)
        self.set_progress_handler(self._is_late, _STEPS)
        # Show a damaged name as such rather than hide everything.
        self.text_factory = partial(bytes.decode, errors="replace")

    def allow(self, seconds: float) -> None:
        """Cancel statements that exceed this time, with the error code ``SQLITE_INTERRUPT``."""
        self._until = time.monotonic() + seconds

    @contextmanager
    def unguarded(self) -> Iterator[None]:
        """Allow changes of the tables."""
        self.set_authorizer(None)
        try:
            yield
        finally:
            self.set_authorizer(_authorized)

    def close(self) -> None:
        """Close the file."""
        super().close()
        self.file = None

    def _is_late(self) -> bool:
        return time.monotonic() > self._until


def opened(path: Path, mode: str, patience_s: float) -> Guarded:
    """Open the database at `path`, in a mode of SQLite's URIs."""
    with opening:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=patience_s,
            isolation_level=None,
            check_same_thread=False,
            factory=Guarded,
        )
        if "immutable" not in mode:
            connection.file = file_at(path)
            _locking.add(connection)
        return connection


def is_locked_here(path: Path) -> bool:
    """Whether this process has a connection to the file, whose locks closing any other handle would drop."""
    file = file_at(path)
    return any(connection.file == file for connection in list(_locking))


_locking: weakref.WeakSet[Guarded] = weakref.WeakSet()


def _authorized(action: int, *named: str | None) -> int:
    """Reject access from a trigger or view, which is the last argument; sessions have neither."""
    source = named[-1]
    return sqlite3.SQLITE_DENY if source is not None or action in _CHANGES else sqlite3.SQLITE_OK
