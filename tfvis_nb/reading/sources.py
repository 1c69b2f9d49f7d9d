"""What the caller hands in -> bytes with a name: files, bytes, messages, compressed or not."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb._trace import Trace
from tfvis_nb.reading.archives import is_tar, members
from tfvis_nb.reading.damage import ends_early
from tfvis_nb.reading.errors import TraceFormatError
from tfvis_nb.reading.files import find
from tfvis_nb.reading.protowire import Data

MESSAGES = ("RunMetadata", "StepStats")

ACCEPTED = "a path, bytes, a RunMetadata, a StepStats, a Trace, an open binary file, or an iterable of those"

_LARGE = 1 << 22
_TABLES = (dict, pd.DataFrame, pd.Series, np.ndarray, np.generic)
"""What can be iterated over, and holds no traces."""


class Piece(NamedTuple):
    """Bytes to read.

    Attributes
    ----------
    label, title
        The name they go by in errors, and a short one for the picture.
    message
        Their message type, where it is known.
    found_in
        The folder, pattern or archive that they were found in. Nobody named them: one that is
        no trace does not keep the others from being read.
    """

    label: str
    data: Data
    title: str = ""
    message: str = ""
    found_in: str = ""


class Skipped(NamedTuple):
    """What was found and cannot be read: its name, where it was found, and why."""

    label: str
    found_in: str
    error: Exception


class Remark(NamedTuple):
    """What is to be said of the choice of files."""

    note: str


def pieces(source: Any) -> Iterator[Piece | Skipped | Remark | Trace]:
    """Yield the steps of `source` one by one, each loaded only when it is asked for.

    Parameters
    ----------
    source
        A path, also of a folder or with ``*`` in it, an open binary file, bytes, a RunMetadata,
        a StepStats, a Trace, or an iterable of those.

    Raises
    ------
    TypeError
        When it is none of these.
    OSError
        When a file cannot be read.
    TraceFormatError
        When a compressed file is damaged.
    """
    if isinstance(source, Trace):
        yield source
    elif isinstance(source, (str, os.PathLike)):
        if source == "":
            raise ValueError("the path is empty; the current folder is '.'")
        yield from _of_files(Path(os.fspath(source)).expanduser())
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        label = f"{len(data)} bytes"
        yield from _members(Piece(label, unpack(data, label)))
    elif message := _message_name(source):
        yield Piece(f"this {message}", source.SerializeToString(), message=message)
    elif callable(getattr(source, "read", None)):
        yield from _of_open_file(source)
    elif isinstance(source, Iterable) and not isinstance(source, _TABLES):
        for item in source:
            yield from pieces(item)
    else:
        hint = (
            "; a table like trace.events becomes one by Trace(table)"
            if isinstance(source, pd.DataFrame)
            else ""
        )
        raise TypeError(f"cannot read a trace from {type(source).__name__}; give {ACCEPTED}{hint}")


def _of_open_file(file: Any) -> Iterator[Piece | Skipped]:
    """Yield the pieces of what an open file still has to be read."""
    data = b"" if isinstance(file, io.TextIOBase) else file.read()
    if isinstance(file, io.TextIOBase) or not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"{type(file).__name__} is open as text; open the file with mode 'rb', or give its path"
        )
    name = getattr(file, "name", "")
    name = name if isinstance(name, str) else ""
    label = name or f"{len(data)} bytes"
    yield from _members(Piece(label, unpack(bytes(data), label), Path(name).name))


def _of_files(path: Path) -> Iterator[Piece | Skipped | Remark]:
    """Yield the pieces of a file, or of the files of a folder or pattern."""
    found = find(path)
    if found is None:
        yield from _members(Piece(str(path), unpack(_content(path), str(path)), path.name))
        return
    yield from map(Remark, found.notes)
    for file in found.files:
        try:
            data = unpack(_content(file), str(file))
            yield from _members(Piece(str(file), data, file.name, found_in=str(path)))
        except (OSError, TraceFormatError) as error:
            yield Skipped(str(file), str(path), error)


def _members(piece: Piece) -> Iterator[Piece | Skipped]:
    """Yield a piece, or what it holds where it is an archive."""
    if not is_tar(piece.data):
        yield piece
        return
    inside = members(piece.data, piece.label)
    if not inside:
        raise TraceFormatError(f"{piece.label}: a tar archive without any file")
    for member in inside:
        label = f"{piece.label}: {member.name}"
        try:
            data = unpack(member.data, label)
        except TraceFormatError as error:
            yield Skipped(label, piece.label, error)
            continue
        yield Piece(label, data, member.name.rpartition("/")[2], found_in=piece.found_in or piece.label)


def _message_name(source: Any) -> str:
    """Return ``RunMetadata`` or ``StepStats`` when `source` is one, of whatever TensorFlow."""
    name = str(getattr(getattr(source, "DESCRIPTOR", None), "full_name", "")).rpartition(".")[2]
    if not hasattr(source, "SerializeToString"):
        return ""
    if name not in MESSAGES:
        raise TypeError(
            f"cannot read a trace from a {name or 'message'} message; it takes {' or '.join(MESSAGES)}"
        )
    return name


def _content(path: Path) -> Data:
    """Read a file into memory that NumPy allocates: in large pages, which takes a third of the time."""
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size < _LARGE:
            return file.read()
        view = np.empty(size, np.uint8).data
        filled = 0
        while count := file.readinto(view[filled:]):
            filled += count
    return view[:filled]


def unpack(data: Data, label: str) -> Data:
    """Decompress xz and gzip, told by their first bytes; other data is returned as it is.

    Examples
    --------
    >>> import gzip
    >>> from tfvis_nb.reading.sources import unpack
    >>> unpack(gzip.compress(b"abc"), "a.gz")
    b'abc'
    """
    magic = bytes(data[:6])
    try:
        if magic == b"\xfd7zXZ\x00":
            return lzma.decompress(data)
        if magic.startswith(b"\x1f\x8b\x08"):
            return gzip.decompress(data)
    except (lzma.LZMAError, OSError, EOFError, zlib.error) as error:
        kind = "gzip" if magic.startswith(b"\x1f") else "xz"
        if isinstance(error, EOFError) or "ended before" in str(error):
            said = ends_early(f"{'an' if kind == 'xz' else 'a'} {kind} file", len(data))
            raise TraceFormatError(f"{label}: {said}") from None
        raise TraceFormatError(f"{label}: damaged {kind} file of {len(data)} bytes: {error}") from None
    return data
