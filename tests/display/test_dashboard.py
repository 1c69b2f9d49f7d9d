"""The dashboard widget and its page, from Python's side."""

import base64
import gzip
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from traitlets import TraitError

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.page_options import page_options
from tests.support.texts import raises_id
from tfvis_nb.display import bokehjs, tabs
from tfvis_nb.display.dashboard import computed_tabs, tabs_widget
from tfvis_nb.display.dashboard.tabs_widget import PanelsWidget
from tfvis_nb.display.pages.page import PageTooLargeError
from tfvis_nb.display.tabs import COMPARISON, parts
from tfvis_nb.display.tabs.blocks import Part
from tfvis_nb.display.timeline import delivery
from tfvis_nb.texts import Text

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trace() -> tv.Trace:
    return real_trace(DATA / "local_mlp_step1.pb")


def computed(widget: PanelsWidget) -> list[dict[str, Any]]:
    """Return the pushed content of all tabs, once it is complete."""
    widget._start()
    assert widget._worker is not None
    widget._worker.join(60)
    state = widget.get_state()
    return [json.loads(state[trait] or "null") for _, _, trait in state["_tabs"]]


def titles(trace: tv.Trace) -> list[str]:
    """The titles of all parts of tabs."""
    return [title for _, title in parts(trace)]


def page_part(page: str, name: str) -> bytes:
    found = re.search(rf'id="tfvis-{name}">([^<]*)<', page)
    assert found
    return base64.b64decode(found[1])


def test_timeline_and_tabs_share_a_link_of_their_own(trace: tv.Trace) -> None:
    one, other = tv.show_dashboard(trace), tv.show_dashboard(trace)
    links = [shown.panels.get_state()["_link"] for shown in (one, other)]
    assert links == [shown.timeline.get_state()["_link"] for shown in (one, other)]
    assert len(set(links)) == 2
    assert tv.show_timeline(trace).get_state()["_link"] == ""


def test_tabs_are_pushed_when_they_are_computed(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace)
    assert shown.panels.get_state()["_tab_0"] == ""
    contents = computed(shown.panels)
    assert [each["title"] for each in contents] == titles(trace)
    assert shown.panels.get_state()["_errors"] == {}
    shown.close()


def test_showing_it_begins_to_compute_though_no_view_asks(
    trace: tv.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabs_widget, "PATIENCE_S", 0.05)
    shown = tv.show_dashboard(trace)
    data, _ = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<img" in data["text/html"]
    until = time.monotonic() + 20
    while not shown.panels.get_state()["_tab_0"] and time.monotonic() < until:
        time.sleep(0.02)
    assert json.loads(shown.panels.get_state()["_tab_0"])["title"] == titles(trace)[0]
    assert len(shown.timeline.get_state()["_details"]) > 0
    shown.close()


def test_a_view_begins_to_compute_when_its_timeline_is_drawn(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace)
    shown.panels._handle_custom_msg({"kind": "start"}, [])
    assert shown.panels._worker is not None
    shown.close()


def test_showing_it_computes_other_tabs_on_request(trace: tv.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabs_widget, "PATIENCE_S", 60)
    shown = tv.show_dashboard(trace)
    shown._repr_mimebundle_()
    until = time.monotonic() + 20
    while not shown.panels.get_state()["_tab_0"] and time.monotonic() < until:
        time.sleep(0.02)
    worker = shown.panels._worker
    assert worker is not None
    worker.join(0.2)
    assert worker.is_alive()
    assert list(shown.panels._made) == titles(trace)[:1]
    shown.panels._handle_custom_msg({"kind": "start"}, [])
    worker.join(60)
    assert list(shown.panels._made) == titles(trace)
    shown.close()


