"""Sizes in the footer of a Parquet file, and footers that crash Arrow."""

import contextlib
import io
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.apart import apart, refusal
from tfvis_nb.reading import parquet
from tfvis_nb.reading.parquet import unpacked_sizes


def written(table: pa.Table, **options: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def size_of(data: bytes) -> int:
    return sum(unpacked_sizes(data, 8))


def by_arrow(data: bytes) -> int:
    """Sum up Arrow's sizes of the same columns."""
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    values = [group.column(n).num_values for group in groups for n in range(group.num_columns)]
    return int(sum(group.total_byte_size for group in groups) + 8 * sum(values))


@pytest.fixture(autouse=True)
def _without_a_smallest_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_SMALLEST_PAGE", 0)


@pytest.mark.parametrize(
    "options", [{}, {"row_group_size": 7}, {"write_statistics": False}, {"version": "1.0"}]
)
def test_the_size_is_what_arrow_says(options: dict[str, object], tmp_path: Path) -> None:
    path = tv.read_trace(DATA / "local_mlp_step1.pb").to_parquet(tmp_path / "trace.parquet")
    data = written(pq.read_table(path), **options)
    assert size_of(data) == by_arrow(data) > 0


def test_fields_unlike_ours_are_passed_over() -> None:
    """Dates, decimals and sorting columns have kinds of fields that our files have not."""
    table = pa.table({"a": pa.array([1, 2], pa.timestamp("us", "UTC")), "b": pa.array([True, None])})
    data = written(table, sorting_columns=[pq.SortingColumn(0, descending=True)], write_page_index=True)
    assert size_of(data) == by_arrow(data) > 0


FOOTER = written(pa.table({"start_ns": [1, 2], "outputs": [[1], []]}))


@given(st.integers(0, struct.unpack("<I", FOOTER[-8:-4])[0] + 7), st.binary(min_size=1, max_size=12))
def test_a_damaged_footer_has_a_size_or_is_damaged(before_end: int, put: bytes) -> None:
    at = len(FOOTER) - 1 - before_end
    damaged = FOOTER[:at] + put + FOOTER[at + len(put) :]
    with contextlib.suppress(pa.ArrowInvalid):
        assert size_of(damaged) >= 0


def test_a_list_of_very_many_flags_ends_where_the_file_does() -> None:
    flags = b"\x19\xf1" + b"\xff" * 8 + b"\x7f"
    with pytest.raises(pa.ArrowInvalid):
        size_of(flags + struct.pack("<I", len(flags)) + b"PAR1")


def test_statistics_that_do_not_fit_their_column(tmp_path: Path) -> None:
    path = tv.read_trace(DATA / "local_mlp_step1.pb").to_parquet(tmp_path / "trace.parquet")
    # The column is declared to have a value in every row, and its statistics count rows without one.
    optional, required = (b"\x25" + repetition + b"\x18\x08start_ns" for repetition in (b"\x02", b"\x00"))
    data = path.read_bytes()
    assert data.count(optional) == 1
    path.write_bytes(data.replace(optional, required))
    done = apart(refusal, path)
    assert not done.raised, done.raised
    assert done.result.startswith("TraceFormatError: ")
