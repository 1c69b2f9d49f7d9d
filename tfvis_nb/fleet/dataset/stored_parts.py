"""The files of a dataset's parts as they were written: their rows, sizes and footers."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tfvis_nb.core.plain_files import open_plain
from tfvis_nb.texts import Text, text_of

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_DAMAGED = (ArithmeticError, LookupError, OSError, TypeError, ValueError, pa.ArrowException)
_TAIL = 8
"""Bytes behind a Parquet footer: its length and the letters ``PAR1``."""
_HELD_FOOTERS = 64

Version = tuple[int, int, int]


class PackFile(NamedTuple):
    """A file that the parts of many sources share: its path in the dataset, size, and checksum of its footer.

    Parts of tables are rows of a Parquet file; others are Parquet files of their own, one after the other.
    """

    path: str
    size: int
    footer: int

    @property
    def is_table(self) -> bool:
        """Whether it is a Parquet file, whose rows are those of its parts."""
        return self.path.endswith(".parquet")


class StoredPart(NamedTuple):
    """What is known of a part: its `rows`, its `size` in bytes and a checksum of its `footer`.

    In a `pack`, it starts at the row or byte `first`; rows of a table have no size and footer of their own.
    """

    rows: int
    size: int
    footer: int
    first: int = 0
    pack: PackFile | None = None

    def file(self, name: str) -> tuple[str, int]:
        """Return the path and size of the file with the part, given the part's own name."""
        return (name, self.size) if self.pack is None else self.pack[:2]


