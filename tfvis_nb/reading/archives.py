"""Members of a tar archive, in memory: nothing is unpacked to disk, and no path in it is trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tfvis_nb.reading.errors import TraceFormatError
from tfvis_nb.reading.files import natural
from tfvis_nb.reading.protowire import Data
from tfvis_nb.reading.recorded import text

_BLOCK = 512
_REGULAR = (b"0", b"\0", b"7")


class Member(NamedTuple):
    """A regular file in an archive: its name, which is only shown, and its content."""

    name: str
    data: Data


def is_tar(data: Data) -> bool:
    """Tell whether `data` begins like a tar archive of POSIX or GNU.

    Examples
    --------
    >>> from tfvis_nb.reading.archives import is_tar
    >>> is_tar(bytes(257) + b"ustar" + bytes(250))
    True
    """
    return bytes(data[257:262]) == b"ustar"


def members(data: Data, label: str) -> list[Member]:
    """Return the regular files of a tar archive, in the order of the numbers in their names.

    Links, devices and sparse files are no traces and are passed over.

    Raises
    ------
    TraceFormatError
        Where a header is damaged or a member runs past the end.
    """
    return sorted(_walk(data, label), key=lambda member: natural(member.name))


def _walk(data: Data, label: str) -> Iterator[Member]:
    at, longer = 0, ""
    while at + _BLOCK <= len(data):
        head = bytes(data[at : at + _BLOCK])
        if not head.strip(b"\0"):
            return
        size = _number(head[124:136])
        start = at + _BLOCK
        if size is None or _number(head[148:156]) != _checksum(head):
            raise TraceFormatError(f"{label}: a damaged tar archive: no member begins at byte {at}")
        if start + size > len(data):
            raise TraceFormatError(
                f"{label}: a tar archive that is cut off: the member at byte {at} has {size} bytes, "
                f"{len(data) - start} are left"
            )
        content = data[start : start + size]
        kind = head[156:157]
        if kind == b"L":
            longer = text(bytes(content).rstrip(b"\0"))
        elif kind == b"x":
            longer = _path(bytes(content)) or longer
        else:
            if kind in _REGULAR:
                yield Member(longer or _name(head), content)
            longer = ""
        at = start + -(-size // _BLOCK) * _BLOCK


def _name(head: bytes) -> str:
    prefix, name = (text(part.split(b"\0", 1)[0]) for part in (head[345:500], head[:100]))
    return f"{prefix}/{name}" if prefix and head[257:263] == b"ustar\0" else name


def _number(field: bytes) -> int | None:
    """Read a number in octal digits, or, as GNU writes large ones, in base 256."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if re.fullmatch(rb"[0-7]*", digits) else None


def _checksum(head: bytes) -> int:
    return sum(head[:148]) + 8 * ord(" ") + sum(head[156:])


def _path(records: bytes) -> str:
    """Return the path in an extended header of POSIX."""
    match = re.search(rb"(?:^|\n)\d{1,9} path=([^\n]*)\n", records)
    return text(match[1]) if match else ""
