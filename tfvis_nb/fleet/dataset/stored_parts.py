"""The files of a dataset's parts as they were written: their rows, sizes and footers."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tfvis_nb.core.plain_files import open_plain
from tfvis_nb.texts import Text, text_of

_DAMAGED = (ArithmeticError, LookupError, OSError, TypeError, ValueError, pa.ArrowException)
_TAIL = 8
"""Bytes behind a Parquet footer: its length and the letters ``PAR1``."""


class StoredPart(NamedTuple):
    """What is known of the file of a part: its `rows`, its `size` in bytes and a checksum of its `footer`."""

    rows: int
    size: int
    footer: int


def footer_sum(path: Path, size: int | None = None) -> int:
    """Return the CRC-32 of a Parquet file's footer, which has its schema, statistics and numbers of rows.

    OSError if there is no footer, the file is not a plain one, or has another `size`.
    """
    with os.fdopen(open_plain(path, follow=True), "rb") as file:
        length_of_file = file.seek(0, 2)
        if size is not None and length_of_file != size:
            raise OSError("it has another size than the one that was written")
        file.seek(max(length_of_file - _TAIL, 0))
        length = int.from_bytes(file.read(4), "little") + _TAIL
        if length > length_of_file:
            raise OSError("the footer is missing")
        file.seek(length_of_file - length)
        return zlib.crc32(file.read(length))


def check_part(path: Path, stored: StoredPart) -> None:
    """Raise OSError if a part is missing, or its size or footer is not the one that was written.

    Arrow believes a footer: a damaged one leads to wrong rows, or to allocating for rows that are not there.
    """
    with naming_part(path):
        if footer_sum(path, stored.size) != stored.footer:
            raise ValueError("its footer is not the one that was written")


def write_part(table: pa.Table, file: Path, rows: int) -> None:
    """Write a part in row groups of `rows`, with checksums: without them, Arrow reads a damaged page."""
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd", row_group_size=rows, write_page_checksum=True)


def read_part(path: Path, names: Sequence[str] | None, stored: StoredPart) -> pa.Table:
    """Return columns of a part, by default all; OSError that names the part if it is damaged."""
    import pyarrow.parquet as pq

    check_part(path, stored)
    with naming_part(path):
        # Not `read_table`, which would treat names in the path as columns.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(names)
        # `read` leaves out a column that is not there.
        table = table if names is None else table.select(names)
        # Parts of earlier versions have no checksums, and Arrow fails later on texts that are not UTF-8.
        table.validate(full=True)
    return table


@contextmanager
def naming_part(path: object) -> Iterator[None]:
    """Convert any error from the content of a part to an OSError that names it."""
    try:
        yield
    except _DAMAGED as error:
        if text_of(error).id.startswith("dataset_part_"):
            raise
        raise unreadable_part(path, error) from None


def unreadable_part(path: object, error: Exception) -> OSError:
    """Return the error for a part that cannot be read."""
    # An ingest only notices a part that is missing or has another size.
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(Text("dataset_part_missing", path=str(path)))
    # Those of Arrow have several lines.
    return OSError(Text("dataset_part_damaged", path=str(path), reason=" ".join(str(error).split())))
