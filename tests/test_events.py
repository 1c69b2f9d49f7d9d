"""The event table: how one is built, ordered and checked."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tfvis_nb
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.events import LATEST_NS


def test_columns_that_are_left_out_hold_their_empty_value() -> None:
    table = events.build({"start_ns": [5], "duration_ns": [3]})
    assert list(table.columns) == list(events.COLUMNS)
    blank = table.iloc[0]
    assert [blank[name] for name in ("step", "name", "tensor", "detail", "task", "op")] == [0, *[""] * 5]
    assert table[["scheduled_ns", "thread", "bytes"]].isna().all(axis=None)


def test_dtypes_whatever_the_values_came_as() -> None:
    table = events.build(
        {
            "start_ns": np.array([5, 9], "int32"),
            "duration_ns": pd.Series([3, 1], index=[7, 8]),
            "name": pa.array(["a", "\N{SNOWMAN}"]),
            "detail": pa.chunked_array([["x"], ["y"]], pa.large_string()),
            "tensor": ["", "t"],
            "bytes": [None, 4],
            "op": ["Mul", "Mul"],
            "kind": ["op", "op"],
        }
    )
    events.check(events.order(table)[0])
    assert str(table["bytes"].dtype) == "Int64"
    assert table["name"].dtype == table["op"].cat.categories.dtype == events.TEXT
    assert table["name"].tolist() == ["a", "\N{SNOWMAN}"]
    assert table["bytes"].isna().tolist() == [True, False]
    assert table.index.tolist() == [0, 1]
    assert table["duration_ns"].tolist() == [3, 1]


def test_no_rows() -> None:
    table = events.build({}, rows=0)
    events.check(events.order(table)[0])


def test_wrong_columns_are_named() -> None:
    with raises_id(ValueError, "unknown_column", column="colour"):
        events.build({"start_ns": [5], "duration_ns": [3], "colour": ["red"]})
    with raises_id(ValueError, "column_needed", column="duration_ns"):
        events.build({"start_ns": [5]})


def test_where_nobody_knows_is_the_empty_text() -> None:
    columns = {"start_ns": [5, 9, 12], "duration_ns": [3, 1, 1], "kind": ["op"] * 3}
    unknown: dict[str, list[object]] = {
        name: ["q", None, np.nan] for name in ("task", "device", "lane", "op")
    }
    table = events.build({**columns, **unknown, "name": ["a", None, "b"]})
    for name in unknown:
        assert table[name].tolist() == ["q", "", ""]
        assert table[name].cat.categories.dtype == events.TEXT
    trace = tfvis_nb.Trace(table, title="hand-made")
    assert sorted(trace.lanes["lane"]) == ["", "q"]
    assert "hand-made" in trace.to_html()
    whole = events.build({**columns, "lane": pd.Categorical(["a", None, "b"], categories=["b", "a"])})
    assert whole["lane"].tolist() == ["a", "", "b"]


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("start_ns", [5, None], "column_value_missing"),
        ("duration_ns", [float("nan"), 1], "column_value_missing"),
        ("step", [0, pd.NA], "column_value_missing"),
        ("kind", ["op", None], "column_value_missing"),
        ("lane", ["a"], "column_length"),
        ("name", ["a", "b", "c"], "column_length"),
        ("start_ns", ["now", "then"], "column_values"),
        ("bytes", ["many", "few"], "column_values"),
        ("start_ns", [2**70, 1], "column_values"),
    ],
)
def test_values_that_a_column_cannot_have_are_named(column: str, values: list[object], said: str) -> None:
    good_ones: dict[str, list[object]] = {"start_ns": [5, 9], "duration_ns": [3, 1], "kind": ["op", "op"]}
    with raises_id(ValueError, said):
        events.build({**good_ones, column: values})


def test_order_is_by_start_longest_first_and_stable() -> None:
    table = events.build({"start_ns": [9, 5, 5, 5], "duration_ns": [1, 3, 4, 3], "name": list("abcd")})
    ordered, before = events.order(table)
    assert ordered["name"].tolist() == list("cbda")
    assert before.tolist() == [2, 1, 3, 0]
    assert ordered.index.tolist() == [0, 1, 2, 3]


def good() -> pd.DataFrame:
    return events.build({"start_ns": [5, 9], "duration_ns": [3, 1], "kind": ["op", "kernel"]})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.drop(columns=["op", "bytes"]), "columns_missing"),
        (lambda table: table.assign(more=1), "wrong_columns"),
        (
            lambda table: table.assign(start_ns=table["start_ns"].astype(float)),
            "column_dtype",
        ),
        (lambda table: table.assign(name=table["name"].astype(object)), "column_dtype"),
        (lambda table: table.iloc[::-1], "rows_unordered"),
        (lambda table: table.assign(duration_ns=[3, -1]), "negative_duration"),
        (lambda table: table.assign(step=np.array([0, -2], "int32")), "impossible_step"),
        (
            lambda table: table.assign(start_ns=[5, LATEST_NS + 1]),
            "impossible_time",
        ),
        (lambda table: table.assign(start_ns=[-(2**63), 9]), "impossible_time"),
        (lambda table: table.assign(duration_ns=[3, LATEST_NS]), "impossible_time"),
        (
            lambda table: table.assign(scheduled_ns=pd.array([None, 2**63 - 1], "Int64")),
            "impossible_time",
        ),
        (
            lambda table: table.assign(start_ns=-LATEST_NS, duration_ns=LATEST_NS),
            "column_sum_too_large",
        ),
        (
            lambda table: table.assign(bytes=pd.array([2**62, 1000], "Int64")),
            "column_sum_too_large",
        ),
        (lambda table: table.assign(kind=pd.Categorical(["op", "dance"])), "unknown_kind"),
        (lambda table: table.assign(kind=pd.Categorical(["op", None])), "column_value_missing"),
        (lambda table: table.assign(task=pd.Categorical([None, ""])), "column_value_missing"),
        (lambda table: table.assign(device=pd.Categorical(["d", None])), "column_value_missing"),
        (lambda table: table.assign(lane=pd.Categorical(["q", None])), "column_value_missing"),
    ],
)
def test_check_names_the_fault(change: Callable[[pd.DataFrame], pd.DataFrame], said: str) -> None:
    events.check(good())
    with raises_id(ValueError, said):
        events.check(change(good()))
