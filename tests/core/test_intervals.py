"""The sweep against the same counted moment by moment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfvis_nb.core.intervals import Segments, fill_gaps, lengths, priority_union, union

WINDOW = 40
GROUPS = 3
LEVELS = 5

Row = tuple[int, int, int, int]
ROWS = st.lists(
    st.tuples(
        st.integers(0, GROUPS - 1), st.integers(0, WINDOW), st.integers(0, 15), st.integers(0, LEVELS - 1)
    ),
    max_size=25,
)


def columns(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(rows, np.int64).reshape(-1, 4)
    return table[:, 0], table[:, 1], table[:, 1] + table[:, 2], table[:, 3]


def bitmap(rows: list[Row]) -> np.ndarray:
    """Return for each group, level and nanosecond how many rows are active."""
    counts = np.zeros((GROUPS, LEVELS, WINDOW + 20), int)
    for group, start, length, level in rows:
        for moment in range(start, start + length):
            counts[group, level, moment] += 1
    return counts


def painted(segments: Segments) -> np.ndarray:
    """Return the level at each group and nanosecond, checking that the segments are in order and apart."""
    picture = np.zeros((GROUPS, WINDOW + 20), int)
    before = (-1, 0, -1)
    for group, start, end, level in zip(*(column.tolist() for column in segments), strict=True):
        assert start < end
        assert group > before[0] or start > before[1] or (start == before[1] and level != before[2])
        assert (picture[group, start:end] == 0).all()
        picture[group, start:end] = level
        before = (group, end, level)
    return picture


@given(ROWS)
def test_the_highest_level_that_is_active(rows: list[Row]) -> None:
    counts = bitmap(rows)
    expected = np.zeros((GROUPS, WINDOW + 20), int)
    for level in range(1, LEVELS):
        expected[counts[:, level] > 0] = level
    assert (painted(priority_union(*columns(rows))) == expected).all()


@given(ROWS)
def test_whether_any_is_active(rows: list[Row]) -> None:
    group, start, end, _ = columns(rows)
    expected = bitmap(rows).sum(axis=1)
    assert (painted(union(group, start, end)) == (expected > 0)).all()


@given(ROWS, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 25)), min_size=3, max_size=3))
def test_tiles_cover_their_window_exactly(rows: list[Row], windows: list[tuple[int, int]]) -> None:
    first = np.array([start for start, _ in windows])
    last = first + np.array([length for _, length in windows])
    segments = priority_union(*columns(rows))
    whole = fill_gaps(segments, first, last)
    parts = lengths(whole, GROUPS, LEVELS)
    assert (parts.sum(axis=1) == last - first).all()
    assert (whole.length > 0).all()
    picture = painted(segments)
    for group in range(GROUPS):
        seen = picture[group, first[group] : last[group]]
        assert parts[group].tolist() == np.bincount(seen, minlength=LEVELS).tolist()
        stretches = whole.take(whole.group == group)
        if len(stretches.start):
            assert (stretches.start[0], stretches.end[-1]) == (first[group], last[group])
            assert (stretches.start[1:] == stretches.end[:-1]).all()


def test_times_that_are_decades_apart_are_told_apart() -> None:
    group = np.array([0, 1, 2, 2])
    start = np.array([5, 1_795_211_650_000_000_000, 0, 1_795_211_650_000_000_000])
    found = lengths(union(group, start, start + 10), 3, 2)
    assert found[:, 1].tolist() == [10, 10, 20]


def test_nothing_of_nothing() -> None:
    nothing = np.zeros(0, np.int64)
    assert len(union(nothing, nothing, nothing).group) == 0
    assert len(priority_union(nothing, nothing, nothing, nothing).group) == 0
    assert len(fill_gaps(union(nothing, nothing, nothing), nothing, nothing).group) == 0
