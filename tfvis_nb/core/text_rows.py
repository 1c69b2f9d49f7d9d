"""Take rows of a text column without joining its chunks."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def text_rows(column: pd.Series, rows: np.ndarray) -> pd.Series:
    """Return the texts of rows, in any order, like ``column.iloc[rows]``.

    For any number of rows, that joins all chunks of an Arrow column first (pyarrow 26), which takes 50 ms for
    the names of 780,000 events.

    >>> names = pd.concat([pd.Series(["a", "b"], dtype="str"), pd.Series(["c"], dtype="str")])
    >>> text_rows(names, np.array([2, 0])).tolist()
    ['c', 'a']
    """
    lengths = [len(chunk) for chunk in getattr(pa.array(column), "chunks", ())]
    if len(lengths) < 2:
        return column.iloc[rows]
    ends = np.cumsum(lengths)
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    parts = np.split(ascending, np.searchsorted(ascending, ends[:-1]))
    taken: pd.Series = pd.concat(
        [
            column.iloc[end - length : end].iloc[part - (end - length)]
            for part, length, end in zip(parts, lengths, ends.tolist(), strict=True)
        ]
    )
    if (order[1:] > order[:-1]).all():
        return taken
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    in_order: pd.Series = taken.iloc[back]
    return in_order


def texts_of(column: pd.Series) -> pa.Array:
    """Return the texts of a column, which may have several chunks, in one chunk; missing ones are empty."""
    texts = pc.fill_null(pa.array(column).cast(pa.large_string()), "")
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
