"""Read URLs of file systems known to fsspec, such as buckets, file by file."""

from __future__ import annotations

import errno
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.sources.files import Found, check_count, choose, order
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

# A drive of Windows has one letter; "simplecache::s3://bucket" is a chain of two.
_URL = re.compile(r"[a-z][a-z0-9+.-]+(?:://|::)", re.IGNORECASE)
_HTTP = re.compile(r"(?:^|::)https?://", re.IGNORECASE)
_PACKAGE = re.compile(r"install\W+([\w-]+)", re.IGNORECASE)
_CREDENTIALS = re.compile("credential|auth|permission|forbidden|accessdenied", re.IGNORECASE)
_AHEAD = 4
"""How many files are fetched while another one is read."""
_LONGEST = 200


class Remote(NamedTuple):
    """How URLs are opened: the options of their file system, and whether HTTP is allowed."""

    options: Mapping[str, Any]
    http: bool


class RemoteFile(NamedTuple):
    """A file: its URL, name and content, or the reason why it cannot be read."""

    url: str
    name: str
    data: bytes | OSError


class ListedFile(NamedTuple):
    """A listed file: its URL, path, size, and its time or version of last modification."""

    url: str
    path: str
    size: int
    modified: str


class ListedFiles(NamedTuple):
    """A URL's path, whether it is a pattern, whether it has several files, and the files."""

    path: str
    is_pattern: bool
    several: bool
    files: list[ListedFile]


class RemoteFiles(NamedTuple):
    """The files of a URL: whether it is a folder or a pattern, remarks about the selection, and the files."""

    several: bool
    notes: list[str]
    files: Iterator[RemoteFile]


def is_url(source: object) -> bool:
    """Return whether a source is a URL.

    >>> is_url("s3://bucket/run"), is_url("C:/runs"), is_url("runs/step.pb")
    (True, False, False)
    """
    return isinstance(source, str) and _URL.match(source) is not None


def remote_files(url: str, remote: Remote) -> RemoteFiles:
    """Return the files of a URL, selected like those of a local folder or pattern; they are fetched later.

    Raises
    ------
    OSError
        If the file system has no driver or cannot be reached, or the file does not exist.
    TraceFormatError
        If a folder has no files, or too many.
    ValueError
        If the URL needs HTTP, and that is not allowed.
    """
    system, path, is_pattern = _opened(url, remote)
    with _driver(url):
        found = _found(system, path, is_pattern=is_pattern, every=False)
    if found is None:
        return RemoteFiles(False, [], _fetched(system, [path]))
    _check_any(found, url, is_pattern=is_pattern)
    check_count(url, found.files)
    return RemoteFiles(True, found.notes, _fetched(system, [str(file) for file in found.files]))


def listed(url: str, remote: Remote) -> ListedFiles:
    """Return all files of a URL with their sizes and times, like `files.find` with `every`.

    Errors are those of `remote_files`.
    """
    system, path, is_pattern = _opened(url, remote)
    with _driver(url):
        found = _found(system, path, is_pattern=is_pattern, every=True)
        names = [path] if found is None else [str(file) for file in found.files]
        # The listing is now cached.
        infos = [system.info(name) for name in names]
    if found is not None:
        _check_any(found, url, is_pattern=is_pattern)
    files = [
        ListedFile(str(system.unstrip_protocol(name)), name, info.get("size") or 0, _modified(info))
        for name, info in zip(names, infos, strict=True)
    ]
    return ListedFiles(path, is_pattern, found is not None, files)


def _modified(info: Mapping[str, Any]) -> str:
    """Return a value that changes with the file; each driver has another name for it."""
    names = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")
    return next((str(info[name]) for name in names if info.get(name)), "")


def _opened(url: str, remote: Remote) -> tuple[AbstractFileSystem, str, bool]:
    """Return the file system of a URL, its path there, and whether that is a pattern and no file's name."""
    if _HTTP.search(url) and not remote.http:
        raise ValueError(Text("http_not_allowed", url=url))
    with _driver(url):
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url, **remote.options)
        # Drivers cache listings, but jobs keep writing.
        system.invalidate_cache()
        is_pattern = any(letter in path for letter in "*?[") and not system.exists(path)
    return system, path, is_pattern


