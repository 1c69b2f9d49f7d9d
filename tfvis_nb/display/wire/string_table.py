"""Distinct texts of string columns on the wire: UTF-8, offsets, and a number for each row."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.display.wire.container import WireColumn
from tfvis_nb.texts import Text


def number_texts(columns: Sequence[pd.Series | pa.Array]) -> tuple[list[np.ndarray], pa.Array]:
    """Number the distinct texts of several string columns together: the numbers of each, and the texts.

    Texts are numbered in order of first appearance: consecutive rows mostly have new texts, so their numbers
    mostly grow by one, which compresses to nearly nothing. (Sorting the texts saves less on them than it
    costs on the numbers.)
    """
    arrays = [_large_strings(column) for column in columns]
    encoded = pa.concat_arrays(arrays).dictionary_encode()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype("u4")
    ends = np.cumsum([len(array) for array in arrays])[:-1]
    return np.split(numbers, ends), encoded.dictionary


def stored_texts(texts: pa.Array | Iterable[str]) -> dict[str, WireColumn]:
    """Return the columns ``strings_bytes`` and ``strings_offsets`` of texts; ValueError above 4 GiB."""
    array = texts if isinstance(texts, pa.Array) else pa.array(list(texts), pa.large_string())
    _, offset_bytes, data = array.buffers()
    offsets = np.zeros(1, "i8")
    if len(array):
        offsets = np.frombuffer(offset_bytes, "i8")[array.offset : array.offset + len(array) + 1]
    if offsets[-1] - offsets[0] >= 2**32:
        raise ValueError(Text("too_much_text"))
    joined = np.frombuffer(data or b"", "u1")[offsets[0] : offsets[-1]]
    return {
        "strings_bytes": WireColumn(joined, "plain"),
        "strings_offsets": WireColumn((offsets - offsets[0]).astype("u4"), "delta-shuffle"),
    }


def _large_strings(column: pd.Series | pa.Array) -> pa.Array:
    if isinstance(column, pd.Series):
        column = pa.array(column, pa.large_string(), from_pandas=True)
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return pc.fill_null(column.cast(pa.large_string()), "")
