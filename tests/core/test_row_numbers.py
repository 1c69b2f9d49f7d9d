from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfvis_nb.core.row_numbers import number_rows

_VALUES: dict[str, list[Any]] = {
    "int64": [3, -1, 0],
    "float64": [1.5, np.nan, 0.0],
    "Int64": [1, None, 0],
    "bool": [True, False],
}
_TEXTS: list[Any] = ["a", "", None, "b"]


@st.composite
def _columns(draw: st.DrawFn) -> list[pd.Series]:
    count = draw(st.integers(0, 12))
    columns = []
    for dtype in draw(
        st.lists(st.sampled_from([*_VALUES, "str", "object", "category"]), min_size=1, max_size=4)
    ):
        values = st.sampled_from(_VALUES.get(dtype, _TEXTS))
        rows = draw(st.lists(values, min_size=count, max_size=count))
        # Rows of a table are often a selection, with labels of their own.
        columns.append(pd.Series(rows, range(5, 5 + count), dtype=dtype))
    return columns


@given(_columns())
def test_rows_are_numbered_in_order_of_appearance(columns: list[pd.Series]) -> None:
    number, first = number_rows(*columns)
    known: dict[tuple[object, ...], int] = {}
    expected = [
        known.setdefault(tuple(None if pd.isna(value) else value for value in row), len(known))
        for row in zip(*columns, strict=True)
    ]
    assert number.tolist() == expected
    assert first.tolist() == [expected.index(one) for one in range(len(known))]
    assert number.dtype == first.dtype == np.dtype(np.int64)


@pytest.mark.parametrize("dtype", ["int8", "float64", "str", "object"])
def test_arrays_are_numbered_like_columns(dtype: str) -> None:
    values = np.array(["2", "1", "2"]).astype(dtype)
    assert number_rows(values, values)[0].tolist() == [0, 1, 0]
    assert [part.tolist() for part in number_rows(values[:0], values[:0])] == [[], []]


def test_many_values_in_many_columns_do_not_overflow() -> None:
    values = np.arange(1 << 16)
    number, first = number_rows(*[values] * 5)
    assert (number == values).all()
    assert (first == values).all()
