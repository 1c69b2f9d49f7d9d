"""Files below the folders that an assistant may use, opened without following links."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Self

from tfvis_nb.reading.sources.files import listed, named_like_trace
from tfvis_nb.reading.sources.remote import is_url
from tfvis_nb.texts import Text

SUPPORTED = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether this system can open files without following links; Windows cannot."""

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | _FLAGS | getattr(os, "O_DIRECTORY", 0)
# Passing through a folder does not need the permission to list it.
_PASSED = _FOLDER | getattr(os, "O_PATH", 0)

_OF_SQLITE = ("-wal", "-shm", "-journal")
"""Ends of the names of files that SQLite keeps next to a session while it is written."""


class Roots:
    """The folders below which files may be opened.

    Each part of a path is opened relative to the part before it and may not be a link, so a link that
    somebody puts there in the meantime is not followed either.

    Parameters
    ----------
    folders
        The folders, without links in their own paths.
    names
        Their paths as users know them, which may lead through links.
    """

    def __init__(self, folders: Sequence[Path], names: Sequence[Path]) -> None:
        self.folders, self.names = folders, names

    @classmethod
    def named(cls, names: Sequence[Path]) -> Self:
        """Return the roots with these paths; links in them are resolved now."""
        return cls([name.resolve() for name in names], [name.absolute() for name in names])

    def open(self, path: str) -> BinaryIO:
        """Open a plain file to read; its ``name`` is the absolute path.

        Raises
        ------
        ValueError
            If it is no path of a file below a root.
        OSError
            If it is missing, is a link or reached through one, or is no plain file.
        """
        if path.endswith(_OF_SQLITE):
            raise ValueError(Text("path_of_sqlite", path=path))
        file, found = self._opened(path, os.O_RDONLY)
        try:
            _check_plain(path, file)
        except BaseException:
            os.close(file)
            raise
        return open(found, "rb", buffering=0, opener=lambda *_: file)

    def create(self, path: str) -> BinaryIO:
        """Create a file to write, in a folder that exists.

        Raises
        ------
        FileExistsError
            If there already is something at the path. Other errors are those of `open`.
        """
        file, found = self._opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        return open(found, "wb", buffering=0, opener=lambda *_: file)

    def has(self, path: str) -> bool:
        """Return whether there is something at a path."""
        try:
            os.close(self._opened(path, os.O_RDONLY)[0])
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    def _opened(self, path: str, flags: int) -> tuple[int, Path]:
        """Open a path with the flags of `os.open` below the first root that has it; return also that path."""
        missing: OSError | None = None
        for candidate in self._candidates(path):
            try:
                return _descriptor(candidate, flags), candidate
            except FileNotFoundError as error:
                missing = error
            except OSError as error:
                if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
                    raise ValueError(Text("path_through_link", path=path)) from None
                if isinstance(error, FileExistsError):
                    raise FileExistsError(Text("path_exists", path=path)) from None
                reason = os.strerror(error.errno or 0).lower()
                raise type(error)(Text("file_unreadable", path=path, reason=reason)) from None
        raise FileNotFoundError(Text("path_missing", path=path, roots=self.listed())) from missing

    def _candidates(self, path: str) -> list[Path]:
        """Return the absolute paths that a path may mean, one for each root."""
        if is_url(path) or "::" in path or "\0" in path:
            raise ValueError(Text("path_not_local", path=path))
        given = Path(os.path.expanduser(path))  # noqa: PTH111 - no error for unknown users
        below = []
        for root, name in zip(self.folders, self.names, strict=True):
            for start in (root, name) if given.is_absolute() else (Path(),):
                if given.is_relative_to(start):
                    below.append(root / given.relative_to(start))
                    break
        if not below or ".." in given.parts:
            raise ValueError(Text("path_outside", path=path, roots=self.listed()))
        return below

    def listed(self) -> str:
        """Name the folders."""
        return ", ".join(map(str, self.folders))


def _descriptor(path: Path, flags: int) -> int:
    with ExitStack() as folders:
        folder = None
        for part in path.parts[:-1]:
            folder = os.open(part, _PASSED, dir_fd=folder)
            folders.callback(os.close, folder)
        return os.open(path.parts[-1], flags | _FLAGS, 0o666, dir_fd=folder)


def _check_plain(path: str, file: int) -> None:
    mode = os.fstat(file).st_mode
    if stat.S_ISDIR(mode):
        names = sorted(filter(named_like_trace, os.listdir(file)))
        raise ValueError(Text("path_of_folder", path=path, files=listed(names) or "none"))
    if not stat.S_ISREG(mode):
        raise ValueError(Text("path_of_no_file", path=path))
