"""Private temporary folders, which do not stay behind if the process that made them dies."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import Self

from tfvis_nb.core.folder_lock import try_lock

PREFIX = "tfvis-nb-held-"
"""How the names of such folders start."""

_MARKER = ".tfvis_nb"
"""A file in each of them, made once its folder is locked."""


class TemporaryFolder:
    """An empty folder that only this user can read; it exists until `close` or the end of the object.

    Its process locks it, and the kernel unlocks it when the process ends, no matter how. Making a folder
    removes the unlocked ones. Process ids would not do: containers may share a temporary folder.

    Attributes
    ----------
    path
        The folder.
    """

    def __init__(self) -> None:
        _remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = _locked(self.path)
        if self._lock is not None:
            (self.path / _MARKER).touch()
        self._closing = weakref.finalize(self, _remove, self.path, self._lock)
        _open.add(self)

    def close(self) -> None:
        """Remove the folder with everything in it."""
        # Finalisers that are called do nothing once Python has run its exit functions.
        if self._closing.detach():
            _remove(self.path, self._lock)

    def leave(self) -> None:
        """Leave the folder to the process from which this one was forked."""
        if self._closing.detach() and self._lock is not None:
            os.close(self._lock)  # the parent's lock remains

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_open: weakref.WeakSet[TemporaryFolder] = weakref.WeakSet()


def _remove(path: Path, lock: int | None) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _locked(path: Path) -> int | None:
    """Lock a folder and return its descriptor; None if another process holds it or there are no locks."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (AttributeError, OSError):  # Windows has no such flags
        return None
    if try_lock(folder):
        return folder
    os.close(folder)
    return None


def _remove_abandoned() -> None:
    """Remove the folders of processes that have ended."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _is_ours(path) and (lock := _locked(path)) is not None:
            _remove(path, lock)


def _is_ours(path: Path) -> bool:
    """Whether a folder was made and marked here by this user."""
    # Anyone can create files, links and folders with this name in the shared temporary folder.
    try:
        folder, marker = path.lstat(), (path / _MARKER).lstat()
    except OSError:
        return False
    is_private = stat.S_ISDIR(folder.st_mode) and stat.S_IMODE(folder.st_mode) == stat.S_IRWXU
    user = os.getuid() if hasattr(os, "getuid") else None  # Windows has no locks, so no markers either
    return is_private and stat.S_ISREG(marker.st_mode) and folder.st_uid == marker.st_uid == user


def _forked() -> None:
    for folder in list(_open):
        folder.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
