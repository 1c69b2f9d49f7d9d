"""The view of a timeline as a value: got, set, in pages, and what it cannot be."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.display.test_gap_compression import far_apart
from tests.real_traces import DATA, real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, show_dashboard, show_timeline
from tfvis_nb.display.timeline.widget import TimelineWidget


@pytest.fixture
def trace() -> Trace:
    return real_trace(DATA / "dist_inproc_ps_2workers_step0.pb")


def page_view(page: str) -> Any:
    found = re.search(r'id="tfvis-options">(.*?)</script>', page)
    assert found
    return json.loads(found[1])["view"]


def lanes(trace: Trace) -> list[tuple[str, ...]]:
    return list(trace.lanes[["task", "device", "lane"]].astype(str).itertuples(index=False, name=None))


def test_a_view_is_set_as_it_was_got(trace: Trace) -> None:
    widget, other = show_timeline(trace), show_timeline(trace)
    start = int(trace.events["start_ns"].iloc[0])
    first, second, *_ = lanes(trace)
    widget.view = {
        "start_ns": start + 1000,
        "end_ns": start + 5000,
        "hidden": [first, second[:2]],
        "pinned": [second],
        "details": False,
        "group_by": "kind",
        "selection": [3, 4],
    }
    view = widget.view
    assert (view["start_ns"], view["end_ns"], view["hidden"]) == (
        start + 1000,
        start + 5000,
        [first, second[:2]],
    )
    assert (view["step"], view["details"], view["graph"], view["selection"]) == (None, False, False, [3, 4])
    assert widget.group_by == "kind"
    assert widget.selection.index.tolist() == [3, 4]
    other.view = view
    assert other.view == view
    # A part of it changes nothing else.
    other.view = {"start_ns": start, "selection": (start, start + 9)}
    assert other.view == {**view, "start_ns": start, "selection": (start, start + 9)}
    # Numbers of tables are NumPy's.
    other.view = {"start_ns": trace.events["start_ns"].iloc[0], "step": trace.steps["step"].iloc[0]}
    assert (other.view["start_ns"], other.view["step"]) == (start, 0)
    assert json.loads(json.dumps(other._view))["step"] == 0


def test_what_the_front_end_tells_is_the_view_and_is_in_pages(trace: Trace) -> None:
    shown = {"start": -10.4, "end": 5000, "step": 0, "hidden": [["a"]], "pinned": []}
    told = {**shown, "details": True, "graph": True, "code": False}
    for widget in (show_timeline(trace), show_dashboard(trace)):
        assert page_view(widget.to_html()) is None
        timeline = widget if isinstance(widget, TimelineWidget) else widget.timeline
        timeline._view = told
        start = int(trace.events["start_ns"].iloc[0])
        assert (widget.view["start_ns"], widget.view["end_ns"]) == (start - 10, start + 5000)
        assert (widget.view["step"], widget.view["graph"], widget.view["hidden"]) == (0, True, [("a",)])
        assert page_view(widget.to_html()) == told
        assert page_view(widget.to_html(anonymize=True)) is None


def test_times_are_those_recorded() -> None:
    widget = show_timeline(far_apart())
    starts = widget.trace.events["start_ns"].tolist()
    widget.view = {"start_ns": starts[2], "end_ns": starts[3] + 5}
    assert (widget.view["start_ns"], widget.view["end_ns"]) == (starts[2], starts[3] + 5)
    assert widget._view["start"] < starts[2] - starts[0]


@pytest.mark.parametrize(
    ("changes", "error", "key", "figures"),
    [
        ({"zoom": 3}, TypeError, "unknown_option", {"name": "zoom"}),
        (5, TypeError, "view_value", {"name": "view", "value": 5}),
        ({"start_ns": "now"}, TypeError, "view_value", {"name": "start_ns", "value": "now"}),
        ({"start_ns": 9, "end_ns": 9}, ValueError, "view_value", {"name": "end_ns", "value": 9}),
        ({"step": 77}, ValueError, "view_value", {"name": "step", "value": 77}),
        ({"step": True}, TypeError, "view_value", {"name": "step"}),
        ({"hidden": [("a", "b", "c")]}, ValueError, "view_value", {"name": "hidden"}),
        ({"pinned": "ops"}, ValueError, "view_value", {"name": "pinned", "value": "ops"}),
        ({"graph": 1}, TypeError, "view_value", {"name": "graph", "value": 1}),
        ({"group_by": "lane"}, ValueError, "no_such_value", {"name": "group_by"}),
        ({"selection": [10**6]}, ValueError, "no_such_event", {"event": 10**6}),
    ],
)
def test_what_a_view_cannot_have_is_named_and_changes_nothing(
    trace: Trace, changes: Any, error: type[Exception], key: str, figures: dict[str, Any]
) -> None:
    widget = show_timeline(trace)
    before = widget.view
    with raises_id(error, key, **figures):
        widget.view = changes
    assert widget.view == before