def _found(
    system: AbstractFileSystem, path: str, *, is_pattern: bool, every: bool
) -> Found[PurePosixPath] | None:
    """Return the files of a pattern or folder; None for a file."""
    if is_pattern:
        return _of_pattern(system, path, every=every)
    return _of_folder(system, path, every=every) if system.info(path)["type"] == "directory" else None


def _check_any(found: Found[PurePosixPath], url: str, *, is_pattern: bool) -> None:
    if not found.files and is_pattern:
        raise FileNotFoundError(errno.ENOENT, Text("pattern_without_files"), url)
    if not found.files:
        raise TraceFormatError(Text("folder_without_traces", path=url))


def _of_pattern(system: AbstractFileSystem, pattern: str, *, every: bool) -> Found[PurePosixPath]:
    kinds = {name: info["type"] for name, info in system.glob(pattern, detail=True).items()}
    folders = sorted(name for name, kind in kinds.items() if kind == "directory")
    inside = [_of_folder(system, name, every=every) for name in folders]
    files = {PurePosixPath(name) for name, kind in kinds.items() if kind == "file"}
    files = files.union(*(found.files for found in inside))
    return Found(sorted(files, key=order), [note for found in inside for note in found.notes])


def _of_folder(system: AbstractFileSystem, folder: str, *, every: bool) -> Found[PurePosixPath]:
    sizes = {PurePosixPath(name): info["size"] for name, info in system.find(folder, detail=True).items()}
    root = PurePosixPath(folder)
    shown = [file for file in sizes if not any(part.startswith(".") for part in file.relative_to(root).parts)]
    return choose(root, shown, lambda file: sizes[file] or 0, root.parts, every=every)


def _fetched(system: AbstractFileSystem, paths: Sequence[str]) -> Iterator[RemoteFile]:
    """Yield files in order, while the next ones are fetched."""
    with ThreadPoolExecutor(_AHEAD) as pool:
        ahead: deque[tuple[str, Future[bytes]]] = deque()
        try:
            for path in [*paths, *[""] * _AHEAD]:
                if path:
                    ahead.append((path, pool.submit(system.cat_file, path)))
                if ahead and (not path or len(ahead) > _AHEAD):
                    yield _arrived(system, *ahead.popleft())
        finally:
            for _, one in ahead:
                one.cancel()


def _arrived(system: AbstractFileSystem, path: str, content: Future[bytes]) -> RemoteFile:
    url, name = str(system.unstrip_protocol(path)), path.rpartition("/")[2]
    try:
        with _driver(url):
            return RemoteFile(url, name, content.result())
    except OSError as error:
        return RemoteFile(url, name, error)


@contextmanager
def _driver(url: str) -> Iterator[None]:
    """Convert any error of a driver to an OSError that names the URL."""
    try:
        yield
    except FileNotFoundError as error:
        # fsspec 2026.9 raises this for an HTTP server that does not answer.
        if isinstance(error.__cause__, OSError):
            raise OSError(errno.EIO, Text("remote_failed", reason=_briefly(error.__cause__)), url) from None
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url) from None
    except ImportError as error:
        # fsspec imports drivers, and its message names a missing one.
        found = _PACKAGE.search(str(error))
        package = found[1] if found else (error.name or str(error)[:_LONGEST]).partition(".")[0]
        install = "'tfvis-nb[remote]'" if package == "fsspec" else package
        missing = Text("remote_driver_missing", package=package, install=install)
        raise OSError(errno.ENODEV, missing, url) from None
    except Exception as error:  # noqa: BLE001 - each driver has errors of its own
        reason = _briefly(error)
        if isinstance(error, PermissionError) or _CREDENTIALS.search(type(error).__name__):
            raise PermissionError(errno.EACCES, Text("remote_no_access", reason=reason), url) from None
        raise OSError(errno.EIO, Text("remote_failed", reason=reason), url) from None


def _briefly(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST]
