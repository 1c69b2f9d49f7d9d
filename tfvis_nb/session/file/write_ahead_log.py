"""The file beside a session that takes what is written first, and how long it may get."""

from __future__ import annotations

import time
from pathlib import Path

from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.errors import is_busy

WAL_PAGES = 4000
"""How long the file beside the session gets, 16 MB, before it is moved over; that run waits for the disk."""


MOST_WAL = 64_000_000
"""Bytes of that file from which on nothing is written: somebody reads the session without an end."""

CHECKPOINT_NS = 1_000_000_000
CHECKPOINT_S = 0.05
"""How often to try to move a file over that is too long, and how long to wait for those who read."""


class HeldError(OSError):
    """The file cannot be written for now: another process keeps it."""


class WriteAheadLog:
    """The log of one connection that writes.

    Parameters
    ----------
    path
        The session.
    connection
        Moves the log over into the session from time to time.
    """

    def __init__(self, path: Path, connection: Guarded) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._move_at = 0
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_PAGES * 4096}")

    def is_long(self) -> bool:
        """Whether it is time to move over what is in it, which others have kept from being done."""
        return self._size() > MOST_WAL // 2 and time.monotonic_ns() > self._move_at

    def move_over(self, connection: Guarded) -> None:
        """Move over what is in it and empty it, unless somebody still reads."""
        self._move_at = time.monotonic_ns() + CHECKPOINT_NS
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def check(self) -> None:
        """Raise `HeldError` if it has grown too long, as somebody reads who does not end."""
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
