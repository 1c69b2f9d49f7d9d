"""The files of a dataset's parts as they were written: their rows, sizes and footers."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import NamedTuple

from tfvis_nb.texts import Text

_TAIL = 8
"""Bytes behind a Parquet footer: its length and the letters ``PAR1``."""


class StoredPart(NamedTuple):
    """What is known of the file of a part: its `rows`, its `size` in bytes and a checksum of its `footer`."""

    rows: int
    size: int
    footer: int


def footer_sum(path: Path) -> int:
    """Return the CRC-32 of a Parquet file's footer, which has its schema, statistics and numbers of rows.

    OSError if there is no footer.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - _TAIL, 0))
        length = int.from_bytes(file.read(4), "little") + _TAIL
        if length > size:
            raise OSError("the footer is missing")
        file.seek(size - length)
        return zlib.crc32(file.read(length))


def check_part(path: Path, stored: StoredPart) -> None:
    """Raise OSError if a part is missing, or its footer is not the one that was written.

    Arrow believes a footer: a damaged one leads to wrong rows, or to allocating for rows that are not there.
    """
    try:
        found = footer_sum(path)
    except OSError as error:
        raise unreadable_part(path, error) from None
    if found != stored.footer:
        raise unreadable_part(path, ValueError("its footer is not the one that was written"))


def unreadable_part(path: object, error: Exception) -> OSError:
    """Return the error for a part that cannot be read."""
    # An ingest only notices a part that is missing or has another size.
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(Text("dataset_part_missing", path=str(path)))
    # Those of Arrow have several lines.
    return OSError(Text("dataset_part_damaged", path=str(path), reason=" ".join(str(error).split())))
