"""Annotations of a trace: valid values, use after reading the trace again, and damaged ones."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support.texts import figures_of, raises_id
from tfvis_nb import events
from tfvis_nb.core.annotations import build, from_json, to_json
from tfvis_nb.core.trace import replaced

T0 = 1_700_000_000_000_000_000
TASK, DEVICE = "/job:worker/replica:0/task:1", "/job:worker/replica:0/task:1/device:GPU:0"


def table() -> pd.DataFrame:
    return events.build(
        {
            "start_ns": [T0, T0 + 10, T0 + 10, T0 + 100],
            "duration_ns": [20, 5, 7, 10],
            "kind": ["op", "op", "kernel", "op"],
            "task": [TASK] * 4,
            "device": [DEVICE] * 4,
            "lane": ["ops", "ops", "stream:1", "ops"],
            "name": ["a", "b", "b", "c"],
            "step": [0, 0, 0, 1],
        }
    )


def test_omitted_columns_follow_from_the_others() -> None:
    trace = tv.Trace(table())
    lane = (TASK, DEVICE, "ops")
    trace.annotations = [
        {"event": 2, "name": " slow ", "text": "why?"},
        {"start_ns": T0 + 5, "name": "here"},
        {"start_ns": T0 + 101, "end_ns": T0 + 104, "name": "there", "lanes": [lane]},
    ]
    found = trace.annotations
    assert found["kind"].tolist() == ["mark", "event", "range"]
    assert found["start_ns"].tolist() == [T0 + 5, T0 + 10, T0 + 101]
    assert found["end_ns"].tolist() == [T0 + 5, T0 + 17, T0 + 104]
    assert found["step"].tolist() == [0, 0, 1]
    assert found["lanes"].tolist() == [[], [(TASK, DEVICE, "stream:1")], [lane]]
    assert found["event"].tolist() == [pd.NA, 2, pd.NA]
    assert found["event_name"].tolist() == ["", "b", ""]
    assert found["name"].tolist() == ["here", "slow", "there"]
    assert found["id"].is_unique
    assert {name: str(found[name].dtype) for name in ("start_ns", "step", "event")} == {
        "start_ns": "int64",
        "step": "Int64",
        "event": "Int64",
    }
    # The table that was got can be changed and set.
    found.loc[0, "name"] = "moved"
    found.loc[0, "start_ns"] = found.loc[0, "end_ns"] = T0 + 6
    trace.annotations = found
    assert trace.annotations.loc[0, ["name", "start_ns"]].tolist() == ["moved", T0 + 6]
    assert trace.annotations["id"].tolist() == found["id"].tolist()
    trace.annotations = None
    assert trace.annotations.empty


def test_events_are_found_by_lane_start_and_name() -> None:
    trace = tv.Trace(table())
    trace.annotations = [{"event": event, "name": f"of {event}"} for event in range(4)]
    # The same run with one more event recorded before.
    other = pd.concat([table().iloc[:1].assign(start_ns=T0 - 9), table()], ignore_index=True)
    again = tv.Trace(events.build({name: other[name] for name in other.columns}))
    again.annotations = trace.annotations
    assert again.annotations["event"].tolist() == [1, 2, 3, 4]
    # A trace without the event keeps the text, at its time.
    lacking = table()
    lacking.loc[2, "name"] = "other"
    again = tv.Trace(lacking)
    again.annotations = trace.annotations
    assert again.annotations["event"].tolist() == [0, 1, pd.NA, 3]
    assert again.annotations.loc[2, ["kind", "event_name", "name"]].tolist() == ["event", "b", "of 2"]


@pytest.mark.parametrize(
    ("row", "error", "figures"),
    [
        ({"name": "x"}, "annotation_without_time", {"row": 1}),
        ({"start_ns": T0}, "annotation_without_name", {"row": 1}),
        ({"start_ns": T0, "name": " \n"}, "annotation_without_name", {"row": 1}),
        ({"start_ns": T0, "name": "x" * 201}, "annotation_text", {"column": "name", "most": 200}),
        ({"start_ns": T0, "name": "x", "text": "y" * 4001}, "annotation_text", {"column": "text"}),
        ({"start_ns": T0, "name": 5}, "annotation_text", {"column": "name", "size": "int"}),
        ({"start_ns": T0 + 3, "end_ns": T0 + 2, "name": "x"}, "annotation_reversed", {"row": 1}),
        ({"start_ns": 3, "name": "x"}, "annotation_outside", {"origin": T0, "last": T0 + 110}),
        ({"start_ns": True, "name": "x"}, "annotation_number", {"column": "start_ns"}),
        ({"start_ns": "now", "name": "x"}, "annotation_number", {"column": "start_ns", "value": "now"}),
        ({"event": 4, "name": "x"}, "annotation_event", {"row": 1, "event": 4, "events": 4}),
        ({"start_ns": T0, "step": 99, "name": "x"}, "annotation_step", {"row": 1, "step": 99}),
        ({"event": 0, "step": -1, "name": "x"}, "annotation_step", {"row": 1, "step": -1}),
        ({"start_ns": T0, "name": "x", "kind": "note"}, "annotation_kind", {"kind": "note"}),
        ({"start_ns": T0, "name": "x", "lanes": [("a", "b", "c")]}, "annotation_lanes", {"row": 1}),
        ({"start_ns": T0, "name": "x", "lanes": "ops"}, "annotation_lanes", {"row": 1}),
        ({"start_ns": T0, "name": "x", "lanes": [5]}, "annotation_lanes", {"row": 1}),
    ],
)
def test_what_an_annotation_cannot_be_is_named(
    row: dict[str, Any], error: str, figures: dict[str, Any]
) -> None:
    trace = tv.Trace(table())
    with raises_id(ValueError, error, **figures):
        trace.annotations = [{"event": 0, "name": "fine"}, row]
    assert trace.annotations.empty


def test_values_that_are_no_table_are_rejected() -> None:
    trace = tv.Trace(table())
    with raises_id(TypeError, "annotation_column", row=1, name="evnt", hint="; did you mean 'event'?"):
        trace.annotations = [{"event": 0, "name": "x"}, {"evnt": 0}]
    for value in ("x", 5, {"name": "x"}):
        with raises_id(TypeError, "annotations_no_table"):
            trace.annotations = value
    with raises_id(TypeError, "annotation_no_mapping", row=1):
        trace.annotations = [{"event": 0, "name": "x"}, None]
    with raises_id(ValueError, "annotation_lanes", lanes="GPU"):
        trace.annotations = [{"start_ns": 0, "name": "x", "lanes": ["GPU"]}]
    with raises_id(ValueError, "annotations_too_many", annotations=1001, most=1000):
        trace.annotations = [{"event": 0, "name": "x"}] * 1001


def test_damaged_ones_are_left_out_with_a_note() -> None:
    good = to_json(build([{"event": 1, "name": "x", "text": "\ud800é"}], table()))
    assert good[0]["text"] == "?é"
    for damaged in (
        [5],
        [None],
        ["name"],
        [{"name": "x"}],
        [{"name": "x", "start_ns": 2**70}],
        [{"name": "x", "start_ns": T0, "lanes": {"a": 1}}],
        [{"name": ["x"], "start_ns": T0}],
        [{"name": "x", "event": [1]}],
    ):
        found, notes = from_json([*damaged, *good], table())
        assert found["event"].tolist() == [1]
        assert [each["annotations"] for each in figures_of(notes, "annotations_left_out")] == [1]
    assert from_json({"a": 1}, table())[0].empty
    found, notes = from_json(good * 1002, table())
    assert len(found) == 1000
    assert found["id"].is_unique
    assert [each["annotations"] for each in figures_of(notes, "annotations_left_out")] == [2]


def test_they_go_with_parts_but_not_to_other_times() -> None:
    trace = tv.Trace(table())
    trace.annotations = [{"event": 3, "name": "last"}, {"start_ns": T0, "name": "first"}]
    same = replaced(trace, trace.events, title="other")
    assert same.annotations["name"].tolist() == ["first", "last"]
    later = replaced(trace, trace.events.assign(start_ns=trace.events["start_ns"] + 5))
    assert later.annotations.empty


def test_whoever_watches_hears_of_each_change() -> None:
    class Watcher:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def look(self) -> None:
            self.seen.append(len(trace.annotations))

    trace = tv.Trace(table())
    watcher = Watcher()
    trace._watch_annotations(watcher, Watcher.look)
    trace.annotations = [{"event": np.int64(0), "name": "x"}]
    trace.annotations = None
    assert watcher.seen == [1, 0]
