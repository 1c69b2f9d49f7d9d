"""The container: named numpy columns and a JSON header in one gzip member.

The front end reads it in ``js/model/wire/container.ts``. Uncompressed, it is::

    bytes 0-3    b"TFV1"
    bytes 4-7    length H of the header, unsigned 32-bit little-endian
    H bytes      the header, UTF-8 JSON, padded with spaces so that 8 + H is a multiple of 8
    the rest     the columns' bytes, each starting at a multiple of 8

``header["columns"]`` has for each column its dtype, length, offset and
encoding. The encodings only reorder bytes so that gzip compresses better.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tfvis_nb.texts import Text

MAGIC = b"TFV1"

VERSION = 2
"""Of the headers and columns; the front end refuses others."""

Encoding = Literal["plain", "shuffle", "delta-shuffle"]

_DTYPES = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "float64": "f64"}
_GZIP_WINDOW = 31  # zlib's 15-bit window, plus 16 for a gzip header, which then holds no time stamp
_LEVEL = 6  # level 9 takes six times as long for 0.3 % fewer bytes, level 1 gives 14 % more


@dataclass(frozen=True)
class WireColumn:
    """One column of a container."""

    values: np.ndarray  # One-dimensional, of dtype uint8, uint16, uint32 or float64
    # ``"shuffle"`` stores all first bytes, then all second bytes, and so on; ``"delta-shuffle"``, for
    # integers, does so with the differences of neighbours
    encoding: Encoding = "shuffle"


def pack(header: Mapping[str, Any], columns: Mapping[str, WireColumn]) -> bytes:
    r"""Write a container, one gzip member: `header` with ``version`` and ``columns``, and the columns.

    The same input always gives the same bytes. ValueError if the container does not support a column's dtype.
    """
    described: dict[str, dict[str, Any]] = {}
    parts: list[bytes] = []
    offset = 0
    for name, column in columns.items():
        dtype = _DTYPES.get(column.values.dtype.name)
        if dtype is None:
            known = ", ".join(_DTYPES)
            raise ValueError(Text("column_dtype_unknown", name=name, dtype=column.values.dtype, known=known))
        data = _encode(column)
        described[name] = {
            "dtype": dtype,
            "length": len(column.values),
            "offset": offset,
            "encoding": column.encoding,
        }
        padding = -len(data) % 8
        parts += [data, bytes(padding)]
        offset += len(data) + padding
    whole = {"version": VERSION, **header, "columns": described}
    text = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 8)
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    pieces = [MAGIC + len(text).to_bytes(4, "little") + text, *parts]
    return b"".join(map(compressor.compress, pieces)) + compressor.flush()


def _encode(column: WireColumn) -> bytes:
    values = column.values.astype(column.values.dtype.newbyteorder("<"), copy=False)
    if column.encoding == "delta-shuffle":
        # Unsigned differences wrap around, and their running sum wraps back.
        values = np.diff(values, prepend=values.dtype.type(0))
    if column.encoding == "plain" or values.dtype.itemsize == 1:
        return values.tobytes()
    return np.ascontiguousarray(values).view("u1").reshape(len(values), values.dtype.itemsize).T.tobytes()
