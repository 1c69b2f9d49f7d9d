"""What the caller hands in -> bytes with a name: files, bytes, messages, compressed or not."""

from __future__ import annotations

import errno
import gzip
import lzma
import os
import re
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

_TRACE_FILE = re.compile(r"\.(?:pb|pbtxt|pickle|pkl|json|parquet)(?:\.gz|\.xz)?$")


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
        A path, also of a folder or with ``*`` in it, bytes, a RunMetadata, a StepStats, a Trace,
        or an iterable of those.

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
        for path in _files(Path(os.fspath(source))):
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


def _files(path: Path) -> list[Path]:
    """Return the files of a folder or a pattern, in the order of the numbers in their names.

    Of a folder that holds profiles, such as a log folder of TensorBoard, these are read.
    """
    if path.is_dir():
        files = [found for found in path.rglob("*") if found.is_file()]
        profiles = [found for found in files if ".xplane.pb" in found.name]
        found = profiles or [found for found in files if _TRACE_FILE.search(found.name)]
        if not found:
            raise TraceFormatError(f"{path}: a folder without any file that is named like a trace")
    elif any(letter in str(path) for letter in "*?[") and not path.exists():
        found = [name for name in _matching(path) if name.is_file()]
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", str(path))
    else:
        return [path]
    return sorted(found, key=lambda file: natural(str(file)))


def _matching(pattern: Path) -> Iterator[Path]:
    """Yield what matches a pattern, absolute or not."""
    fixed = Path(pattern.anchor) if pattern.is_absolute() else Path()
    return fixed.glob(str(pattern.relative_to(fixed)) if pattern.is_absolute() else str(pattern))


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts ``step10`` behind ``step9``.

    Examples
    --------
    >>> from tfvis_nb.reading.sources import natural
    >>> sorted(["step10.pb", "step9.pb"], key=natural)
    ['step9.pb', 'step10.pb']
    """
    parts = re.split(r"(\d{1,18})", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


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
