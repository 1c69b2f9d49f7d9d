from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import real_trace
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.display.shaping.selection import selected_rows, selection_of, validate_selection
from tfvis_nb.texts import text_of

ORIGIN = 1_700_000_000_000_000_000
TABLE = events.build(
    {
        "start_ns": [ORIGIN, ORIGIN + 10, ORIGIN + 10, ORIGIN + 30],
        "duration_ns": [20, 5, 0, 10],
        "kind": ["op"] * 4,
        "lane": ["ops", "recv", "ops", "recv"],
        "op": ["a", "b", "a", "b"],
        "step": [0, 0, 0, 1],
    }
)
LANES = order_lanes(TABLE)
EMPTY = events.build({}, rows=0)


def rows(start: float, end: float, lanes: list[int] | None = None, step: int | None = None) -> list[int]:
    selection = {"start": start, "end": end, "lanes": lanes, "step": step}
    return selected_rows(TABLE, LANES, validate_selection(TABLE, LANES, selection)).index.tolist()


def test_a_range_selects_what_overlaps_it() -> None:
    assert rows(0, 40) == [0, 1, 2, 3]
    assert rows(15, 30) == [0]  # event 1 ends at the start of the range, event 3 starts at its end
    assert rows(14, 31) == [0, 1, 3]
    assert rows(10, 11) == [0, 1, 2]  # event 2 has no length and begins where the range does
    assert rows(9, 10) == [0, 2]  # or at its end
    assert rows(10, 10) == [0, 2]
    assert rows(11, 12) == [0, 1]
    assert rows(4.5, 4.75) == [0]


def test_a_range_selects_on_its_lanes_and_in_its_step() -> None:
    assert LANES.table["lane"].tolist() == ["ops", "recv"]
    assert rows(0, 40, lanes=[0]) == [0, 2]
    assert rows(0, 40, lanes=[]) == []
    assert rows(0, 40, step=1) == [3]
    assert rows(0, 40, lanes=[0], step=1) == []


def test_a_range_is_told_in_epoch_nanoseconds() -> None:
    selection = {"start": 5, "end": 25.5, "lanes": None, "step": None}
    assert selected_rows(TABLE, LANES, selection).attrs["range_ns"] == (ORIGIN + 5, ORIGIN + 25)
    assert "range_ns" not in TABLE.attrs


def test_nothing_selected_is_an_empty_table() -> None:
    assert selected_rows(TABLE, LANES, None).empty
    assert list(selected_rows(TABLE, LANES, None).columns) == list(TABLE.columns)


@pytest.mark.parametrize(
    "value",
    [
        TABLE[TABLE["op"] == "b"],
        TABLE.loc[[3, 1], ["name"]].sort_index(),
        TABLE["op"] == "b",
        (TABLE["op"] == "b").sort_index(ascending=False),
        (TABLE["op"] == "b").to_numpy(),
        pd.array([None, True, False, True], "boolean"),
        [1, 3],
        np.array([1, 3], "u4"),
        pd.Index([1, 3]),
        pd.Series([1, 3]),
        pd.DataFrame({"event": [1, 3], "wait_ns": [0, 0]}, index=[7, 8]),
        pd.DataFrame({"event": [1, 3], "start_ns": [ORIGIN + 10, ORIGIN + 30]}),
    ],
)
def test_what_python_users_select_by(value: Any) -> None:
    selection = selection_of(TABLE, value)
    assert selection == {"events": [1, 3]}
    assert selected_rows(TABLE, LANES, validate_selection(TABLE, LANES, selection)).index.tolist() == [1, 3]


@pytest.mark.parametrize("value", [None, [], TABLE.iloc[:0], TABLE["op"] == "none", np.array([], "i8")])
def test_selecting_nothing(value: Any) -> None:
    assert selection_of(TABLE, value) is None


def test_a_tuple_is_a_range_of_epoch_nanoseconds() -> None:
    selection = selection_of(TABLE, (np.int64(ORIGIN + 14), ORIGIN + 31))
    assert selection == {"start": 14, "end": 31, "lanes": None, "step": None}
    assert selected_rows(TABLE, LANES, selection).index.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ([4], "no_such_event"),
        ([-1], "no_such_event"),
        ([0.5], "event_ids_no_list"),
        (["a"], "event_ids_no_list"),
        ([True, False], "event_ids_no_list"),
        ("ops", "cannot_select"),
        (3, "cannot_select"),
        ({"events": [1]}, "cannot_select"),
        (np.array([True]), "mask_length"),
        (pd.Series([True] * 4, index=[5, 6, 7, 8]), "mask_index"),
        (TABLE.assign(start_ns=0), "rows_of_another_trace"),
        (TABLE.set_axis([4, 5, 6, 7]), "no_such_event"),
        (pd.DataFrame({"a": [1]}), "table_selected"),
        (pd.DataFrame(index=[0]), "table_selected"),
        (pd.DataFrame({"event": [9]}), "no_such_event"),
        (pd.DataFrame({"event": ["b"]}), "event_ids_no_list"),
        (pd.DataFrame({"event": [1], "start_ns": [ORIGIN]}), "rows_of_another_trace"),
        (pd.DataFrame({"op": ["b"]}), "rows_of_another_trace"),
        (tv.Trace(TABLE).lanes.head(1), "table_selected"),
        (tv.Trace(TABLE).steps, "table_selected"),
        (TABLE["duration_ns"].nsmallest(1), "column_selected"),
        ((1, 2, 3), "range_no_pair"),
        ((1.5, 2), "range_no_pair"),
        ((ORIGIN + 9, ORIGIN), "range_reversed"),
        ((0, 40), "range_outside"),
    ],
)
def test_what_cannot_be_selected_is_refused(value: Any, key: str) -> None:
    with raises_id(ValueError, key):
        selection_of(TABLE, value)


@pytest.mark.parametrize(
    "selection",
    [
        "all",
        {},
        {"events": [9]},
        {"events": "1"},
        {"start": 0},
        {"start": 5, "end": 1, "lanes": None, "step": None},
        {"start": None, "end": 1, "lanes": None, "step": None},
        {"start": float("nan"), "end": 1, "lanes": None, "step": None},
        {"start": 0, "end": float("inf"), "lanes": None, "step": None},
        {"start": 0, "end": 1, "lanes": [2], "step": None},
        {"start": 0, "end": 1, "lanes": [[0]], "step": None},
        {"start": 0, "end": 1, "lanes": 0, "step": None},
        {"start": 0, "end": 1, "lanes": None, "step": [0]},
        {"start": 0, "end": 10**400, "lanes": None, "step": None},
    ],
)
def test_impossible_selections_are_rejected(selection: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its id says why
        validate_selection(TABLE, LANES, selection)
    assert text_of(caught.value).id in {
        "event_ids_no_list",
        "no_selection",
        "no_such_event",
        "no_such_lanes",
        "range_of_other_types",
        "range_reversed",
    }


def test_an_empty_trace_has_nothing_to_select() -> None:
    assert selected_rows(EMPTY, order_lanes(EMPTY), None).empty
    assert selection_of(EMPTY, EMPTY) is None
    with raises_id(ValueError, "no_such_event", event=0):
        selection_of(EMPTY, [0])


def test_the_longest_waits_of_a_trace_are_selected(data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_dist.pb.xz")
    longest = trace.transfers.nlargest(5, "wait_ns")
    assert selection_of(trace.events, longest) == {"events": longest["event"].tolist()}
    with raises_id(ValueError, "rows_of_another_trace"):
        selection_of(real_trace(data / "gpu_tf221_mlp.pb.xz").events, longest)
