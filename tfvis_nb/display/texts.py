"""The distinct texts of string columns as the wire sends them: UTF-8, offsets, and a number for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.display.container import Column


def number_texts(columns: Sequence[pd.Series | pa.Array]) -> tuple[list[np.ndarray], dict[str, Column]]:
    """Number the distinct texts of several string columns together.

    Texts are numbered in the order they first appear: rows that follow each
    other mostly name things for the first time, so their numbers mostly grow by
    one, which compresses to nearly nothing. (Sorting the texts saves less on
    them than it costs on the numbers.)

    Parameters
    ----------
    columns
        String columns; a missing text counts as empty.

    Returns
    -------
    tuple
        For each column its rows' numbers (uint32), and the container columns
        ``strings_bytes`` and ``strings_offsets`` with the texts.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.display.texts import number_texts
    >>> numbers, stored = number_texts([pd.Series(["b", "a", "b"])])
    >>> numbers[0].tolist(), stored["strings_bytes"].values.tobytes()
    ([0, 1, 0], b'ba')
    """
    arrays = [_large_strings(column) for column in columns]
    encoded = pa.chunked_array(arrays, pa.large_string()).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # before pyarrow 24 an array of no chunks stays chunked
        encoded = pa.array([], pa.large_string())
    encoded = encoded.dictionary_encode()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype("u4")
    ends = np.cumsum([len(array) for array in arrays])[:-1]
    return np.split(numbers, ends), _stored(encoded.dictionary)


def _large_strings(column: pd.Series | pa.Array) -> pa.Array:
    if isinstance(column, pd.Series):
        column = pa.array(column, pa.large_string(), from_pandas=True)
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return pc.fill_null(column.cast(pa.large_string()), "")


def _stored(texts: pa.Array) -> dict[str, Column]:
    _, places, data = texts.buffers()
    offsets = np.zeros(1, "i8")
    if len(texts):
        offsets = np.frombuffer(places, "i8")[texts.offset : texts.offset + len(texts) + 1]
    if offsets[-1] - offsets[0] >= 2**32:
        raise ValueError("the trace holds more than 4 GiB of distinct texts, the most that a page can hold")
    joined = np.frombuffer(data or b"", "u1")[offsets[0] : offsets[-1]]
    return {
        "strings_bytes": Column(joined, "plain"),
        "strings_offsets": Column((offsets - offsets[0]).astype("u4"), "delta-shuffle"),
    }
