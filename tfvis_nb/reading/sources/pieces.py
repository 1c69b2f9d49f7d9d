"""Convert the caller's sources to named bytes: files, bytes, messages, compressed or not."""

import io
import os
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from traceback import clear_frames
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import psutil

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.archive import is_tar, members
from tfvis_nb.reading.sources.damage import briefly
from tfvis_nb.reading.sources.drivers import Remote, most_of
from tfvis_nb.reading.sources.files import check_local_kind, find
from tfvis_nb.reading.sources.public_urls import public_url
from tfvis_nb.reading.sources.remote import is_url, remote_files
from tfvis_nb.reading.sources.unpacking import MOST, Allowance, Budget, unpack
from tfvis_nb.texts import Text, text_of

MESSAGES = ("RunMetadata", "StepStats")


_LARGE, _GREAT = 1 << 22, 1 << 30
_PIECE = 1 << 20
_TABLES = (dict, pd.DataFrame, pd.Series, np.ndarray, np.generic)
"""Iterables that hold no traces."""


class Piece(NamedTuple):
    """Bytes to read, with their name in errors and their name in the picture.

    `message` is their message type, if known. `found_in` is the folder, pattern or archive where they were
    found: the user did not name them, so one that is not a trace does not prevent reading the others.
    """

    label: str
    data: Data
    allowance: Allowance
    title: str = ""
    message: str = ""
    found_in: str = ""


class Skipped(NamedTuple):
    """An unreadable source: only texts, because an error would keep its bytes alive.

    `foreign` marks sources that are clearly not traces.
    """

    label: str
    found_in: str
    reason: str
    briefly: str
    foreign: bool


def skipped(label: str, found_in: str, error: OSError | TraceFormatError) -> Skipped:
    """Keep the text of an error and release the bytes held by its frames, often in a cycle."""
    cause: BaseException | None = error
    while cause is not None:
        clear_frames(cause.__traceback__)
        cause = cause.__context__
    foreign = isinstance(error, TraceFormatError) and error.foreign
    return Skipped(label, found_in, text_of(error), briefly(error, label), foreign)


class Remark(NamedTuple):
    """A remark about the selection of files."""

    note: str


def pieces(source: Any, budget: Budget, remote: Remote) -> Iterator[Piece | Skipped | Remark | Trace]:
    """Yield the steps of `source` one by one, each loaded only when requested.

    `source` is a path or URL, including a folder or with ``*`` in it, an open binary file, bytes, a
    RunMetadata, a StepStats, a Trace, or an iterable of those; TypeError if it is anything else.
    """
    if isinstance(source, Trace):
        yield source
    elif isinstance(source, (str, os.PathLike)):
        if source == "":
            raise ValueError(Text("path_empty"))
        if is_url(source):
            yield from _of_url(str(source), budget, remote)
            return
        yield from _of_files(Path(os.fspath(source)).expanduser(), budget)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        yield from _members(_unpacked(f"{len(data)} bytes", data, budget))
    elif message := _message_name(source):
        label = f"this {message}"
        with gate(label):
            data = source.SerializeToString()
        yield Piece(label, data, budget.of_file(len(data)), message=message)
    elif callable(getattr(source, "read", None)):
        yield from _of_open_file(source, budget)
    elif isinstance(source, Iterable) and not isinstance(source, _TABLES):
        for item in source:
            yield from pieces(item, budget, remote)
    else:
        hint = (
            "; a table like trace.events becomes one by Trace(table)"
            if isinstance(source, pd.DataFrame)
            else ""
        )
        raise TypeError(Text("no_source", type=type(source).__name__, hint=hint))


def _of_open_file(file: Any, budget: Budget) -> Iterator[Piece | Skipped]:
    """Yield the pieces of the unread rest of an open file."""
    name = getattr(file, "name", "")
    name = name if isinstance(name, str) else ""
    data = _rest(file, name or f"this {type(file).__name__}", budget)
    yield from _members(_unpacked(name or f"{len(data)} bytes", data, budget, Path(name).name))


def _rest(file: Any, label: str, budget: Budget) -> bytes:
    """Read an open file. It may unpack what it reads; without a known size, like a pipe, it may never end."""
    if isinstance(file, io.TextIOBase):
        raise TypeError(Text("open_as_text", type=type(file).__name__))
    size = _size_of(file)
    _check_memory(size or 0, label)
    allowance = budget.of_file(size or 0)
    made = io.BytesIO()
    while piece := file.read(_PIECE):
        if not isinstance(piece, (bytes, bytearray, memoryview)):
            raise TypeError(Text("open_as_text", type=type(file).__name__))
        made.write(piece)
        if size is None and made.tell() > (most := most_of(budget)):
            raise TraceFormatError(Text("remote_too_large", label=label, most=most))
        if made.tell() > (size or 0):
            allowance.take(len(piece), label)
    return made.getvalue()


