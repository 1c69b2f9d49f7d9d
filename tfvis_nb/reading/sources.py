"""What the caller hands in -> bytes with a name: files, bytes, messages, compressed or not."""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb._trace import Trace
from tfvis_nb.reading.errors import TraceFormatError
from tfvis_nb.reading.protowire import Data

MESSAGES = ("RunMetadata", "StepStats")

_LARGE = 1 << 22


class Piece(NamedTuple):
    """Bytes to read, the name they go by in errors, a title, and their message type where it is known."""

    label: str
    data: Data
    title: str = ""
    message: str = ""


def pieces(source: Any) -> Iterator[Piece | Trace]:
    """Yield the steps of `source` one by one, each loaded only when it is asked for.

    Parameters
    ----------
    source
        A path, bytes, a RunMetadata, a StepStats, a Trace, or an iterable of those.

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
        path = Path(os.fspath(source))
        yield Piece(str(path), unpack(_content(path), str(path)), path.name)
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        label = f"{len(data)} bytes"
        yield Piece(label, unpack(data, label))
    elif message := _message_name(source):
        yield Piece(f"this {message}", source.SerializeToString(), message=message)
    elif isinstance(source, Iterable) and not isinstance(source, dict):
        for item in source:
            yield from pieces(item)
    else:
        raise TypeError(
            f"cannot read a trace from {type(source).__name__}; give a path, bytes, "
            "a RunMetadata, a StepStats, or an iterable of those"
        )


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
        raise TraceFormatError(f"{label}: damaged {kind} file of {len(data)} bytes: {error}") from None
    return data
