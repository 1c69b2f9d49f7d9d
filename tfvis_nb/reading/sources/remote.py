"""Read URLs of file systems known to fsspec, such as buckets, file by file."""

from __future__ import annotations

import errno
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.sources import drivers
from tfvis_nb.reading.sources.drivers import Opened, Remote, Transfer, check_kind, opened, within
from tfvis_nb.reading.sources.files import FileListing, check_count, choose, order
from tfvis_nb.reading.sources.public_urls import public_text, public_url
from tfvis_nb.reading.sources.unpacking import Budget
from tfvis_nb.texts import Text, text_of

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

# A drive of Windows has one letter; "simplecache::s3://bucket" is a chain of two.
_URL = re.compile(r"[a-z][a-z0-9+.-]+(?:://|::)", re.IGNORECASE)
_PACKAGE = re.compile(r"install\W+([\w-]+)", re.IGNORECASE)
_CREDENTIALS = re.compile("credential|auth|permission|forbidden|accessdenied", re.IGNORECASE)
_AHEAD = 4
"""How many files are fetched while another one is read."""
_LONGEST = 200


class RemoteFile(NamedTuple):
    """A file: its URL without secrets, name and content, or the reason why it cannot be read."""

    url: str
    name: str
    data: bytes | OSError | TraceFormatError


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


def remote_files(url: str, remote: Remote, budget: Budget) -> RemoteFiles:
    """Return the files of a URL, selected like those of a local folder or pattern; they are fetched later.

    Raises
    ------
    OSError
        If the file system cannot be reached, or the file does not exist.
    ImportError
        If the driver of the file system is not installed.
    TraceFormatError
        If a folder has no files, or too many, or an archive is too large.
    ValueError
        If the URL needs HTTP, and that is not allowed, or has layers that are not read.
    """
    place, is_pattern = _opened(url, remote, budget)
    with driver_errors(url, remote):
        listing = within(drivers.LISTING_S, _found, place, is_pattern, False)
    if listing is None:
        return RemoteFiles(False, [], _fetched(place, [place.path]))
    _check_any(listing, url, is_pattern=is_pattern)
    check_count(public_url(url), listing.files)
    return RemoteFiles(True, listing.notes, _fetched(place, [str(file) for file in listing.files]))


def listed(url: str, remote: Remote) -> ListedFiles:
    """Return all files of a URL with their sizes and times, like `files.find` with `every`.

    Errors are those of `remote_files`.
    """
    place, is_pattern = _opened(url, remote, Budget())
    system, path = place.system, place.path
    with driver_errors(url, remote):
        listing = within(drivers.LISTING_S, _found, place, is_pattern, True)
        names = [path] if listing is None else [str(file) for file in listing.files]
        # The listing is now cached.
        infos = within(drivers.LISTING_S, lambda: [system.info(name) for name in names])
    if listing is not None:
        _check_any(listing, url, is_pattern=is_pattern)
    files = [
        ListedFile(str(system.unstrip_protocol(name)), name, info.get("size") or 0, _modified(info))
        for name, info in zip(names, infos, strict=True)
    ]
    return ListedFiles(path, is_pattern, listing is not None, files)


def _modified(info: Mapping[str, Any]) -> str:
    """Return a value that changes with the file; each driver has another name for it."""
    names = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")
    return next((str(info[name]) for name in names if info.get(name)), "")


def _opened(url: str, remote: Remote, budget: Budget) -> tuple[Opened, bool]:
    """Return the file system of a URL, and whether its path there is a pattern and no file's name."""
    with driver_errors(url, remote):
        place = opened(url, remote, budget)
        wild = any(letter in place.path for letter in "*?[")
        return place, wild and not within(drivers.PATIENCE_S, place.system.exists, place.path)


def _found(place: Opened, is_pattern: bool, every: bool) -> FileListing[PurePosixPath] | None:
    """Return the files of a pattern or folder; None for a file."""
    system, path, *_ = place
    if is_pattern:
        return _of_pattern(system, path, every=every)
    check_kind(system, path)
    return _of_folder(system, path, every=every) if system.info(path)["type"] == "directory" else None


def _check_any(listing: FileListing[PurePosixPath], url: str, *, is_pattern: bool) -> None:
    if not listing.files and is_pattern:
        raise FileNotFoundError(errno.ENOENT, Text("pattern_without_files"), public_url(url))
    if not listing.files:
        raise TraceFormatError(Text("folder_without_traces", path=public_url(url)))


