"""Dashboards, comparisons and fleets are single anywidgets, which hosts without boxes show as well."""

import json
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import comm
import ipywidgets
import pytest
from ipywidgets.widgets.widget import _instances
from traitlets import TraitError

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.conditions import wait_until
from tests.support.fleet_dataset import fleet_dataset
from tfvis_nb import Trace, events
from tfvis_nb.display.composed import PartOfWidget
from tfvis_nb.display.monitor import monitor_widget
from tfvis_nb.fleet.dataset import TraceDataset
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trace() -> tv.Trace:
    return real_trace(DATA / "local_mlp_step1.pb")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> TraceDataset:
    return fleet_dataset(tmp_path_factory.mktemp("fleet"))


@pytest.fixture(params=["dashboard", "comparison", "fleet"])
def show(request: pytest.FixtureRequest, trace: tv.Trace, dataset: TraceDataset) -> Callable[[], Any]:
    calls: dict[str, Callable[[], Any]] = {
        "dashboard": lambda: tv.show_dashboard(trace),
        "comparison": lambda: tv.show_comparison(trace, trace),
        "fleet": lambda: tv.show_fleet(dataset),
    }
    return calls[request.param]


class Session:
    """A host whose widgets send only on its own thread, as in Shiny, and its front end."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.opened: list[Sent] = []


class Sent(comm.base_comm.BaseComm):
    """A comm of a `Session`."""

    session: Session

    def __init__(self, **options: Any) -> None:
        self.state: dict[str, Any] = {}
        self.sent: list[dict[str, Any]] = []
        self.session.opened.append(self)
        super().__init__(**options)

    def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
        assert threading.current_thread() is self.session.thread
        if msg_type == "comm_open" or (data or {}).get("method") == "update":
            self.state |= data["state"]
        elif (data or {}).get("method") == "custom":
            self.sent.append(data["content"])

    def receive(self, content: dict[str, Any]) -> None:
        """Have the front end send a message."""
        data = {"method": "custom", "content": content}
        self.handle_msg({"content": {"data": data}, "buffers": []})


def taken(widget: Any) -> None:
    """Give a new widget a comm, as Shiny does."""
    widget.comm = Sent(comm_id=uuid.uuid4().hex, data={"state": widget.get_state()})


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session()
    monkeypatch.setattr(Sent, "session", made, raising=False)
    monkeypatch.setattr(ipywidgets.Widget, "_widget_construction_callback", taken)
    return made


def test_each_is_one_anywidget(session: Session, show: Callable[[], Any]) -> None:
    shown = show()
    assert isinstance(shown, anywidget.AnyWidget)
    (only,) = [each for each in session.opened if each.state["_model_module"] == "anywidget"]
    assert only.comm_id == shown.model_id
    # Panel gives each widget in this list a comm, and JupyterLab asks each for its state.
    assert not [each for each in _instances.values() if isinstance(each, PartOfWidget)]
    shown.close()


def test_tabs_are_computed_where_no_thread_may_send(session: Session, show: Callable[[], Any]) -> None:
    shown = show()
    shown._repr_mimebundle_()
    (only,) = [each for each in session.opened if each.state["_model_module"] == "anywidget"]

    def computed() -> list[str]:
        return [title for _, title, trait in only.state["_panels__tabs"] if only.state[f"_panels_{trait}"]]

    assert computed() == []
    only.receive({"part": "panels", "content": {"kind": "start"}})
    (first,) = computed()
    before, asked = [title for _, title, _ in only.state["_panels__tabs"][-2:]]
    for title in (before, asked):
        shown.panels.set_state({"_chosen": title})
    only.receive({"part": "panels", "content": {"kind": "start"}})
    assert computed() == [first, asked]
    assert only.state["_panels__current"] == asked
    only.receive({"part": "panels", "content": {"kind": "start"}})
    assert computed() == [first, before, asked]
    for _ in range(20):
        only.receive({"part": "panels", "content": {"kind": "start"}})
    tabs = only.state["_panels__tabs"]
    assert computed() == [title for _, title, _ in tabs]
    assert computed() == [json.loads(only.state[f"_panels_{trait}"])["title"] for *_, trait in tabs]
    shown.close()


def test_monitor_is_asked_again_where_no_thread_may_send(session: Session, tmp_path: Path) -> None:
    shown = tv.monitor(tmp_path / "run.tfvis")
    shown._repr_mimebundle_()
    (only,) = [each for each in session.opened if each.state["_model_module"] == "anywidget"]
    assert json.loads(only.state["_state"])["signatures"] == []
    writer = Writer(tmp_path / "run.tfvis", keep=None)
    writer.add_signature(Signature("session", "train", "loss:0"))
    only.receive({"kind": "watch", "id": "7"})
    assert [each["label"] for each in json.loads(only.state["_state"])["signatures"]] == ["train"]
    assert only.sent == [{"kind": "watch", "id": "7", "again_s": 1.0}]
    assert not [each for each in threading.enumerate() if each.name == "tfvis-nb monitor"]
    writer.close({})
    # As for the next visitor of the page.
    other = tv.monitor(tmp_path / "run.tfvis")
    assert other is not shown
    shown.close()
    other.close()


def test_a_failed_send_ends_a_thread_with_one_line(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    session: Session,
    trace: tv.Trace,
    tmp_path: Path,
) -> None:
    # A host that is not known to have such sessions.
    monkeypatch.setattr(Sent, "__module__", "comm")
    shown = tv.show_dashboard(trace)
    shown._repr_mimebundle_()
    wait_until(lambda: len(caplog.records) == 1)
    monitor = tv.monitor(tmp_path / "run.tfvis")
    monkeypatch.setattr(monitor_widget, "LOOK_S", 0.01)
    monitor._repr_mimebundle_()
    Writer(tmp_path / "run.tfvis", keep=None).close({})
    wait_until(lambda: len(caplog.records) == 2)
    (only,) = [each for each in session.opened if "_opened" in each.state and "_state" in each.state]
    only.receive({"kind": "watch", "id": "7"})
    assert only.sent[-1]["again_s"] == 0.01
    time.sleep(0.2)
    assert [id_of(each.msg) for each in caplog.records] == ["widget_not_updated"] * 2
    assert not [each for each in caplog.records if each.exc_info or "\n" in each.getMessage()]
    monitor.close()
    shown.close()


def test_values_reach_parts_and_come_from_them(trace: tv.Trace) -> None:
    shown = tv.show_dashboard(trace)
    shown.set_state({"_timeline_group_by": "kind", "_timeline__selection": {"events": [3]}})
    assert shown.timeline.group_by == "kind"
    assert shown.selection.index.tolist() == [3]
    shown.timeline.group_by = "none"
    assert shown.get_state()["_timeline_group_by"] == "none"
    shown.view = {"group_by": "device", "selection": [4]}
    assert shown.get_state()["_timeline__selection"] == {"events": [4]}
    with pytest.raises(TraitError):
        shown.set_state({"_timeline_group_by": "nothing"})
    assert shown.get_state()["_timeline_group_by"] == "device"
    # What only Python sets stays.
    drawn = shown.timeline._drawn
    shown.set_state({"_timeline__drawn": b"other"})
    assert shown.get_state()["_timeline__drawn"] == drawn
    shown.close()


def test_a_click_opens_and_closes_the_timeline_of_a_cell(dataset: TraceDataset, session: Session) -> None:
    fleet = tv.show_fleet(dataset)
    (only,) = [each for each in session.opened if each.state["_model_module"] == "anywidget"]
    drawn, numbers = [], []
    for task, column in ((1, 12), (2, 3)):
        only.receive({"part": "map", "content": {"kind": "open", "task": task, "column": column}})
        assert fleet.timeline is not None
        drawn.append(fleet.get_state()["_opened__drawn"])
        assert drawn[-1] == fleet.timeline._drawn
        numbers.append(only.state["_opened"])
    assert drawn[0] != drawn[1]
    assert 0 < numbers[0] < numbers[1]
    only.receive({"part": "map", "content": {"kind": "close"}})
    assert (only.state["_opened"], only.state["_opened__drawn"], fleet.timeline) == (0, None, None)
    only.receive({"part": "map", "content": {"kind": "since", "column": 7}})
    assert only.state["_map__since"] == 7
    assert "step 7 of day1" in only.state["_panels__tab_3"]
    fleet.close()


def test_widgets_show_users_only_documented_names(dataset: TraceDataset) -> None:
    trace = Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}))
    timeline = {"trace", "add_track", "on_selection", "to_html", "to_pdf", "to_png", "to_svg"}
    timeline |= {"annotations", "selection", "tracks", "view", "views"}
    timeline |= {"height", "group_by", "color_by", "lane_filter"}
    panels = {"height", "tab", "tabs", "titles"}
    both = {"annotations", "selection", "view", "views", "trace", "to_html", "timeline", "panels"}
    sides = {"a", "b", "panels", "title", "headline", "differences", "to_html"}
    cells = {"map", "panels", "timeline", "open_timeline", "slower_ops", "to_html"}
    dashboard, comparison = tv.show_dashboard(trace), tv.show_comparison(trace, trace)
    fleet = tv.show_fleet(dataset)
    expected = [
        (tv.show_timeline(trace), timeline),
        (dashboard, both),
        (dashboard.timeline, timeline),
        (dashboard.panels, panels),
        (comparison, sides),
        (comparison.a, timeline),
        (comparison.panels, panels),
        (fleet, cells),
        (fleet.map, {"height"}),
        (fleet.panels, panels),
    ]
    known = {*dir(anywidget.AnyWidget)}
    for widget, names in expected:
        found = {name for name in dir(widget) if not name.startswith("_")}
        assert found - known == names, type(widget)
