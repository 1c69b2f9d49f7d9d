"""The view of a timeline as a value: read, set, in pages, and invalid ones."""

import json
from typing import Any

import pytest
from traitlets import TraitError

from tests.display.test_gap_compression import far_apart
from tests.real_traces import DATA, real_trace
from tests.support.page_options import page_options
from tests.support.texts import raises_id
from tfvis_nb import Trace, show_dashboard, show_timeline
from tfvis_nb.display.timeline.timeline_widget import TimelineWidget

TRACE = DATA / "dist_inproc_ps_2workers_step0.pb"
FIRST = int(real_trace(TRACE).events["start_ns"].iloc[0])


@pytest.fixture
def trace() -> Trace:
    return real_trace(TRACE)


def page_view(page: str) -> Any:
    return page_options(page)["view"]


def lanes(trace: Trace) -> list[tuple[str, ...]]:
    return list(trace.lanes[["task", "device", "lane"]].astype(str).itertuples(index=False, name=None))


def test_a_view_can_be_set_back_to_itself(trace: Trace) -> None:
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


def test_the_front_ends_view_is_read_and_exported(trace: Trace) -> None:
    shown = {"start": -10.4, "end": 5000, "step": 0, "hidden": [["a"]], "pinned": []}
    sent = {**shown, "details": True, "graph": True, "code": False}
    for widget in (show_timeline(trace), show_dashboard(trace)):
        assert page_view(widget.to_html()) is None
        timeline = widget if isinstance(widget, TimelineWidget) else widget.timeline
        timeline._view = sent
        start = int(trace.events["start_ns"].iloc[0])
        assert (widget.view["start_ns"], widget.view["end_ns"]) == (start - 10, start + 5000)
        assert (widget.view["step"], widget.view["graph"], widget.view["hidden"]) == (0, True, [("a",)])
        assert page_view(widget.to_html()) == sent
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
        (5, TypeError, "view_no_dict", {"view": 5}),
        ({"start_ns": "now"}, TypeError, "view_value", {"name": "start_ns", "value": "now"}),
        ({"start_ns": 1}, ValueError, "view_value", {"name": "start_ns", "value": 1}),
        ({"end_ns": 2**63}, ValueError, "view_value", {"name": "end_ns", "value": 2**63}),
        ({"end_ns": FIRST}, ValueError, "view_value", {"name": "end_ns", "value": FIRST}),
        ({"step": 77}, ValueError, "view_value", {"name": "step", "value": 77}),
        ({"step": True}, TypeError, "view_value", {"name": "step"}),
        ({"hidden": [("a", "b", "c")]}, ValueError, "view_of_no_lane", {"name": "hidden"}),
        ({"pinned": "ops"}, ValueError, "view_value", {"name": "pinned", "value": "ops"}),
        ({"graph": 1}, TypeError, "view_value", {"name": "graph", "value": 1}),
        ({"group_by": "lane"}, ValueError, "no_such_value", {"name": "group_by"}),
        ({"selection": [10**6]}, ValueError, "no_such_event", {"event": 10**6}),
    ],
)
def test_invalid_views_are_named_and_change_nothing(
    trace: Trace, changes: Any, error: type[Exception], key: str, figures: dict[str, Any]
) -> None:
    widget = show_timeline(trace)
    before = widget.view
    with raises_id(error, key, **figures):
        widget.view = changes
    assert widget.view == before
    for takes in (widget.to_html, trace.to_html):
        with raises_id(error, key, **figures):
            takes(view=changes)
    with raises_id(error, key, **figures):
        show_timeline(trace, view=changes)


def test_a_page_opens_at_the_view_that_it_is_given(trace: Trace) -> None:
    first, second, *_ = lanes(trace)
    view = {"start_ns": FIRST + 1000, "end_ns": FIRST + 5000, "hidden": [first], "selection": [3]}
    expected = {
        "start": 1000,
        "end": 5000,
        "hidden": [[*first]],
        "pinned": [],
        "details": True,
        "graph": False,
    }
    expected |= {"step": None, "code": False}
    widget = show_timeline(trace, view=view, group_by="kind", color_by="op")
    assert page_view(trace.to_html(view=view)) == page_view(widget.to_html()) == expected
    assert page_options(widget.to_html())["selection"] == {"events": [3]}
    assert page_options(trace.to_html(view=view))["selection"] == {"events": [3]}
    # A part of a view: the rest keeps the widget's values.
    other = {"pinned": [second], "group_by": "none", "selection": None}
    page = widget.to_html(view=other)
    assert page_view(page) == {**expected, "pinned": [[*second]]}
    options = page_options(page)
    assert (options["group_by"], options["color_by"], options["selection"]) == ("none", "op", None)
    assert (widget.group_by, widget.view["pinned"]) == ("kind", [])
    # Times are those of the trace, in a part of it and under other names as well.
    part = widget.to_html(view=view, time_range=(FIRST + 900, FIRST + 4000))
    origin = int(
        trace.events["start_ns"][trace.events["start_ns"] + trace.events["duration_ns"] > FIRST + 900].min()
    )
    assert (page_view(part)["hidden"], page_options(part)["selection"]) == ([], None)
    assert page_view(part)["start"] == FIRST + 1000 - origin
    hidden = page_view(widget.to_html(view={**view, "lane_filter": "ps"}, anonymize=True))["hidden"]
    assert hidden == [[*lanes(trace.anonymized())[0]]]
    assert page_view(trace.to_html(view=view, anonymize=True))["start"] == 1000
    # Dashboards do the same.
    dashboard = show_dashboard(trace, group_by="kind")
    opened = page_options(dashboard.to_html(view=view))
    assert (opened["view"], opened["selection"], opened["group_by"]) == (expected, {"events": [3]}, "kind")
    assert (dashboard.view["hidden"], page_view(dashboard.to_html())) == ([], None)
    with raises_id(ValueError, "view_of_no_lane", name="hidden"):
        dashboard.to_html(view={"hidden": [("none", "such")]})
    opened = page_options(dashboard.to_html(view={**view, "lane_filter": "secret"}, anonymize=True))
    assert (opened["view"], opened["lane_filter"]) == ({**expected, "hidden": hidden}, "")