def _of_pattern(system: AbstractFileSystem, pattern: str, *, every: bool) -> FileListing[PurePosixPath]:
    kinds = {name: info["type"] for name, info in system.glob(pattern, detail=True).items()}
    folders = sorted(name for name, kind in kinds.items() if kind == "directory")
    inside = [_of_folder(system, name, every=every) for name in folders]
    files = {PurePosixPath(name) for name, kind in kinds.items() if kind == "file"}
    files = files.union(*(listing.files for listing in inside))
    return FileListing(sorted(files, key=order), [note for listing in inside for note in listing.notes])


def _of_folder(system: AbstractFileSystem, folder: str, *, every: bool) -> FileListing[PurePosixPath]:
    sizes = {
        PurePosixPath(name): info["size"]
        for name, info in system.find(folder, detail=True).items()
        if info["type"] == "file"
    }
    root = PurePosixPath(folder)
    shown = [file for file in sizes if not any(part.startswith(".") for part in file.relative_to(root).parts)]
    return choose(root, shown, lambda file: sizes[file] or 0, root.parts, every=every)


def _fetched(place: Opened, paths: Sequence[str]) -> Iterator[RemoteFile]:
    """Yield files in order, while the next ones are fetched."""
    ahead: deque[tuple[str, Transfer]] = deque()
    try:
        for path in [*paths, *[""] * _AHEAD]:
            if path:
                ahead.append((path, place.fetch(path, _label(place, path))))
            if ahead and (not path or len(ahead) > _AHEAD):
                yield _arrived(place, *ahead.popleft())
    finally:
        for _, one in ahead:
            one.given_up = True


def _label(place: Opened, path: str) -> str:
    return public_url(str(place.system.unstrip_protocol(path)))


def _arrived(place: Opened, path: str, transfer: Transfer) -> RemoteFile:
    url = _label(place, path)
    name = url.rpartition("/")[2]
    try:
        with driver_errors(url, place.remote):
            return RemoteFile(url, name, transfer.content())
    except (OSError, TraceFormatError) as error:
        return RemoteFile(url, name, error)


@contextmanager
def driver_errors(url: str, remote: Remote) -> Iterator[None]:
    """Convert any error of a driver to an OSError that names the URL, without secrets."""
    url = public_url(url)
    try:
        yield
    except (TraceFormatError, MemoryError):
        raise
    except FileNotFoundError as error:
        # fsspec 2026.9 raises this for an HTTP server that does not answer, or too much.
        if isinstance(error.__cause__, TraceFormatError):
            raise error.__cause__ from None
        if isinstance(error.__cause__, TimeoutError):
            raise OSError(errno.ETIMEDOUT, Text("remote_too_slow"), url) from None
        if isinstance(error.__cause__, OSError):
            raise OSError(
                errno.EIO, Text("remote_failed", reason=_briefly(error.__cause__, remote)), url
            ) from None
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url) from None
    except ImportError as error:
        # fsspec imports drivers, and its message names a missing one.
        match = _PACKAGE.search(str(error))
        package = match[1] if match else (error.name or str(error)[:_LONGEST]).partition(".")[0]
        install = "'fsspec>=2024.2'" if package == "fsspec" else package
        missing = Text("remote_driver_missing", package=package, install=install)
        raise ImportError(missing, name=package) from None
    except Exception as error:
        # Each driver has errors of its own.
        said = text_of(error)
        if isinstance(error, ValueError) and said.id:
            raise
        if isinstance(error, OSError) and said.id:
            raise OSError(error.errno or errno.EIO, said, url) from None
        if isinstance(error, TimeoutError):
            raise OSError(errno.ETIMEDOUT, Text("remote_too_slow"), url) from None
        reason = _briefly(error, remote)
        if isinstance(error, PermissionError) or _CREDENTIALS.search(type(error).__name__):
            raise PermissionError(errno.EACCES, Text("remote_no_access", reason=reason), url) from None
        raise OSError(errno.EIO, Text("remote_failed", reason=reason), url) from None


def _briefly(error: BaseException, remote: Remote) -> str:
    return f"{type(error).__name__}: {public_text(' '.join(str(error).split()), remote.options)}"[:_LONGEST]
