"""The memory needs of a Parquet file's columns, read from its footer without Arrow.

Arrow could report this but may crash the process: `RowGroupMetaData.column` of pyarrow 26 does not declare
the C++ exception that it raises if a column's statistics do not fit its type.
"""

import struct
from typing import Any

import pyarrow as pa

from tfvis_nb.reading.protobuf.wire import Data

_SIZES = {4: {2: 1, 1: {3: {5: 8}}}}
"""The numbers of the fields that are sizes, and the bytes that each unit represents.

A Parquet FileMetaData has `row_groups` with a `total_byte_size`, and with `columns` whose `meta_data` has
`num_values`: the count of numbers, or of offsets of texts. Equal values take almost no space in the file.
"""
_INTEGERS, _BINARY, _LIST, _STRUCT = (4, 5, 6), 8, 9, 12
"""Types of fields in Thrift's compact protocol; Parquet has neither maps nor sets."""
_BYTES = {1: 0, 2: 0, 3: 1, 7: 8}
"""Bytes of types with a fixed size; true and false are types of their own, but bytes in a list."""


def unpacked_size(data: Data) -> int:
    """Return the memory that a file's columns need, except for long texts; ArrowInvalid if damaged.

    Repeated fields count twice, so Arrow cannot read a larger size.
    """
    length = struct.unpack("<I", data[-8:-4])[0]
    try:
        return _Footer(data, len(data) - 8 - length).size(_STRUCT, _SIZES)
    except (IndexError, KeyError, RecursionError):
        raise pa.ArrowInvalid("the footer is not as Thrift writes it") from None


class _Footer:
    def __init__(self, data: Data, start: int) -> None:
        self._data, self._at = data, start

    def size(self, kind: int, sizes: Any) -> int:
        """Skip a value; return the bytes that it represents according to `sizes`."""
        if kind in _INTEGERS:
            number = self._varint()
            # The lowest bit is the sign.
            return sizes * (number >> 1) if isinstance(sizes, int) and not number & 1 else 0
        if kind == _STRUCT:
            return self._struct(sizes if isinstance(sizes, dict) else {})
        if kind == _LIST:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > len(self._data) - self._at:  # each takes at least a byte
                raise IndexError(count)
            return sum(self.size(max(head & 15, 3), sizes) for _ in range(count))
        length = self._varint() if kind == _BINARY else _BYTES[kind]
        self._at += length
        return 0

    def _struct(self, sizes: dict[int, Any]) -> int:
        size = number = 0
        while head := self._byte():
            # If the gap to the previous field is large, the number of the field follows its type.
            number = number + (head >> 4) if head >> 4 else self._varint() >> 1
            size += self.size(head & 15, sizes.get(number))
        return size

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise IndexError(shift)
