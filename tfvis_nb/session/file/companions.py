"""Companion files of a session: only opened if plain, and only read up to a limit."""

import os
import stat
from pathlib import Path

from tfvis_nb.core import plain_files
from tfvis_nb.session.file.errors import DamagedSessionError, damage
from tfvis_nb.texts import Text, text_of

OWNER_ONLY = 0o600
"""The permissions of a new session, regardless of the umask, because traces name data and machines."""

LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""The first bytes of SQLite's logs."""

_LOGS = ("-wal", "-shm")
_JOURNAL = "-journal"


def file_at(path: Path) -> tuple[int, int] | None:
    """Return the identity of a file, to notice a replacement; None for a missing or empty one."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_size else None


def open_plain(path: Path) -> int:
    """Open a plain file to read, and return its descriptor.

    DamagedSessionError if it is a link, a pipe or a device, because opening or reading these may block
    forever.
    """
    try:
        return plain_files.open_plain(path)
    except OSError as error:
        if text_of(error).id != "no_plain_file":
            raise
        raise _no_plain_file(path) from None


def read_plain(path: Path, most: int) -> bytes:
    """Return at most the given number of first bytes of a plain file; errors are those of `open_plain`."""
    with os.fdopen(open_plain(path), "rb") as file:
        return file.read(most)


def is_log(head: bytes) -> bool:
    """Whether a file with these first bytes is SQLite's log, or empty."""
    return not head or head.startswith(LOG_MAGIC)


def check_beside(path: Path) -> None:
    """Check the files that SQLite opens with a session.

    DamagedSessionError if one is not a plain file, if the log is no log, which SQLite would overwrite, or if
    there is a journal: sessions have none, but SQLite would apply it.
    """
    path = Path(os.path.realpath(path))
    for name in (*_LOGS, _JOURNAL):
        beside = path.with_name(path.name + name)
        try:
            status = beside.lstat()
            if not stat.S_ISREG(status.st_mode):
                raise _no_plain_file(beside)
            is_foreign = name == _JOURNAL or (name == "-wal" and not is_log(read_plain(beside, 4)))
        except FileNotFoundError:
            continue
        if is_foreign and status.st_size:
            raise DamagedSessionError(damage(Text("companion_of_others", name=beside.name)).named(path))


def _no_plain_file(path: Path) -> DamagedSessionError:
    return DamagedSessionError(damage(Text("no_plain_file", name=path.name)).named(path))