def _size_of(file: Any) -> int | None:
    """Return the size of an open file in memory or on disk; None for a pipe, a device or other streams."""
    if isinstance(file, io.BytesIO):
        return file.getbuffer().nbytes
    try:
        status = os.fstat(file.fileno())
    except (AttributeError, OSError, TypeError, ValueError):
        size = getattr(file, "size", None)
        return min(size, MOST) if isinstance(size, int) else None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _of_files(path: Path, budget: Budget) -> Iterator[Piece | Skipped | Remark]:
    """Yield the pieces of a file, or of the files of a folder or pattern."""
    listing = find(path)
    if listing is None:
        check_local_kind(path)
        yield from _members(_unpacked(str(path), _content(path), budget, path.name))
        return
    yield from map(Remark, listing.notes)
    for file in listing.files:
        try:
            piece = _unpacked(str(file), _content(file), budget, file.name, str(path))
            yield from _members(piece)
        except (OSError, TraceFormatError) as error:
            yield skipped(str(file), str(path), error)


def _of_url(url: str, budget: Budget, remote: Remote) -> Iterator[Piece | Skipped | Remark]:
    """Yield the pieces of a file of another file system, or of the files of its folder or pattern."""
    listing = remote_files(url, remote, budget)
    url = public_url(url)
    yield from map(Remark, listing.notes)
    for file in listing.files:
        try:
            if isinstance(file.data, (OSError, TraceFormatError)):
                raise file.data
            piece = _unpacked(file.url, file.data, budget, file.name, url if listing.several else "")
            yield from _members(piece)
        except (OSError, TraceFormatError) as error:
            if not listing.several:
                raise
            yield skipped(file.url, url, error)


def _unpacked(label: str, data: Data, budget: Budget, title: str = "", found_in: str = "") -> Piece:
    allowance = budget.of_file(len(data))
    with gate(label):
        return Piece(label, unpack(data, label, allowance), allowance, title, found_in=found_in)


def _members(piece: Piece) -> Iterator[Piece | Skipped]:
    """Yield a piece, or its members if it is an archive."""
    if not is_tar(piece.data):
        yield piece
        return
    with gate(piece.label):
        inside = members(piece.data, piece.label)
    if not inside:
        raise TraceFormatError(Text("tar_empty", label=piece.label))
    piece.allowance.take_parts(len(inside), piece.label)
    for member in inside:
        label = f"{piece.label}: {member.name}"
        found_in = piece.found_in or piece.label
        try:
            with gate(label):
                data = unpack(member.data, label, piece.allowance)
        except TraceFormatError as error:
            yield skipped(label, piece.label, error)
            continue
        yield piece._replace(label=label, data=data, title=member.name.rpartition("/")[2], found_in=found_in)


def _message_name(source: Any) -> str:
    """Return ``RunMetadata`` or ``StepStats`` if `source` is one, of any TensorFlow."""
    name = str(getattr(getattr(source, "DESCRIPTOR", None), "full_name", "")).rpartition(".")[2]
    if not hasattr(source, "SerializeToString"):
        return ""
    if name not in MESSAGES:
        raise TypeError(Text("unknown_message", message=name or "message", messages=" or ".join(MESSAGES)))
    return name


def _content(path: Path) -> Data:
    """Read a file into memory allocated by NumPy in large pages, which takes a third of the time."""
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size < _LARGE:
            return file.read()
        view = _allocated(size, path)
        half = size // 2
        # The system can copy for two threads at once.
        with path.open("rb", buffering=0) as other, ThreadPoolExecutor(1) as pool:
            other.seek(half)
            behind = pool.submit(_fill, other, view[half:])
            before = _fill(file, view[:half])
    # The file has become shorter.
    return view[: before + (behind.result() if before == half else 0)]


def _allocated(size: int, path: Path) -> memoryview:
    """Return memory for a whole file; TraceFormatError if there is not enough."""
    _check_memory(size, str(path))
    with gate(str(path)):
        return np.empty(size, np.uint8).data


def _check_memory(size: int, label: str) -> None:
    """Raise TraceFormatError if there is not enough memory for a file.

    A sparse file may have any size. The system would grant more memory than it has, and end the process when
    that is used.
    """
    if size > _GREAT and size > psutil.virtual_memory().available + psutil.swap_memory().free:
        raise TraceFormatError(Text("no_memory", label=label))


def _fill(file: io.FileIO, view: memoryview) -> int:
    """Fill `view`; return the number of bytes read."""
    filled = 0
    while count := file.readinto(view[filled:]):
        filled += count
    return filled