def test_details_pushed_and_requested_are_computed_once(
    trace: tv.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []

    def slowly(*_: Any, **__: Any) -> bytes:
        found.append(threading.current_thread())
        time.sleep(0.2)
        return b"details"

    monkeypatch.setattr(delivery, "details", slowly)
    shown = tv.show_dashboard(trace)
    asking = threading.Thread(target=shown.timeline._handle_custom_msg, args=({"kind": "details"}, []))
    asking.start()
    shown.timeline._send_details()
    asking.join()
    assert len(found) == 1
    assert shown.timeline.get_state()["_details"] == b"details"
    shown.close()


def test_the_first_tab_comes_before_the_details(trace: tv.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    compute = tabs.tab
    order = []

    def slowly(trace_: tv.Trace, name: str, against: tv.Trace | None) -> Part:
        time.sleep(0.2)
        order.append(name)
        return compute(trace_, name, against)

    def details(*_: Any, **__: Any) -> bytes:
        order.append("details")
        return b"details"

    def named(*sides: tv.Trace) -> list[tuple[str, str]]:
        order.append("titles")
        return tabs.parts(*sides)

    monkeypatch.setattr(tabs_widget, "PATIENCE_S", 60)
    monkeypatch.setattr(tabs_widget, "tab", slowly)
    monkeypatch.setattr(tabs_widget, "parts", named)
    monkeypatch.setattr(delivery, "details", details)
    shown = tv.show_dashboard(trace)
    shown._repr_mimebundle_()
    assert order == [titles(trace)[0], "details"]
    shown.close()


def test_details_wait_for_no_tab_that_nothing_computes(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace)
    start = time.monotonic()
    shown.timeline._handle_custom_msg({"kind": "details"}, [])
    assert time.monotonic() - start < computed_tabs.FIRST_S
    assert shown.timeline.get_state()["_details"]
    shown.close()


def test_closing_ends_waiting_for_a_view(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace)
    shown.panels._start_first()
    worker = shown.panels._worker
    assert worker is not None
    shown.close()
    worker.join(20)
    assert not worker.is_alive()
    assert len(shown.panels._made) < len(titles(trace))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_tab_that_fails_says_so_and_the_others_are_there(
    trace: tv.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = tabs.tab

    def breaking(trace_: tv.Trace, name: str, against: tv.Trace | None) -> Part:
        if name == "Breakdown":
            raise ZeroDivisionError("no ops today")
        return compute(trace_, name, against)

    monkeypatch.setattr(tabs_widget, "tab", breaking)
    shown = tv.show_dashboard(trace)
    contents = computed(shown.panels)
    assert [each is None for each in contents] == [place == 1 for place in range(len(contents))]
    errors = shown.panels.get_state()["_errors"]
    assert errors == {titles(trace)[1]: Text("failed_here", error="ZeroDivisionError")}


def test_bokehjs_is_sent_when_asked_for(trace: tv.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, Any]] = []
    widget = tv.show_dashboard(trace).panels
    monkeypatch.setattr(widget, "send", lambda content, buffers=None: sent.append((content, buffers)))
    widget._handle_custom_msg({"kind": "bokeh", "id": "7"}, [])
    ((said, (code,)),) = sent
    assert said == {"kind": "bokeh", "id": "7"}
    assert b"Bokeh" in gzip.decompress(code)
    assert widget.get_state()["_bokeh"] == bokehjs.version()


def test_closing_ends_the_computing(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace)
    shown.close()
    shown.panels._start()
    assert shown.panels._worker is None


def test_the_page_holds_everything(trace: tv.Trace, tmp_path: Path) -> None:
    shown = tv.show_dashboard(trace, group_by="kind", selection=[3])
    path = shown.to_html(tmp_path / "page.html", title="A & B")
    assert path == tmp_path / "page.html"
    page = path.read_text(encoding="utf-8")
    assert "<title>A &amp; B</title>" in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="http', page)
    packed = json.loads(gzip.decompress(page_part(page, "tabs")))
    assert packed["bokeh"] == bokehjs.version()
    assert [each["title"] for each in packed["tabs"]] == titles(trace)
    assert page_part(page, "bokeh") == bokehjs.compressed_code()
    options = page_options(page)
    assert (options["group_by"], options["selection"]) == ("kind", {"events": [3]})


def test_the_export_of_the_timeline_is_the_dashboard(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace)
    name, text = shown.timeline._exported("html")
    assert (name, 'id="tfvis-tabs"' in text) == ("local_mlp_step1.pb.html", True)
    assert shown.timeline._exported("csv")[0].endswith(".csv")


def test_a_page_over_the_limit_is_not_written(trace: tv.Trace) -> None:
    with pytest.raises(PageTooLargeError):
        tv.show_dashboard(trace).to_html(max_bytes=200_000)


def test_options_are_the_timelines(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace, height=300, selection=[3])
    assert shown.timeline.height == 300
    assert shown.selection.index.tolist() == [3]
    shown.selection = [4]
    assert shown.timeline.selection.index.tolist() == [4]
    with raises_id(TypeError, "unknown_option", hint="; did you mean 'color_by'?"):
        tv.show_dashboard(trace, colour_by="op")  # type: ignore[call-arg]
    with raises_id(TypeError, "unknown_option", name="max_byte"):
        shown.to_html(max_byte=3)  # type: ignore[call-overload]
    with raises_id(TraitError, "height_out_of_range", low=160, high=4000):
        shown.panels.height = 5


def test_another_trace_has_a_part_of_its_own(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace, against=DATA / "local_mlp_step1.pb")
    assert [title for _, title, _ in shown.panels.get_state()["_tabs"]] == ["Overview"]
    assert shown.panels.titles() == [*titles(trace), COMPARISON]
    compared = shown.panels.tabs()[-1]
    assert (compared["tab"], compared["title"]) == ("Time", COMPARISON)
    card = shown.panels.tab("Overview")["blocks"][-1]
    assert card["lines"][0][0] == "Difference from the base"
    assert "too few steps" in card["step_time"][1][0]
    shown.close()


@pytest.mark.thorough
def test_bokeh_is_loaded_for_charts_alone() -> None:
    code = f"""
import sys
import time
import tfvis_nb as tv
shown = tv.show_dashboard({str(DATA / "local_mlp_step1.pb")!r})
assert "bokeh" not in sys.modules
shown.panels.tabs()
assert "bokeh.plotting" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
