"""Trace: its contents and derived tables."""

import pickle
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.analysis.events.activity import activity


def table() -> pd.DataFrame:
    return events.build(
        {"start_ns": [5, 9, 40], "duration_ns": [3, 10, 2], "step": [0, 0, 1], "kind": ["op"] * 3}
    )


def test_steps() -> None:
    steps = tv.Trace(table(), step_labels={0: "warm up"}).steps
    assert steps.pop("joules").isna().all()
    assert steps.to_dict("list") == {
        "step": [0, 1],
        "start_ns": [5, 40],
        "end_ns": [19, 42],
        "duration_ns": [14, 2],
        "events": [2, 1],
        "label": ["warm up", ""],
    }


def test_events_of_no_step_are_not_counted_as_one() -> None:
    columns = {"start_ns": [1, 5, 9], "duration_ns": [3] * 3, "step": [-1, 0, 1], "kind": ["op"] * 3}
    trace = tv.Trace(events.build(columns))
    assert trace.steps["step"].tolist() == [-1, 0, 1]
    for summary in (repr(trace), repr(tv.show_timeline(trace)), trace.to_html(), trace._repr_html_()):
        assert "2 steps, 11 ns" in summary


def test_derived_tables_are_made_once() -> None:
    trace = tv.Trace(table())
    assert trace.lanes is trace.lanes
    assert trace.edges is trace.edges
    assert trace.transfers is trace.transfers


def test_a_trace_with_kept_results_is_pickled() -> None:
    trace = tv.Trace(table())
    found = activity(trace)
    assert activity(trace) is found
    assert activity(pickle.loads(pickle.dumps(trace))).tolist() == found.tolist()


def test_an_empty_trace_has_empty_tables() -> None:
    trace = tv.Trace(events.build({}, rows=0))
    assert [len(part) for part in (trace.lanes, trace.edges, trace.transfers, trace.steps)] == [0, 0, 0, 0]
    assert list(trace.edges.columns) == ["source", "target", "kind"]


def test_malformed_tables_are_refused() -> None:
    with raises_id(ValueError, "rows_unordered"):
        tv.Trace(table().iloc[::-1])
    with raises_id(ValueError, "nested_rows_differ", nested=2, events=3):
        tv.Trace(table(), nested=pa.table({"temp_bytes": [1, 2]}))


def test_the_event_table_cannot_be_replaced() -> None:
    trace = tv.Trace(table())
    with pytest.raises(AttributeError):
        setattr(trace, "events", table())  # noqa: B010 - the linter knows that this cannot be assigned
    assert len(trace.events) == 3


def test_a_title_is_a_text() -> None:
    trace = tv.Trace(table())
    number: Any = 3
    for titled in (
        lambda: tv.Trace(table(), title=number),
        lambda: tv.read_trace("is not read", title=number),
        lambda: tv.show_timeline("is not read", title=number),
        lambda: tv.TimelineWidget(trace, title=number),
        lambda: tv.TimelineWidget(trace).to_html(title=number),
        lambda: trace.to_html(title=number),
    ):
        with raises_id(TypeError, "title_no_text", title=3):
            titled()
