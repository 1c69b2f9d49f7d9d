"""Plain files: read without following links or waiting for pipes, and deleted only where they are.

Folders that we write to are shared with users and other programs: a link, a pipe or a device may have the
name of one of our files. Following a link would read or delete a file that is not ours; opening a pipe may
block forever, and a device may never end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tfvis_nb.texts import Text

_NONBLOCK, _NOFOLLOW = getattr(os, "O_NONBLOCK", 0), getattr(os, "O_NOFOLLOW", 0)  # Windows has neither


def is_plain(path: Path) -> bool:
    """Return whether there is a plain file at `path`, not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return whether there is a folder at `path`, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def open_plain(path: Path, *, follow: bool = False) -> int:
    """Open a plain file to read, and return its descriptor; `follow` allows links to one.

    OSError if it is missing, or is a link, a pipe, a device or a folder.
    """
    _check_plain(path, path.stat() if follow else path.lstat())
    # Another kind of file put there in between must not block this either.
    file = os.open(path, os.O_RDONLY | _NONBLOCK | (0 if follow else _NOFOLLOW))
    try:
        _check_plain(path, os.fstat(file))
    except BaseException:
        os.close(file)
        raise
    return file


def read_plain(path: Path, most: int) -> bytes:
    """Return a plain file of at most `most` bytes; OSError if it is larger, or as in `open_plain`."""
    with os.fdopen(open_plain(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(Text("plain_file_too_large", name=path.name, most=most))
    return data


def delete_plain(folder: Path, name: str) -> None:
    """Delete the plain file `name`, such as ``a/b.json``, below a folder, if there is one.

    Anything else with that name stays, and so does a file that is only reached through a link. Subfolders
    that become empty are deleted, except the outermost.
    """
    path = folder / name
    between = [folder / parent for parent in Path(name).parents][:-1]
    if not is_plain(path) or not all(map(is_folder, between)):
        return
    path.unlink()
    for parent in between[:-1]:
        try:
            parent.rmdir()
        except OSError:
            return


def _check_plain(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(Text("no_plain_file", name=path.name))
