import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from anywidget import AnyWidget
from traitlets import TraitError

from tests.real_traces import DATA, real_trace
from tests.support.page_options import page_options
from tests.support.texts import raises_id
from tests.wire_reader import read_container
from tfvis_nb import Trace, events
from tfvis_nb.analysis import overview
from tfvis_nb.core.format import unbroken
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.timeline import delivery
from tfvis_nb.display.timeline.timeline_widget import TimelineWidget, show_timeline
from tfvis_nb.texts import Text, text_of

VIEW = "application/vnd.jupyter.widget-view+json"


class Recording(TimelineWidget):
    """Keeps the messages to the front end."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.sent: list[tuple[Any, list[bytes]]] = []
        super().__init__(*args, **options)

    def send(self, content: Any, buffers: Any = None) -> None:
        self.sent.append((content, list(buffers or [])))

    def receive(self, content: Any) -> None:
        self._handle_custom_msg(content, [])


@pytest.fixture(scope="module")
def trace() -> Trace:
    return real_trace(DATA / "local_mlp_step1.pb")


def test_show_timeline_takes_what_read_trace_takes(trace: Trace) -> None:
    path = DATA / "local_mlp_step1.pb"
    for source in (path, str(path), path.read_bytes(), [path, path]):
        widget = show_timeline(source)
        assert len(widget.trace.events) == len(trace.events) * (2 if isinstance(source, list) else 1)
    assert show_timeline(trace).trace is trace


def test_columns_to_draw_are_sent_first_and_details_later(trace: Trace) -> None:
    widget = show_timeline(trace, title="Mine")
    state = widget.get_state()
    assert read_container(state["_drawn"])[0]["title"] == "Mine"
    assert state["_details"] == b""
    widget._repr_mimebundle_()
    assert read_container(widget._details)[0]["count"] == len(trace.events)


def test_a_base_is_in_the_overview_and_in_pages() -> None:
    shown, base = (real_trace(DATA / f"gpu_tf{version}_mlp.pb.xz") for version in (221, 218))
    widget = Recording(shown, against=base)
    widget.receive({"kind": "details"})
    step_time = read_container(widget._details)[0]["overview"]["step_time"]
    assert unbroken(overview(shown, base)["steps"]["change"]) in step_time[1][0]
    assert widget.to_html() == shown.to_html(against=base)
    assert widget.to_html(anonymize=True) == shown.to_html(against=base, anonymize=True)
    part = shown.to_html(against=base, time_range="0ms:1ms")
    assert widget.to_html(time_range="0ms:1ms") == part


def test_a_view_inside_of_another_widget_asks_for_the_details(trace: Trace) -> None:
    widget = Recording(trace)
    widget.receive({"kind": "details"})
    assert read_container(widget._details)[0]["count"] == len(trace.events)


def test_options_are_attributes(trace: Trace) -> None:
    widget = show_timeline(trace, height=300, group_by="KIND", color_by="op", lane_filter="ops")  # type: ignore[call-overload]
    assert (widget.height, widget.group_by, widget.color_by, widget.lane_filter) == (300, "kind", "op", "ops")
    widget.group_by = "None"
    assert widget.get_state()["group_by"] == "none"


@pytest.mark.parametrize(
    ("option", "value", "key"),
    [
        ("height", 100, "height_out_of_range"),
        ("height", "tall", "height_out_of_range"),
        ("height", True, "height_out_of_range"),
        ("group_by", "lane", "no_such_value"),
        ("color_by", None, "no_such_value"),
        ("lane_filter", 3, "lane_filter_no_text"),
    ],
)
def test_values_an_option_cannot_have_are_refused(trace: Trace, option: str, value: Any, key: str) -> None:
    with raises_id(ValueError, key):
        show_timeline(trace, **{option: value})
    widget = show_timeline(trace)
    before = getattr(widget, option)
    with pytest.raises(TraitError):
        setattr(widget, option, value)
    assert getattr(widget, option) == before


@pytest.mark.parametrize("make", [show_timeline, TimelineWidget])
def test_unknown_options_are_refused_with_near_names(trace: Trace, make: Any) -> None:
    with raises_id(TypeError, "unknown_option", name="hieght", hint="; did you mean 'height'?"):
        make(trace, hieght=300)
    with raises_id(TypeError, "unknown_option") as caught:
        make(trace, foo=1)
    options = {
        "height",
        "group_by",
        "color_by",
        "lane_filter",
        "selection",
        "title",
        "keep",
        "view",
        "tracks",
    }
    assert options <= {*text_of(caught.value).figures["options"].split(", ")}


def test_a_timeline_has_only_public_names_for_users() -> None:
    names = {name for name in {*dir(TimelineWidget)} - {*dir(AnyWidget)} if not name.startswith("_")}
    shown = {"trace", "selection", "on_selection", "annotations", "view", "views", "tracks", "add_track"}
    written = {"to_html", "to_svg", "to_pdf", "to_png"}
    assert names == {"height", "group_by", "color_by", "lane_filter"} | shown | written


def test_options_of_datasets_are_refused_for_a_trace(trace: Trace) -> None:
    values: dict[str, Any] = {"steps": 0, "run": "train", "tasks": "worker 0"}
    for name, value in values.items():
        with raises_id(TypeError, "unknown_option", name=name):
            show_timeline(trace, **{name: value})


def test_the_selection_goes_both_ways(trace: Trace) -> None:
    widget = show_timeline(trace, selection=[3])
    assert widget.selection.index.tolist() == [3]
    widget.selection = trace.events["op"] == "Const"
    assert set(widget.selection["op"]) == {"Const"}
    assert widget.get_state()["_selection"] == {"events": widget.selection.index.tolist()}
    widget.set_state({"_selection": {"start": 0, "end": 1, "lanes": None, "step": None}})
    assert widget.selection.index[0] == 0
    widget.set_state({"_selection": None})
    assert widget.selection.empty


def test_a_selection_of_another_trace_is_rejected(trace: Trace) -> None:
    widget = show_timeline(trace, selection=[3])
    with raises_id(ValueError, "no_such_event"):
        widget.selection = [10**6]
    with raises_id(TraitError, "no_such_event"):
        widget.set_state({"_selection": {"events": [10**6]}})
    assert widget.selection.index.tolist() == [3]


def test_callbacks_get_the_selected_rows(trace: Trace) -> None:
    widget = show_timeline(trace)
    seen: list[pd.DataFrame] = []
    widget.on_selection(seen.append)
    widget.selection = [1, 2]
    widget.set_state({"_selection": {"events": [5]}})
    assert [rows.index.tolist() for rows in seen] == [[1, 2], [5]]


def test_the_mime_bundle_has_a_view_and_what_stands_in_for_it(trace: Trace) -> None:
    widget = show_timeline(trace)
    data, metadata = widget._repr_mimebundle_()
    assert data[VIEW]["model_id"] == widget.model_id
    assert data["text/plain"].startswith("<TimelineWidget local_mlp_step1.pb: 63 events, ")
    assert "\n" not in data["text/plain"]
    assert len(data["text/html"]) < 20_000
    assert "<script" not in data["text/html"]
    assert isinstance(metadata, dict)


def test_exports_are_sent_as_files(trace: Trace) -> None:
    widget = Recording(trace, title="a/b c", color_by="op", selection=[2])
    widget.receive({"kind": "export", "format": "json", "id": 7})
    widget.receive({"kind": "export", "format": "html", "id": 8})
    (first, (text,)), (second, (page,)) = widget.sent
    assert first == {"kind": "export", "id": 7, "name": "a-b-c.json"}
    assert json.loads(text)["traceEvents"]
    assert second == {"kind": "export", "id": 8, "name": "a-b-c.html"}
    assert page.decode() == widget.to_html()


@pytest.mark.parametrize("form", ["pdf", None, {"a": 1}])
def test_an_export_that_fails_says_so_in_the_browser_too(trace: Trace, form: Any) -> None:
    widget = Recording(trace)
    widget.receive({"kind": "export", "format": form, "id": 3})
    (content, buffers) = widget.sent[0]
    assert (content["id"], buffers) == (3, [])
    assert content["error"] == Text("no_export", format=json.dumps(form))


class Panic(BaseException):
    """As Rust's, it is not an Exception."""


