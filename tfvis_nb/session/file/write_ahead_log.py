"""The write-ahead log of a session, and the limit of its length."""

import time
from pathlib import Path

from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.errors import is_busy

WAL_PAGES = 4000
"""The length of the log, 16 MB, from which it is moved into the session; that run waits for the disk."""


MOST_WAL = 64_000_000
"""The size of the log from which nothing more is written, because some reader never ends."""

CHECKPOINT_NS = 1_000_000_000
CHECKPOINT_MS = 50
"""How often to try to move a log that is too long, and how long to wait for readers."""


class HeldError(OSError):
    """The file cannot be written at the moment, because another process holds it."""


class WriteAheadLog:
    """The log of one writing connection.

    Parameters
    ----------
    path
        The session.
    connection
        Used to move the log into the session from time to time.
    """

    def __init__(self, path: Path, connection: Guarded) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._move_at = 0
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_PAGES * 4096}")

    def keep_short(self, connection: Guarded) -> None:
        """Move the log into the session from time to time, if readers have kept SQLite from doing so.

        Readers that arrive during the move only read the session, so it only waits for earlier ones. Near the
        limit it waits as long as a transaction may, because many short overlapping readers must not look like
        an endless one.

        Raises
        ------
        HeldError
            If the log is too long because a reader does not end.
        """
        size, now = self._size(), time.monotonic_ns()
        if size <= MOST_WAL // 2:
            return
        before = connection.execute("PRAGMA busy_timeout").fetchone()[0]
        if size <= MOST_WAL and (before == 0 or now < self._move_at):
            return
        self._move_at = now + CHECKPOINT_NS
        wait = before if size > MOST_WAL else min(CHECKPOINT_MS, before)
        connection.execute(f"PRAGMA busy_timeout = {wait}")
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {before}")
        if self._size() > MOST_WAL:
            raise HeldError(f"another process reads {str(self._path)!r} without an end")

    def _size(self) -> int:
        try:
            return self._log.lstat().st_size
        except OSError:
            return 0


def is_held(error: Exception) -> bool:
    """Whether the file can be written later."""
    return isinstance(error, HeldError) or is_busy(error)
