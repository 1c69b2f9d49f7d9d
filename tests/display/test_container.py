import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.texts import raises_id
from tests.wire_reader import read_container
from tfvis_nb.display.wire.container import Encoding, WireColumn, pack

INTEGERS: list[tuple[str, Encoding]] = [
    (dtype, encoding) for dtype in ("u1", "u2", "u4") for encoding in ("plain", "shuffle", "delta-shuffle")
]


@pytest.mark.parametrize(("dtype", "encoding"), INTEGERS)
@given(data=st.data())
def test_integers_come_back(dtype: str, encoding: Encoding, data: st.DataObject) -> None:
    largest = int(np.iinfo(dtype).max)
    values = data.draw(st.lists(st.integers(0, largest), max_size=50))
    packed = pack(
        {}, {"before": WireColumn(np.zeros(3, "u1")), "it": WireColumn(np.array(values, dtype), encoding)}
    )
    assert read_container(packed)[1] == {"before": [0, 0, 0], "it": values}


@given(st.lists(st.floats(width=64, allow_nan=False), max_size=50))
def test_floats_come_back(values: list[float]) -> None:
    packed = pack(
        {}, {"a": WireColumn(np.array(values, "f8"), "plain"), "b": WireColumn(np.array(values, "f8"))}
    )
    assert read_container(packed)[1] == {"a": values, "b": values}


def test_the_header_comes_back_and_is_padded() -> None:
    for title in ("", "a", "ab", "</script>", "\u03bb \U0001f600"):
        header, _ = read_container(pack({"title": title}, {"x": WireColumn(np.arange(5, dtype="u2"))}))
        assert header["title"] == title


def test_columns_of_a_strided_or_big_endian_array_come_back() -> None:
    strided = np.arange(10, dtype="u4")[::3]
    packed = pack({}, {"a": WireColumn(strided), "b": WireColumn(strided.astype(">u4"), "plain")})
    assert read_container(packed)[1] == {"a": [0, 3, 6, 9], "b": [0, 3, 6, 9]}


def test_the_same_input_gives_the_same_single_gzip_member() -> None:
    columns = {"x": WireColumn(np.arange(1000, dtype="u4"), "delta-shuffle")}
    first = pack({"version": 1}, columns)
    assert first == pack({"version": 1}, columns)
    assert first[4:8] == bytes(4)  # no time stamp
    assert gzip.decompress(first)


def test_a_dtype_that_the_front_end_does_not_know_is_refused() -> None:
    with raises_id(ValueError, "column_dtype_unknown", name="x", dtype="int64"):
        pack({}, {"x": WireColumn(np.arange(3))})


def test_a_header_that_is_not_json_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        pack({"span": float("nan")}, {})