@pytest.mark.parametrize("content", [{"kind": "details"}, {"kind": "rest", "part": "details"}])
def test_details_that_cannot_be_made_are_answered(
    trace: Trace, content: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise Panic

    widget = Recording(trace)
    monkeypatch.setattr(delivery, "details", fail)
    widget.receive({**content, "id": 3})
    ((said, _),) = widget.sent
    assert (said["kind"], said["id"]) == (content["kind"], 3)
    assert said["error"] == Text("failed_here", error="Panic")


@pytest.mark.parametrize("content", [None, "export", {}, {"kind": "other"}])
def test_messages_of_other_kinds_are_not_answered(trace: Trace, content: Any) -> None:
    widget = Recording(trace)
    widget.receive(content)
    assert (widget.sent, widget._details) == ([], b"")


def test_to_html_has_the_options_and_the_selection_of_now(trace: Trace, tmp_path: Path) -> None:
    widget = show_timeline(trace, height=300, selection=[2])
    path = widget.to_html(tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    text = path.read_text(encoding="utf-8")
    assert text == widget.to_html()
    options = page_options(text)
    assert options == {
        "height": 300,
        "group_by": "device",
        "color_by": "kind",
        "lane_filter": "",
        "selection": {"events": [2]},
        "annotations": [],
        "view": None,
        "views": [],
        "tracks": [],
    }
    assert "<title>Other</title>" in widget.to_html(title="Other")


def test_closing_frees_the_bytes(trace: Trace) -> None:
    widget = show_timeline(trace)
    widget._repr_mimebundle_()
    widget.close()
    assert (widget._drawn, widget._details) == (b"", b"")
    assert widget.selection.empty


def test_an_empty_trace_is_shown() -> None:
    widget = show_timeline(Trace(events.build({}, rows=0)))
    data, _ = widget._repr_mimebundle_()
    assert "0 events" in data["text/plain"]
    assert "0 events" in data["text/html"]


@pytest.mark.slow
def test_only_making_a_widget_needs_the_front_end(tmp_path: Path) -> None:
    code = f"""
import pathlib, tfvis_nb.display.bundles as bundles
bundles._STATIC = pathlib.Path({str(tmp_path)!r})
import tfvis_nb
from tfvis_nb.display.monitor.monitor_widget import monitor
from tfvis_nb.display.timeline.timeline_widget import show_timeline
trace = tfvis_nb.read_trace({str(DATA / "local_mlp_step1.pb")!r})
for make in (show_timeline, tfvis_nb.Trace.to_html, lambda _: monitor('run.tfvis')):
    try:
        make(trace)
    except FileNotFoundError as error:
        print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [
        Text("front_end_missing", path=tmp_path / name) for name in ("widget.js", "page.js", "monitor.js")
    ]


def test_the_bundle_is_the_one_the_widget_carries(trace: Trace) -> None:
    assert str(show_timeline(trace).get_state()["_esm"]) == bundle("widget.js")
