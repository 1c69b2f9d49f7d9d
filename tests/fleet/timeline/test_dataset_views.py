"""Views of a dataset's timeline: read, set, named, and the same in another timeline of the dataset."""

from typing import Any

import numpy as np
import pytest
from traitlets import TraitError

import tfvis_nb as tv
from tests.fleet.timeline.datasets import made_up_ranks, task_of
from tests.support.texts import raises_id
from tfvis_nb import TraceDataset


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> TraceDataset:
    return made_up_ranks(tmp_path_factory.mktemp("ranks"), 3, 60, longest=200)


def lane(rank: int, number: int) -> tuple[str, str, str]:
    return task_of(rank), f"{task_of(rank)}/device:GPU:0", f"stream:{number}"


def test_a_view_is_the_same_in_another_timeline_of_the_dataset(ranks: TraceDataset) -> None:
    widget = ranks.show_timeline()
    first, last = widget.view["start_ns"], widget.view["end_ns"]
    assert first == int(ranks.events["start_ns"].min().compute())
    rows = widget._delivery.rows({"start": 0, "end": last - first, "lanes": None, "step": None})[0]
    own = rows[rows["task"] == task_of(1)].sort_values("start_ns").index[[3, 115]].tolist()
    widget.view = {
        "start_ns": first + 100,
        "end_ns": first + 900,
        "step": 0,
        "hidden": [lane(1, 2), lane(2, 0)[:2]],
        "pinned": [lane(1, 0)],
        "graph": True,
        "group_by": "kind",
        "selection": own,
    }
    view = widget.view
    assert (view["start_ns"], view["end_ns"], view["step"]) == (first + 100, first + 900, 0)
    assert (view["hidden"], view["pinned"]) == ([lane(1, 2), lane(2, 0)[:2]], [lane(1, 0)])
    assert (widget.group_by, view["graph"], view["code"]) == ("kind", True, False)
    # The two steps of a rank are two sources.
    assert len({source for source, _ in view["selection"]}) == 2
    assert {source for source, _ in view["selection"]} <= {*ranks.sources["path"]}
    selected = widget.selection
    other = tv.show_timeline(ranks, tasks=["worker 1"], view={**view, "hidden": view["hidden"][:1]})
    assert other.view == {**view, "hidden": [lane(1, 2)]}
    assert other.selection.index.tolist() != selected.index.tolist()
    columns = ["task", "start_ns", "duration_ns", "name", "lane"]
    assert other.selection[columns].to_numpy().tolist() == selected[columns].to_numpy().tolist()
    # Numbers of pandas and lists, as from JSON, are the same, in any order.
    other.view = {"selection": [[source, np.int64(event)] for source, event in reversed(view["selection"])]}
    assert other.view["selection"][::-1] == view["selection"]
    other.view = {"selection": (first + 500, first + 900)}
    assert other.view["selection"] == (first + 500, first + 900)
    other.view = {"selection": None}
    assert other.view["selection"] is None


def test_the_front_ends_view_is_the_view(ranks: TraceDataset) -> None:
    widget = ranks.show_timeline()
    first = widget.view["start_ns"]
    shown = {"start": 10.4, "end": 500, "step": 1, "hidden": [[*lane(0, 1)]], "pinned": []}
    widget._view = {**shown, "details": False, "graph": False, "code": False}
    view = widget.view
    assert (view["start_ns"], view["end_ns"], view["step"]) == (first + 10, first + 500, 1)
    assert (view["hidden"], view["details"]) == ([lane(0, 1)], False)


def test_named_views(ranks: TraceDataset) -> None:
    widget = ranks.show_timeline()
    first = widget.view["start_ns"]
    widget.views = {"slow": {"start_ns": first + 5, "hidden": [lane(0, 1)], "selection": [7]}, " b ": {}}
    assert [*widget.views] == ["slow", "b"]
    assert (widget.views["slow"]["start_ns"], widget.views["b"]) == (first + 5, widget.view)
    widget.view = widget.views["slow"]
    assert widget.selection.index.tolist() == [7]
    # As when its cell runs again, here with other tasks.
    other = ranks.show_timeline(tasks=["worker 0", "worker 1"])
    other._take_over(widget)
    assert (other.views["slow"]["hidden"], other.view["start_ns"]) == ([lane(0, 1)], first + 5)
    named = widget._views
    with pytest.raises(TraitError):
        widget._views = [{**named[0], "selection": {"events": [10**6]}}]
    assert widget._views == named


def test_a_dataset_cannot_be_kept_in_the_notebook(ranks: TraceDataset) -> None:
    options: dict[str, Any] = {"keep": True}
    with raises_id(TypeError, "unknown_option", name="keep"):
        tv.show_timeline(ranks, **options)


def test_what_only_traces_have_leads_to_them(ranks: TraceDataset) -> None:
    widget: Any = ranks.show_timeline()
    for name in ("annotations", "tracks", "add_track"):
        with raises_id(AttributeError, "only_of_traces", name=name):
            getattr(widget, name)
        with raises_id(AttributeError, "only_of_traces", name=name):
            setattr(widget, name, [])
    widget.close()


@pytest.mark.parametrize(
    ("changes", "error", "key", "figures"),
    [
        ({"zoom": 3}, TypeError, "unknown_option", {"name": "zoom"}),
        ({"start_ns": 1}, ValueError, "view_value", {"name": "start_ns", "value": 1}),
        ({"step": 77}, ValueError, "view_value", {"name": "step", "value": 77}),
        ({"step": -1}, ValueError, "view_value", {"name": "step", "value": -1}),
        ({"pinned": [("a", "b", "c")]}, ValueError, "view_of_no_lane", {"name": "pinned"}),
        ({"selection": [10**6]}, ValueError, "no_such_event", {"event": 10**6}),
        ({"selection": [("/a.pb", 0)]}, ValueError, "view_value", {"name": "selection"}),
        ({"selection": [("/a.pb",)]}, ValueError, "view_value", {"name": "selection"}),
    ],
)
def test_invalid_views_are_named_and_change_nothing(
    ranks: TraceDataset, changes: Any, error: type[Exception], key: str, figures: dict[str, Any]
) -> None:
    widget = ranks.show_timeline(view={"color_by": "op"})
    before = widget.view
    with raises_id(error, key, **figures):
        widget.view = changes
    assert widget.view == before
    with raises_id(error, key, **figures):
        tv.show_timeline(ranks, view=changes)
