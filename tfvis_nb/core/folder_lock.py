"""A lock on a folder that one process at a time holds while it changes files there."""

import time

PATIENCE_S = 5.0
"""How long to wait for others, which take milliseconds each, before continuing without the lock."""


def lock_folder(folder: int) -> bool:
    """Lock an open folder until it is closed; False if others hold it or the file system has no locks."""
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
