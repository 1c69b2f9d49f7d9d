"""Covered time against counting moments."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfvis_nb.core.intervals import overlap, union

Row = tuple[int, int, int]
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(-20, 20), st.integers(0, 9)), max_size=15)


def columns(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 1] + table[:, 2]


@given(ROWS, ROWS)
def test_as_many_moments_as_are_in_both(there: list[Row], asked: list[Row]) -> None:
    moments = {(group, start + after) for group, start, length in there for after in range(length)}
    expected = [
        sum((group, start + after) in moments for after in range(length)) for group, start, length in asked
    ]
    assert overlap(union(*columns(there)), *columns(asked)).tolist() == expected


def test_an_interval_that_ends_before_it_starts_is_empty() -> None:
    busy = union(np.array([0]), np.array([0]), np.array([10]))
    assert overlap(busy, np.array([0]), np.array([7]), np.array([3])).tolist() == [0]
