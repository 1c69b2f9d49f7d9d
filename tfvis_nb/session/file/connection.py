"""A connection to an untrusted file, with limits on actions and time."""

import math
import sqlite3
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

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


class Guarded(sqlite3.Connection):
    """A connection that only runs our own statements: none from the file, and none without end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._until = math.inf
        self.reads_only = False
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

    def _is_late(self) -> bool:
        return time.monotonic() > self._until


def opened(path: Path, mode: str, patience_s: float) -> Guarded:
    """Open the database at `path`, in a mode of SQLite's URIs."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=patience_s,
        isolation_level=None,
        check_same_thread=False,
        factory=Guarded,
    )


def _authorized(action: int, *named: str | None) -> int:
    """Reject access from a trigger or view, which is the last argument; sessions have neither."""
    source = named[-1]
    return sqlite3.SQLITE_DENY if source is not None or action in _CHANGES else sqlite3.SQLITE_OK
