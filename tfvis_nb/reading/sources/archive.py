"""Members of a tar archive, in memory: nothing is unpacked to disk, and no path in it is trusted."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.labels import natural
from tfvis_nb.reading.protobuf.wire import Data, text
from tfvis_nb.reading.sources.files import MOST_FILES
from tfvis_nb.texts import Text

_LONGEST_HEADER = 1 << 12
"""Maximum bytes of a header with only a long name, or other facts about the next member."""

_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class Member(NamedTuple):
    """A regular file in an archive: its name, which is only shown, and its content."""

    name: str
    data: Data


class _Header(tarfile.TarInfo):
    """A header; impossible sizes are rejected."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        header = super().frombuf(buf, encoding, errors)
        if header.size < 0 or (header.type in _HEADERS and header.size > _LONGEST_HEADER):
            raise tarfile.HeaderError("a size that no header has")
        return header


def is_tar(data: Data) -> bool:
    """Return whether `data` starts like a POSIX or GNU tar archive."""
    return bytes(data[257:262]) == b"ustar"


def members(data: Data, label: str) -> list[Member]:
    """Return the regular files of a tar archive, ordered by the numbers in their names.

    Links, devices and sparse files are not traces and are skipped.
    """
    return sorted(_walk(data, label), key=lambda member: natural(member.name))


def _walk(data: Data, label: str) -> Iterator[Member]:
    at = 0
    # Arrow reads without copying; io.BytesIO would copy a large archive.
    with pa.BufferReader(pa.py_buffer(data)) as file:
        try:
            archive = tarfile.TarFile(fileobj=file, tarinfo=_Header, encoding="utf-8", errors="replace")
            count = 0
            while at + tarfile.BLOCKSIZE <= len(data) and (header := archive.next()):
                count += 1
                if count > MOST_FILES:
                    raise TraceFormatError(Text("tar_too_many_files", label=label, most=MOST_FILES))
                left = len(data) - header.offset_data
                if header.size > left:
                    raise TraceFormatError(
                        Text("tar_cut_off", label=label, byte=header.offset, size=header.size, left=left)
                    )
                if archive.offset <= at:
                    raise tarfile.ReadError("a member that ends before it begins")
                at = archive.offset
                if header.isreg() and not header.issparse():
                    start = header.offset_data
                    yield Member(
                        text(header.name.encode("utf-8", "replace")), data[start : start + header.size]
                    )
        except (tarfile.TarError, OSError, ValueError) as error:
            if isinstance(error, TraceFormatError):
                raise
            raise TraceFormatError(_damage(at, label)) from None
    if bytes(data[at : at + tarfile.BLOCKSIZE]).strip(b"\0") and at + tarfile.BLOCKSIZE <= len(data):
        raise TraceFormatError(_damage(at, label))


def _damage(at: int, label: str) -> str:
    return Text("tar_damaged", label=label, byte=at)
