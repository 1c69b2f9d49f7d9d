"""Unpack bytes within limits, because a few kilobytes can unpack to more than any memory."""

from __future__ import annotations

import io
import lzma
import zlib
from operator import index
from typing import Protocol, SupportsIndex

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.protobuf.crowding import RecordMemory
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import ends_early
from tfvis_nb.texts import Text

MOST = 8 << 30
"""Maximum bytes that one call of `tfvis_nb.read_trace` unpacks."""

RATIO = 128
"""The maximum compression ratio of a file; traces reach 33, zeros 200 to 7,000."""

SMALL = 1 << 26
"""Bytes that any file may unpack to, regardless of its ratio."""

FEW_PARTS = 2000
"""Files, runs and planes that any file may have; each takes up to a millisecond."""

PART = 64
"""Bytes, as stored, for each part of a larger file; those of traces have hundreds."""

_XZ = b"\xfd7zXZ\x00"
_GZIP = b"\x1f\x8b\x08"
_GZIP_WINDOW = 31  # zlib's 15-bit window, plus 16 for a gzip header
_PIECE = 1 << 14
_MOST_PIECE = 1 << 20
_MOST_MEMBERS = 100_000
_XZ_MEMORY = 1 << 28
"""In bytes; the strongest setting of xz needs a quarter of this to unpack."""


class Budget:
    """The number of bytes that may still be unpacked while reading a source.

    `most` is the total number of bytes; None for `MOST`, and `RATIO` times its size for each file.
    """

    def __init__(self, most: SupportsIndex | None = None) -> None:
        try:
            self.most = MOST if most is None else index(most)
        except TypeError:
            raise TypeError(Text("max_unpacked_no_number", value=most)) from None
        if self.most < 0:
            raise ValueError(Text("max_unpacked_negative", value=most))
        self.limited = most is None
        self.left = self.most

    def of_file(self, size: int) -> Allowance:
        """Return the number of bytes that a file of `size` bytes may unpack to."""
        return Allowance(self, size)


class Allowance:
    """The limit of unpacked bytes for one file, including archives and streams in it."""

    def __init__(self, budget: Budget, size: int) -> None:
        self._budget = budget
        self.size = size
        self._unpacked = 0
        self._parts = 0
        self.room = RecordMemory()

    def take_parts(self, count: int, label: str) -> None:
        """Count files of an archive, runs or planes, which take time whatever their size."""
        self._parts += count
        most = max(FEW_PARTS, self.size // PART)
        if self._budget.limited and self._parts > most:
            raise TraceFormatError(Text("too_many_parts", label=label, most=most, size=self.size))

    def take(self, count: int, label: str, *, read: int | None = None) -> None:
        """Count bytes before or while unpacking them; TraceFormatError if there are too many.

        `read` is the number of packed bytes read so far; None for the whole file.
        """
        self._unpacked += count
        self._budget.left -= count
        if self._budget.left < 0:
            raise TraceFormatError(Text("unpacks_beyond_limit", label=label, most=self._budget.most))
        packed = self.size if read is None else min(read, self.size)
        if self._budget.limited and self._unpacked > max(SMALL, RATIO * packed):
            raise TraceFormatError(Text("unpacks_beyond_ratio", label=label, ratio=RATIO, size=self.size))


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: Data, max_length: int, /) -> bytes: ...


def unpack(data: Data, label: str, allowance: Allowance | None = None) -> Data:
    """Decompress xz and gzip, recognised by their first bytes; other data is returned unchanged.

    `data` is a whole file, or a member of an archive; by default its limit is that of a single file.
    """
    magic = bytes(data[:6])
    kind = "xz" if magic == _XZ else "gzip" if magic.startswith(_GZIP) else ""
    if not kind:
        return data
    allowance = allowance or Budget().of_file(len(data))
    # Unpacking a piece of each of many members would take long after the limit is reached.
    allowance.take(0, label)
    view = memoryview(data)
    made = io.BytesIO()
    at = members = 0
    try:
        while bytes(view[at : at + len(_XZ)]) == _XZ if kind == "xz" else at < len(view):
            members += 1
            if members > _MOST_MEMBERS:
                raise TraceFormatError(Text("too_many_members", label=label, most=_MOST_MEMBERS, kind=kind))
            at = _unpacked_member(view, at, kind, made, label, allowance)
            at = _behind_zeros(view, at)
    except EOFError:
        what = f"{'an' if kind == 'xz' else 'a'} {kind} file"
        raise TraceFormatError(ends_early(label, what, len(data))) from None
    except (lzma.LZMAError, zlib.error) as error:
        raise TraceFormatError(
            Text("packed_file_damaged", label=label, kind=kind, bytes=len(data), reason=error)
        ) from None
    return made.getvalue()


def inflate(data: bytes, label: str, allowance: Allowance) -> bytes:
    """Decompress a zlib stream."""
    stream = zlib.decompressobj()
    made = io.BytesIO()
    view, at = memoryview(data), 0
    try:
        while not stream.eof:
            piece, at = _next(stream, view, at)
            allowance.take(len(piece), label)
            made.write(piece)
    except EOFError:
        raise TraceFormatError(ends_early(label, "a zlib stream", len(data))) from None
    except zlib.error as error:
        raise TraceFormatError(Text("zlib_damaged", label=label, reason=error)) from None
    return made.getvalue()


def _unpacked_member(
    view: memoryview, at: int, kind: str, made: io.BytesIO, label: str, allowance: Allowance
) -> int:
    """Unpack the file that starts at `at`; return its end."""
    stream: _Decompressor = (
        lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        if kind == "xz"
        else zlib.decompressobj(_GZIP_WINDOW)
    )
    whole = len(view) == allowance.size
    while not stream.eof:
        piece, at = _next(stream, view, at)
        allowance.take(len(piece), label, read=at if whole else None)
        made.write(piece)
    return at - len(stream.unused_data)


def _next(stream: _Decompressor, view: memoryview, at: int) -> tuple[bytes, int]:
    """Return the next unpacked bytes, at most `_MOST_PIECE`, and the position behind the packed ones.

    EOFError if the stream is cut off.
    """
    # zlib keeps packed bytes for which there was no room here, xz keeps them inside.
    fed: Data = getattr(stream, "unconsumed_tail", b"")
    if not fed and getattr(stream, "needs_input", True):
        fed = view[at : at + _PIECE]
        at += len(fed)
    piece = stream.decompress(fed, _MOST_PIECE)
    if not fed and not piece and not stream.eof:
        raise EOFError
    return piece, at


def _behind_zeros(view: memoryview, at: int) -> int:
    """Return the position of the next byte other than 0, because files in a file may be padded."""
    while at < len(view):
        piece = bytes(view[at : at + _PIECE])
        if rest := piece.lstrip(b"\0"):
            return at + len(piece) - len(rest)
        at += len(piece)
    return at
