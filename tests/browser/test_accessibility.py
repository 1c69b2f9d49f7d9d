"""Every view against WCAG 2.2 AA, by axe-core, in all the states that a user brings it into."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

import tfvis_nb
from tests.browser.audit import LOOKS, Audit, Look
from tests.browser.comparison import NEW, OLD, Both
from tests.browser.dashboard import Dashboard
from tests.browser.fleet import FleetView
from tests.browser.monitor import monitor_on
from tests.browser.session_of_three import write_session
from tests.browser.test_annotations import annotated
from tests.browser.test_code import coded
from tests.browser.timeline import OpenExported, Timeline
from tests.browser.watched import Watched
from tests.real_traces import DATA, real_trace
from tests.support.fleet_dataset import fleet_dataset
from tfvis_nb.fleet.widget.fleet_widget import show_fleet
from tfvis_nb.serving import MonitorServer


def of_timeline(page: Page, audit: Audit) -> None:
    timeline = Timeline(page.locator("#tfvis-root")).wait()
    lanes = timeline.lanes
    audit.everywhere("whole run")
    # A narrow page has closed them, and a search does not open them there.
    details = timeline.root.get_by_role("button", name="Details", exact=True)
    if details.get_attribute("aria-pressed") == "false":
        details.click()
    timeline.search_box.fill("op:RecvTensor")
    expect(timeline.title).to_contain_text("matches")
    audit.check("matches")
    timeline.search_box.press("Enter")
    lanes.press("g")
    expect(timeline.root.get_by_role("region", name="Graph")).to_be_visible()
    audit.check("event and graph")
    lanes.press("g")
    box = lanes.bounding_box()
    assert box
    page.mouse.move(box["x"] + 40, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 90, steps=3)
    page.mouse.up()
    expect(timeline.root.get_by_role("region", name="Selected range")).to_be_visible()
    audit.check("range and its table")
    lanes.press("n")
    expect(timeline.details.get_by_role("textbox", name="Name")).to_be_focused()
    audit.check("form of an annotation")
    page.keyboard.press("Escape")
    lanes.press("?")
    expect(timeline.host.get_by_role("dialog")).to_be_visible()
    audit.check("help")
    page.keyboard.press("Escape")
    lanes.press("t")
    lanes.press("c")
    expect(timeline.root.get_by_role("button", name="Critical path")).to_have_attribute(
        "aria-pressed", "true"
    )
    audit.check("tensors and critical path")


_FIRST = int(real_trace(DATA / "local_mlp_step1.pb").events["start_ns"].iloc[0])
TRACKS = {
    "phases": {"start_ns": [_FIRST], "duration_ns": [5_000_000], "name": ["load"]},
    "NIC": {"time_ns": [_FIRST], "value": [3]},
}


def of_annotated(page: Page, audit: Audit) -> None:
    timeline = Timeline(page.locator("#tfvis-root")).wait()
    audit.check("annotations")
    audit.check("annotations")
    # A window of another size closes menus.
    timeline.lanes.press("ContextMenu")
    expect(timeline.host.get_by_role("menu")).to_be_visible()
    audit.here("menu of a lane")
    page.keyboard.press("Escape")
    timeline.root.get_by_role("button", name="Export").click()
    expect(timeline.host.get_by_role("menu")).to_be_visible()
    audit.here("menu of exports")
    page.keyboard.press("Escape")
    timeline.lanes.press("v")
    views = timeline.host.get_by_role("dialog", name="View")
    views.get_by_role("textbox").fill("mine")
    views.get_by_role("textbox").press("Enter")
    timeline.lanes.press("v")
    expect(views.get_by_role("textbox")).to_be_focused()
    expect(views.get_by_role("button", name="mine", exact=True)).to_be_visible()
    audit.here("named views")
    views.get_by_role("button", name="Delete the view mine").click()
    expect(views.get_by_role("button", name="Undo")).to_be_focused()
    audit.here("deleted view")


def of_code(page: Page, audit: Audit) -> None:
    timeline = Timeline(page.locator("#tfvis-root")).wait()
    timeline.lanes.press("l")
    expect(timeline.root.get_by_role("region", name="Code")).to_be_visible()
    audit.check("code")
    audit.check("code")


def of_comparison(page: Page, audit: Audit) -> None:
    both = Both(page.locator("#tfvis-root"), page.locator(".tfvis-panels")).wait()
    audit.everywhere("whole")
    page.set_viewport_size(ViewportSize(width=700, height=900))
    for each in (both.a, both.b):
        each.timeline.lanes.scroll_into_view_if_needed()
        expect(each.timeline.lanes).to_be_in_viewport(ratio=0.9)
    both.a.tab("Scopes")
    audit.check("scopes", PANELS)


def of_dashboard(page: Page, audit: Audit) -> None:
    dashboard = Dashboard(page.locator(".tfvis-timeline"), page.locator(".tfvis-panels")).wait()
    audit.everywhere("whole")
    for tab in ("Ops", "Flame graph", "Memory", "What if"):
        dashboard.tab(tab)
        audit.check(tab, PANELS)


def of_fleet(page: Page, audit: Audit) -> None:
    fleet = FleetView(page.locator(".tfvis-fleet"), page.locator(".tfvis-panels")).wait()
    fleet.root.get_by_role("button", name="Table").click()
    audit.everywhere("with its table")
    for tab in fleet.panels.get_by_role("tab").all():
        tab.click()
        audit.check(tab.inner_text(), PANELS)
    fleet.press("ArrowDown", "ArrowDown", "Enter")
    Timeline(page.locator(".tfvis-timeline > div")).wait()
    audit.check("timeline of a cell")


PANELS = ".tfvis-panels"
Make = Callable[[Path], object]
VIEWS: dict[str, tuple[Make, Callable[[Page, Audit], None]]] = {
    "timeline": (
        lambda path: real_trace(DATA / "dist_inproc_ps_2workers_step0.pb").to_html(path),
        of_timeline,
    ),
    "annotations": (lambda path: annotated().to_html(path, tracks=TRACKS), of_annotated),
    "code": (lambda path: coded().to_html(path), of_code),
    "comparison": (lambda path: tfvis_nb.show_comparison(OLD, NEW).to_html(path), of_comparison),
    "dashboard": (
        lambda path: tfvis_nb.show_dashboard(DATA / "local_mlp_step1.pb").to_html(path),
        of_dashboard,
    ),
    "fleet": (
        lambda path: show_fleet(fleet_dataset(path.parent / "fleet")).to_html(path, timelines=2),
        of_fleet,
    ),
}


EACH_LOOK = pytest.mark.parametrize(
    "looks", [LOOKS[0], pytest.param(LOOKS[1], marks=pytest.mark.thorough)], ids=["dark narrow", "dark wide"]
)


@pytest.mark.parametrize("view", VIEWS)
@EACH_LOOK
def test_an_exported_page_has_no_violation_in_any_state(
    exported: OpenExported, tmp_path: Path, view: str, looks: tuple[Look, Look]
) -> None:
    make, states = VIEWS[view]
    path = tmp_path / "page.html"
    make(path)
    page = exported(path).page
    audit = Audit(page, looks)
    states(page, audit)
    audit.zoomed(view)


@pytest.mark.thorough
def test_no_tab_of_a_dashboard_has_a_violation(shown: Dashboard) -> None:
    audit = Audit(shown.page)
    for tab in shown.tabs.all():
        shown.tab(tab.inner_text())
        audit.check(tab.inner_text(), PANELS)
        audit.check(tab.inner_text(), PANELS)


@EACH_LOOK
def test_the_monitor_has_no_violation_and_can_be_enlarged(
    page: Page, tmp_path: Path, looks: tuple[Look, Look]
) -> None:
    path = tmp_path / "run.tfvis"
    write_session(path)
    with MonitorServer(path) as server:
        watched = Watched(page, own=server.address)
        page.goto(server.url)
        monitor = monitor_on(page)
        audit = Audit(page, looks)
        audit.everywhere("tables")
        monitor.signature("train").get_by_role("button", name="train", exact=True).click()
        expect(monitor.details).to_be_visible()
        audit.check("details of a signature")
        traces = monitor.region.get_by_role("table", name="Traces")
        traces.get_by_role("button", name=re.compile(r"^Run \d")).first.click()
        Timeline(page.locator(".stage")).wait()
        audit.check("opened trace")
        audit.zoomed("monitor")
        watched.end()