def test_named_views_are_set_kept_and_checked(trace: Trace) -> None:
    first, *_ = lanes(trace)
    widget = show_timeline(trace)
    widget.views = {"slow copy": {"start_ns": FIRST + 5, "hidden": [first], "selection": [2]}, " b ": {}}
    kept = widget.views
    assert list(kept) == ["slow copy", "b"]
    assert (kept["slow copy"]["start_ns"], kept["slow copy"]["hidden"]) == (FIRST + 5, [first])
    assert (kept["slow copy"]["selection"], kept["b"]) == ([2], widget.view)
    # As the front end sends them, and pages have them.
    named = widget._views
    assert page_options(widget.to_html())["views"] == named
    assert page_options(widget.to_html(anonymize=True))["views"] == []
    dashboard = show_dashboard(trace)
    dashboard.timeline._views = named[:1]
    assert dashboard.views == {"slow copy": kept["slow copy"]}
    assert page_options(dashboard.to_html())["views"] == named[:1]
    dashboard.views = {}
    assert dashboard.views == {}
    widget.view = kept["slow copy"]
    assert widget.selection.index.tolist() == [2]
    wrongs: list[tuple[Any, dict[str, Any]]] = [
        ({"": {}}, {"name": "name", "value": ""}),
        ({"a" * 201: {}}, {"name": "name"}),
        ({"a": {"end_ns": 1}}, {"name": "end_ns", "value": 1}),
    ]
    for wrong, figures in wrongs:
        with raises_id(Exception, "view_value", **figures):
            widget.views = wrong
    with raises_id(TypeError, "views_no_dict", views=5):
        widget.views = 5
    with raises_id(ValueError, "too_many_views", views=101, most=100):
        widget.views = {str(number): {} for number in range(101)}


OF_THE_FRONT_END: dict[str, Any] = {"start": 0, "end": 5, "step": None, "hidden": [], "pinned": []}
OF_THE_FRONT_END |= {"details": True, "graph": False, "code": False}
NAMED = {**OF_THE_FRONT_END, "group_by": "device", "color_by": "kind", "lane_filter": "", "selection": None}
NAMED |= {"name": "mine"}
WRONG_VIEWS: list[dict[str, Any]] = [
    *({"start": None}, {"start": "0"}, {"end": float("inf")}, {"end": 10**400}, {"end": 0}),
    *({"step": "0"}, {"step": 1.5}, {"hidden": None}, {"hidden": "a"}, {"pinned": [7]}),
    *({"pinned": [[7]]}, {"graph": None}, {"group_by": "device"}),
]
WRONG_NAMED: list[dict[str, Any]] = [
    *({"name": 7}, {"name": " "}, {"name": "a" * 201}, {"name": None}, {"selection": {"events": [10**6]}}),
    *({"selection": 7}, {"group_by": None}, {"color_by": []}, {"other": 1}, {"end": -1}),
]


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        *(("_view", "all"), ("_view", {}), ("_view", {"start": 0, "end": 5})),
        *(("_view", {**OF_THE_FRONT_END, **wrong}) for wrong in WRONG_VIEWS),
        *(("_views", "all"), ("_views", [7]), ("_views", [{}]), ("_views", [[]])),
        *(("_views", [OF_THE_FRONT_END]), ("_views", [NAMED] * 101)),
        *(("_views", [{**NAMED, **wrong}]) for wrong in WRONG_NAMED),
        *(("_annotations", 7), ("_annotations", [7]), ("_annotations", [{"name": "a", "start_ns": 0}])),
    ],
)
def test_invalid_messages_of_the_front_end_change_nothing(trace: Trace, trait: str, value: Any) -> None:
    widget = show_timeline(trace)
    widget.set_state({"_view": OF_THE_FRONT_END, "_views": [NAMED]})
    before = widget.view, widget.views, len(widget.annotations)
    with pytest.raises(TraitError):
        widget.set_state({trait: value})
    assert (widget.view, widget.views, len(widget.annotations)) == before
    assert list(widget.views) == ["mine"]


def test_the_front_end_changes_nothing_that_only_python_sets(trace: Trace) -> None:
    widget = show_timeline(trace, tracks={"own": {"start_ns": [FIRST], "end_ns": [FIRST + 5]}})
    names = (
        "_tracks",
        "_wanted_view",
        "_drawn",
        "_details",
        "_link",
        "_stored",
        "_stored_version",
        "_unsaved",
        "_esm",
    )
    before = {name: getattr(widget, name) for name in names}
    widget.set_state({name: [7] for name in names} | {"height": 300})
    assert {name: getattr(widget, name) for name in names} == before
    assert widget.height == 300
