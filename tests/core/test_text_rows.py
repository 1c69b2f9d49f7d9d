"""Rows of text columns in several chunks."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tfvis_nb import events
from tfvis_nb.core.search_sorted import ascending
from tfvis_nb.core.text_rows import text_rows, texts_of

TEXTS = st.none() | st.text(max_size=3)


@given(st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=4), st.data())
def test_rows_of_text_are_those_of_pandas(chunks: list[list[str | None]], data: st.DataObject) -> None:
    parts = [pd.Series(pd.array(chunk, dtype=events.TEXT)) for chunk in chunks]
    column = pd.concat(parts, ignore_index=True)
    index = st.integers(0, max(len(column) - 1, 0))
    rows = np.array(data.draw(st.lists(index, max_size=8 if len(column) else 0)), np.int64)
    pd.testing.assert_series_equal(text_rows(column, rows), column.iloc[rows])
    assert texts_of(text_rows(column, rows)).to_pylist() == column.iloc[rows].fillna("").tolist()


@given(st.lists(st.integers(-5, 2**40) | st.integers(0, 9)))
def test_integers_are_ordered_as_by_a_stable_sort(values: list[int]) -> None:
    array = np.array(values, np.int64)
    assert ascending(array).tolist() == np.argsort(array, kind="stable").tolist()
