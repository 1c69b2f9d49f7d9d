"""Locks on open files and folders, which the kernel releases when their process ends for any reason."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 5.0
"""How long to wait for others, which take milliseconds each, before continuing without the lock."""


def try_lock(file: int, *, shared: bool = False) -> bool | None:
    """Lock an open file or folder until it is closed; False if others hold it, None if there are no locks.

    It needs no write permission, which read-only file systems never grant, and makes no file.
    """
    try:
        import fcntl

        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows, or a file system without locks
        return None
    return True


@contextmanager
def locked_folder(path: Path) -> Iterator[bool]:
    """Hold the lock of a folder while files there change; yields False without the lock."""
    try:
        folder = os.open(path, os.O_RDONLY)
    except OSError:  # Windows opens no folders, and creating files explains other reasons better
        yield False
        return
    try:
        until = time.monotonic() + PATIENCE_S
        while (locked := try_lock(folder)) is False and time.monotonic() <= until:
            time.sleep(0.005)
        yield bool(locked)
    finally:
        os.close(folder)