class PartFile:
    """A part in its file: row groups of a Parquet file, all of them unless it shares the file."""

    def __init__(self, folder: Path, name: str, stored: StoredPart) -> None:
        self._folder, self._stored, self.name = folder, stored, name
        self.path = str(folder / stored.file(name)[0])
        self.version = _version(self.path)
        self._check_footer()

    def _check_footer(self) -> None:
        """Raise OSError if the file is missing, or its size or footer is not the one that was written.

        Arrow believes a footer: a damaged one leads to wrong rows, or to allocating for rows that are not
        there.
        """
        pack, size = self._stored.pack, self._stored.size
        with naming_part(self.path):
            if pack is None:
                found, right = footer_sum(Path(self.path), size), self._stored.footer
            elif pack.is_table:
                found, right = _footer_of(self.path, self.version, pack.size), pack.footer
            else:
                found, right = footer_sum(Path(self.path), pack.size, self._span), self._stored.footer
            if found != right:
                raise ValueError("its footer is not the one that was written")

    @property
    def _span(self) -> tuple[int, int]:
        return self._stored.first, self._stored.first + self._stored.size

    @cached_property
    def metadata(self) -> pq.FileMetaData:
        """The footer of its Parquet file."""
        import pyarrow.parquet as pq

        with naming_part(self.path):
            pack = self._stored.pack
            if pack is None:
                return pq.read_metadata(self.path)
            if pack.is_table:
                return _metadata_of(self.path, self.version)
            with self._slice() as file:
                return pq.read_metadata(file)

    @cached_property
    def _groups(self) -> tuple[range, int]:
        """The row groups of the file with rows of the part, and the number of rows in front of its own."""
        ends = np.cumsum([self.metadata.row_group(n).num_rows for n in range(self.metadata.num_row_groups)])
        pack = self._stored.pack
        if pack is None or not pack.is_table:
            return range(len(ends)), 0
        first, last = self._stored.first, self._stored.first + self._stored.rows
        start = int(np.searchsorted(ends, first, "right"))
        return range(start, int(np.searchsorted(ends, last, "left")) + 1 if last > first else start), (
            first - (int(ends[start - 1]) if start else 0)
        )

    @property
    def group_rows(self) -> list[int]:
        """The number of rows of each of its row groups."""
        return [self.metadata.row_group(n).num_rows for n in self._groups[0]]

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        """Return columns of the part, by default all of its own; OSError that names the file if damaged."""
        groups, before = self._groups
        with naming_part(self.path), self._opened() as file:
            table = file.read_row_groups(list(groups), self._own(names)) if groups else None
            if table is None:
                table = file.schema_arrow.empty_table().select(self._own(names) or file.schema_arrow.names)
            # Reading leaves out a column that is not there.
            table = table if names is None else table.select(names)
            pack = self._stored.pack
            if pack is not None and pack.is_table:
                table = table.slice(before, self._stored.rows)
            # Parts of earlier versions have no checksums, and Arrow fails later on texts that are not UTF-8.
            table.validate(full=True)
            if len(table) != self._stored.rows:
                raise ValueError("it lacks rows")
        return table

    def read_group(self, group: int, names: list[str] | None, texts: list[str]) -> pa.Table:
        """Return columns of one of its row groups, `texts` as dictionaries."""
        groups, _ = self._groups
        with naming_part(self.path), self._opened(texts) as file:
            table = file.read_row_group(groups[group], columns=self._own(names))
            table.validate(full=True)
        return table

    def content(self) -> bytes:
        """Return the bytes of its Parquet file; not of rows of a table."""
        with _Slice(self.path, *self._span) as file:
            return file.read()

    def check_version(self) -> None:
        """Raise OSError if the file was replaced, because positions and numbers belong to the old one."""
        if _version(self.path) != self.version:
            raise OSError(Text("dataset_part_replaced", path=self.path))

    def _own(self, names: Sequence[str] | None) -> list[str] | None:
        """Return the columns to read; a shared table also has those that are in the paths of other parts."""
        pack = self._stored.pack
        if names is not None or pack is None or not pack.is_table:
            return None if names is None else list(names)
        return [name for name in self.metadata.schema.to_arrow_schema().names if name not in PLACES]

    @contextmanager
    def _opened(self, texts: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
        import pyarrow.parquet as pq

        pack = self._stored.pack
        # Not `read_table`, which would treat names in the path as columns.
        options: dict[str, Any] = {
            "metadata": self.metadata,
            "read_dictionary": list(texts),
            "page_checksum_verification": True,
        }
        if pack is None or pack.is_table:
            with pq.ParquetFile(self.path, **options) as file:
                yield file
            return
        with self._slice() as part, pq.ParquetFile(part, **options) as file:
            yield file

    def _slice(self) -> _Slice:
        return _Slice(self.path, *self._span)


PLACES = ("run", "task", "key")
"""Columns of a shared table: the values that are in the path of a part with a file of its own."""


class _Slice(io.RawIOBase):
    """Some bytes of a file, as a file."""

    def __init__(self, path: str, start: int, end: int) -> None:
        self._file = os.fdopen(open_plain(Path(path), follow=True), "rb")
        self._start, self._end = start, end
        self._file.seek(start)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell() - self._start

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (self._start, self._file.tell(), self._end)[whence]
        return self._file.seek(base + offset) - self._start

    def read(self, size: int | None = -1) -> bytes:
        left = max(self._end - self._file.tell(), 0)
        return self._file.read(left if size is None or size < 0 else min(size, left))

    def close(self) -> None:
        self._file.close()
        super().close()


def footer_sum(path: Path, size: int | None = None, span: tuple[int, int] | None = None) -> int:
    """Return the CRC-32 of a Parquet file's footer, which has its schema, statistics and numbers of rows.

    `span` are the bytes of the Parquet file, if it is in another one. OSError if there is no footer, the file
    is not a plain one, or has another `size`.
    """
    with os.fdopen(open_plain(path, follow=True), "rb") as file:
        length_of_file = file.seek(0, 2)
        if size is not None and length_of_file != size:
            raise OSError("it has another size than the one that was written")
        start, end = span or (0, length_of_file)
        file.seek(max(end - _TAIL, start))
        length = int.from_bytes(file.read(4), "little") + _TAIL
        if length > end - start:
            raise OSError("the footer is missing")
        file.seek(end - length)
        return zlib.crc32(file.read(length))


@lru_cache(_HELD_FOOTERS)
def _footer_of(path: str, _version: Version, size: int) -> int:
    return footer_sum(Path(path), size)


@lru_cache(_HELD_FOOTERS)
def _metadata_of(path: str, _version: Version) -> pq.FileMetaData:
    import pyarrow.parquet as pq

    return pq.read_metadata(path)


def _version(path: str) -> Version:
    """Return a value that differs for another file at a path, even one of the same size."""
    try:
        status = os.stat(path)  # noqa: PTH116 - before each row group that is read
    except FileNotFoundError:
        return 0, 0, 0
    return status.st_ino, status.st_mtime_ns, status.st_size


def write_part(table: pa.Table, file: Path, rows: int) -> None:
    """Write a part in row groups of `rows`, with checksums: without them, Arrow reads a damaged page."""
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd", row_group_size=rows, write_page_checksum=True)


def read_part(folder: Path, name: str, names: Sequence[str] | None, stored: StoredPart) -> pa.Table:
    """Return columns of a part, by default all; OSError that names its file if it is damaged."""
    return PartFile(folder, name, stored).read(names)


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
