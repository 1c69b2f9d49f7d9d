"""The memory needs of a Parquet file's columns, read from its footer and page headers without Arrow.

Arrow could report those of the footer but may crash the process: `RowGroupMetaData.column` of pyarrow 26 does
not declare the C++ exception that it raises if a column's statistics do not fit its type. And it unpacks each
page to the size in the page's own header, whatever the footer says.
"""

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tfvis_nb.reading.protobuf.wire import Data

_NUM_VALUES, _PACKED_SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 5, 7, 9, 11
_CHUNK: dict[int, Any] = {_NUM_VALUES: {}, _PACKED_SIZE: {}, _DATA_PAGE: {}, _DICTIONARY_PAGE: {}}
_ROW_GROUPS, _COLUMNS, _META_DATA = 4, 1, 3
_FOOTER: dict[int, Any] = {_ROW_GROUPS: {_COLUMNS: {_META_DATA: _CHUNK}}}
_UNPACKED_PAGE, _PACKED_PAGE = 2, 3
_PAGE_HEADER: dict[int, Any] = {_UNPACKED_PAGE: {}, _PACKED_PAGE: {}}
"""The numbers of the fields that are used of Parquet's FileMetaData and PageHeader."""

_SMALLEST_PAGE = 1 << 12
"""Bytes counted for any page, because a file can have very many empty ones."""

_INTEGERS, _BINARY, _LIST, _STRUCT = (4, 5, 6), 8, 9, 12
"""Types of fields in Thrift's compact protocol; Parquet has neither maps nor sets."""
_BYTES = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of types with a fixed size; true and false are types of their own, but bytes in a list."""


def unpacked_sizes(data: Data, width: int) -> Iterator[int]:
    """Yield the bytes that each page of a file unpacks to, and those of its column's values in memory.

    `width` is the bytes of a value in memory, or of the offset of a text: equal values take almost no space
    in the file. ArrowInvalid if the file is damaged.
    """
    length = struct.unpack("<I", data[-8:-4])[0]
    try:
        for group in _Thrift(data, len(data) - 8 - length).struct(_FOOTER)[_ROW_GROUPS]:
            for column in group[_COLUMNS]:
                chunk = column[_META_DATA]
                if chunk[_NUM_VALUES] > 0:  # of others Arrow reads nothing
                    yield width * chunk[_NUM_VALUES]
                    yield from _pages(data, chunk)
    except (IndexError, KeyError, TypeError, RecursionError):
        raise pa.ArrowInvalid("the footer or a page is not as Thrift writes it") from None


def _pages(data: Data, chunk: dict[int, int]) -> Iterator[int]:
    """Yield the unpacked size of each page of a column, with its header; it starts where Arrow does."""
    start, dictionary = chunk[_DATA_PAGE], chunk.get(_DICTIONARY_PAGE, 0)
    at = dictionary if 0 < dictionary < start else start
    end = at + chunk[_PACKED_SIZE]
    while at < end:
        header = _Thrift(data, at)
        sizes = header.struct(_PAGE_HEADER)
        yield max(header.at - at + sizes[_UNPACKED_PAGE], _SMALLEST_PAGE)
        at = header.at + max(sizes[_PACKED_PAGE], 0)


class _Thrift:
    def __init__(self, data: Data, start: int) -> None:
        if start < 0:
            raise IndexError(start)
        self._data, self.at = data, start

    def struct(self, wanted: dict[int, Any]) -> dict[int, Any]:
        """Read a struct; return the values of the wanted fields: numbers, structs, or lists of structs."""
        values: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            # If the gap to the previous field is large, the number of the field follows its type.
            number = number + (head >> 4) if head >> 4 else self._varint() >> 1
            value = self._value(head & 15, wanted.get(number, {}))
            if number in wanted:
                if number in values:  # which of them counts is up to the reader
                    raise IndexError(number)
                values[number] = value
        return values

    def _value(self, kind: int, wanted: dict[int, Any]) -> Any:
        if kind in _INTEGERS:
            number = self._varint()
            # The lowest bit is the sign.
            return (number >> 1) ^ -(number & 1)
        if kind == _STRUCT:
            return self.struct(wanted)
        if kind == _LIST:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > len(self._data) - self.at:  # each takes at least a byte
                raise IndexError(count)
            return [self._value(max(head & 15, 3), wanted) for _ in range(count)]
        length = self._varint() if kind == _BINARY else _BYTES[kind]
        self.at += length
        return None

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise IndexError(shift)
