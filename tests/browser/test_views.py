"""The view of an exported page: its author's, the one in its address, and those with names."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.timeline import (
    OpenExported,
    Timeline,
    choose,
    expect_choice,
    expect_pressed,
    press_in_view_menu,
    saved,
)
from tests.real_traces import DATA, real_trace
from tests.support.page_options import page_options
from tfvis_nb import Trace, events, show_timeline
from tfvis_nb.core.trace import replaced
from tfvis_nb.display.timeline.timeline_widget import TimelineWidget

SVG = "{http://www.w3.org/2000/svg}"
PLACEHOLDER_FITS = """field => {
    const pen = document.createElement("canvas").getContext("2d");
    const { font, paddingLeft, paddingRight } = getComputedStyle(field);
    pen.font = font;
    const room = field.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    return field.placeholder !== "" && pen.measureText(field.placeholder).width <= room;
}"""
ALLOWED = {"svg", "title", "g", "path", "text", "defs", "pattern"}
HOSTILE = "<img src=x onerror=alert(1)>"
REOPEN = """(element) => {
    const popover = element.closest('.popover');
    popover.hidePopover();
    popover.getRootNode().querySelector('.lanes').focus();
    popover.showPopover();
}"""
LONG = "images of a step " * 10


def axis(timeline: Timeline) -> Locator:
    return timeline.root.get_by_role("img", name="Time axis")


def expect_times(timeline: Timeline, start: str, end: str) -> None:
    expect(axis(timeline)).to_have_attribute("aria-label", f"Time axis, {start} to {end}")


@pytest.fixture(scope="module")
def widget() -> TimelineWidget:
    return show_timeline(real_trace(DATA / "local_mlp_step1.pb"))


def first(widget: TimelineWidget) -> int:
    return int(widget.trace.events["start_ns"].iloc[0])


def test_a_colleague_sees_the_view_of_the_sender(exported: OpenExported, tmp_path: Path) -> None:
    widget = show_timeline(real_trace(DATA / "local_mlp_step1.pb"))
    widget.view = {
        "start_ns": first(widget) + 2_000_000,
        "end_ns": first(widget) + 3_000_000,
        "details": False,
    }
    timeline = exported(widget.to_html(tmp_path / "page.html")).wait()
    expect_times(timeline, "+2.000 ms", "+3.000 ms")
    expect(timeline.details).to_have_count(0)
    # Another view is in the page that is exported from there.
    timeline.lanes.focus()
    timeline.page.keyboard.press("w")
    expect(axis(timeline)).not_to_have_attribute("aria-label", "Time axis, +2.000 ms to +3.000 ms")
    timeline.root.get_by_role("button", name="Details").click()
    expect(timeline.details).to_be_visible()
    view = page_options(saved(timeline.page, tmp_path / "again.html").read_text("utf-8"))["view"]
    assert view["details"]
    assert 2_000_000 < view["start"] < view["end"] < 3_000_000


def host_ops(spans_ms: list[tuple[int, int]], **columns: Any) -> Trace:
    """Return a trace of host ops, each with a start and a length."""
    times = {
        "start_ns": [1_700_000_000_000_000_000 + start * 1_000_000 for start, _ in spans_ms],
        "duration_ns": [length * 1_000_000 for _, length in spans_ms],
        "kind": ["op"] * len(spans_ms),
    }
    return Trace(events.build({**times, **columns}))


def mostly_empty() -> Trace:
    """Return a second of work in 46 seconds."""
    second = [(start, 100) for start in range(9_000, 10_000, 100)]
    return host_ops([(0, 0), *second, (46_000, 0)])


def test_a_mostly_empty_timeline_opens_at_its_activity(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(mostly_empty().to_html(tmp_path / "page.html")).wait()
    expect_times(timeline, "+8.950 s", "+10.050 s")
    timeline.lanes.focus()
    timeline.page.keyboard.press("0")
    expect_times(timeline, "\u2212460 ms", "+46.46 s")


def test_a_timeline_opens_at_its_typical_steps(exported: OpenExported, tmp_path: Path) -> None:
    compiling, *typical = (0, 1000), (1000, 100), (1100, 100), (1200, 100)
    trace = host_ops([compiling, *typical], step=range(4))
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    expect_times(timeline, "+983.0 ms", "+1.3130 s")
    timeline.lanes.focus()
    timeline.page.keyboard.press("0")
    expect_times(timeline, "\u221213 ms", "+1.313 s")


def test_a_view_counts_before_the_activity(exported: OpenExported, tmp_path: Path) -> None:
    trace = mostly_empty()
    start = int(trace.events["start_ns"].iloc[0])
    view = {"start_ns": start + 1_000_000_000, "end_ns": start + 2_000_000_000}
    timeline = exported(trace.to_html(tmp_path / "view.html", view=view)).wait()
    expect_times(timeline, "+1.000 s", "+2.000 s")


def test_a_link_leads_to_a_view(exported: OpenExported, widget: TimelineWidget, tmp_path: Path) -> None:
    times = {"start_ns": first(widget) + 4_000_000, "end_ns": first(widget) + 6_000_000}
    timeline = exported(widget.to_html(tmp_path / "page.html", view={"selection": [3], **times})).wait()
    page = timeline.page
    page.evaluate(
        "navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }"
    )
    choose(timeline.root, "Group lanes", "kind")
    timeline.root.get_by_role("button", name="Details", exact=True).click()
    timeline.lanes.focus()
    page.keyboard.press("Shift+V")
    expect(timeline.root.get_by_text("Copied")).to_be_visible()
    link = page.evaluate("copied")
    assert link == f"{page.url.partition('#')[0]}#view=4000000..6000000;panes=;group=kind;events=3"
    assert page.url == link
    # Elsewhere on the page, and back by the address alone.
    page.keyboard.press("0")
    choose(timeline.root, "Group lanes", "none")
    page.reload()
    timeline.wait()
    expect_times(timeline, "+4.000 ms", "+6.000 ms")
    expect_choice(timeline.root, "Group lanes", "kind")
    expect(timeline.details).to_have_count(0)
    page.evaluate("location.hash = '#view=2000000..3000000;events=7;filter=%3Cimg%20src%3Dx%3E'")
    expect_times(timeline, "+2.000 ms", "+3.000 ms")
    expect(timeline.root.get_by_role("textbox", name="Filter lanes")).to_have_value("<img src=x>")
    expect(timeline.details).to_be_visible()
    # A damaged one says so, as do times of another trace; its events and lanes are left out.
    for outside in ("1000000000000..2000000000000", "-5..-1"):
        page.evaluate("location.hash = '#view=9..1;group=<img src=x onerror=alert(1)>'")
        expect(timeline.root.get_by_text("invalid times")).to_be_visible()
        page.evaluate("location.hash = '#view=1..9;group=kind;<img src=x onerror=alert(1)>'")
        damaged = timeline.root.get_by_text("nothing of its view is applied")
        expect(damaged).to_contain_text("(invalid %3Cimg")
        page.evaluate(f"location.hash = '#view={outside};group=kind'")
        expect(timeline.root.get_by_text("outside of this trace")).to_be_visible()
        expect_choice(timeline.root, "Group lanes", "device")
        expect_times(timeline, "+2.000 ms", "+3.000 ms")
    page.evaluate("location.hash = '#view=1000000..2000000;events=99999999;hide=a/b/<c>;step=77'")
    expect_times(timeline, "+1.000 ms", "+2.000 ms")
    message = timeline.root.get_by_text("Not in this trace")
    expect(message).to_contain_text("step 77")
    expect(message).to_contain_text("a b <c>")
    expect(message).to_contain_text("selection")
    expect(timeline.root.get_by_role("button", name="hidden")).to_have_count(0)
    expect(timeline.title).not_to_have_text("")


def test_views_are_named_and_gone_back_to(
    exported: OpenExported, widget: TimelineWidget, tmp_path: Path
) -> None:
    widget.views = {HOSTILE: {"start_ns": first(widget) + 2_000_000, "end_ns": first(widget) + 3_000_000}}
    timeline = exported(widget.to_html(tmp_path / "page.html")).wait()
    page = timeline.page
    timeline.lanes.focus()
    page.keyboard.press("v")
    views = timeline.root.get_by_role("dialog", name="View")
    named = views.get_by_role("textbox", name="Name of this view")
    expect(named).to_be_focused()
    # Opened again before the browser says that it closed, it is as new.
    page.keyboard.type("mine")
    named.evaluate(REOPEN)
    expect(named).to_be_focused()
    expect(named).to_have_value("")
    # Escape gives the keys back to the lanes, where the key was pressed.
    page.keyboard.press("Escape")
    expect(timeline.lanes).to_be_focused()
    page.keyboard.press("v")
    expect(named).to_be_focused()
    page.keyboard.press("Tab")
    expect(views.get_by_role("button", name=HOSTILE).first).to_be_focused()
    # Where nothing is typed into, keys are none of the timeline either.
    page.keyboard.type("n?")
    expect(views).to_be_visible()
    expect(timeline.root.get_by_role("dialog")).to_have_count(1)
    page.keyboard.press("Enter")
    expect_times(timeline, "+2.000 ms", "+3.000 ms")
    expect(timeline.lanes).to_be_focused()
    choose(timeline.root, "Colour", "op")
    timeline.lanes.focus()
    page.keyboard.press("v")
    page.keyboard.type("by op")
    page.keyboard.press("Enter")
    expect(timeline.root.get_by_text("View saved: export the page to keep it")).to_be_visible()
    page.keyboard.press("v")
    page.keyboard.type("by op")
    page.keyboard.press("Enter")
    expect(timeline.root.get_by_text("View replaced: export the page to keep it")).to_be_visible()
    expect(timeline.lanes).to_be_focused()
    page.keyboard.press("0")
    choose(timeline.root, "Colour", "kind")
    again = saved(page, tmp_path / "again.html")
    assert [(view["name"], view["color_by"]) for view in page_options(again.read_text("utf-8"))["views"]] == [
        (HOSTILE, "kind"),
        ("by op", "op"),
    ]
    page.keyboard.press("Escape")
    timeline.root.get_by_role("button", name="View", exact=True).click()
    views.get_by_role("button", name="by op", exact=True).click()
    expect_times(timeline, "+2.000 ms", "+3.000 ms")
    expect_choice(timeline.root, "Colour", "op")
    timeline.lanes.focus()
    page.keyboard.press("v")
    page.keyboard.type("by op")
    page.keyboard.press("Enter")
    hint = timeline.root.get_by_text("View replaced: export the page to keep it")
    expect(hint).to_be_visible()
    page.keyboard.press("v")
    views.get_by_role("button", name="Delete the view by op").click()
    expect(hint).to_have_count(0)
    expect(views.get_by_role("button", name="by op", exact=True)).to_have_count(0)
    deleted = views.get_by_role("group", name="Deleted view by op")
    expect(deleted.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(timeline.lanes).to_be_focused()
    page.keyboard.press("v")
    views.get_by_role("button", name="Delete the view by op").click()
    page.keyboard.press("Escape")
    assert [
        view["name"]
        for view in page_options(saved(page, tmp_path / "third.html").read_text("utf-8"))["views"]
    ] == [HOSTILE]


def test_the_view_as_vectors(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "dist_inproc_ps_2workers_step0.pb")
    trace = replaced(trace, trace.events)
    start = int(trace.events["start_ns"].iloc[0])
    trace.annotations = [{"start_ns": start + 4_000_000, "name": HOSTILE}]
    view = {"start_ns": start + 3_000_000, "end_ns": start + 6_000_000, "color_by": "kind"}
    values = {"time_ns": [start, start + 5_000_000], "value": [-1.5e174, 30], "unit": ["images/s"] * 2}
    page_path = trace.to_html(
        tmp_path / "page.html", view=view, tracks={LONG: values}, selection=(start, start + 9_000_000)
    )
    timeline = exported(page_path).wait()
    expect_times(timeline, "+3.000 ms", "+6.000 ms")
    # Its name leaves the figures of a counter their room.
    counters = timeline.details.get_by_role("table", name="Counters")
    for part in (*counters.get_by_role("columnheader").all(), *counters.get_by_role("cell").all()):
        expect(part).to_be_in_viewport(ratio=1)
    timeline.root.get_by_role("button", name="Export").click()
    with timeline.page.expect_download() as download:
        timeline.page.get_by_role("menuitem", name="Picture as vectors").click()
    download.value.save_as(tmp_path / "view.svg")
    root = ET.parse(tmp_path / "view.svg").getroot()
    assert root.tag == f"{SVG}svg"
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    # Title, ruler, lanes, annotations and legend are texts; bars are shapes in the legend's colours.
    assert {"3.0 ms", "4.0 ms", "5.0 ms", "ops", "receive", "host compute", HOSTILE} <= set(texts)
    assert not {"2.0 ms", "7.0 ms"} & set(texts)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= ALLOWED
    fills = {element.get("fill") for element in root.iter(f"{SVG}path")}
    legend = root.findall(f"{SVG}g/{SVG}g/{SVG}g/{SVG}path")
    assert len(fills) > len(legend) > 1
    # The lanes are clipped at their end on the screen.
    (*_, lanes) = root.iter(f"{SVG}svg")
    box = timeline.lanes.bounding_box()
    assert box
    assert float(lanes.get("width", "")) == pytest.approx(box["width"], abs=1)
    # On paper the same times have another width; names keep their size and column.
    export = timeline.root.get_by_role("button", name="Export")
    width = timeline.page.get_by_role("textbox", name="Width of pictures")
    export.click()
    assert width.evaluate(PLACEHOLDER_FITS)
    width.fill("16 parsecs")
    timeline.page.get_by_role("menuitem", name="Picture as vectors").click()
    # The menu stays open, and the field names the fault.
    expect(width).to_be_focused()
    assert "16 parsecs" in width.evaluate("field => field.validationMessage")
    width.fill("16 cm")
    with timeline.page.expect_download() as download:
        timeline.page.get_by_role("menuitem", name="Picture as vectors").click()
    download.value.save_as(tmp_path / "paper.svg")
    paper = ET.parse(tmp_path / "paper.svg").getroot()
    assert float(paper.get("width", "")) == pytest.approx(16 / 2.54 * 96)
    assert paper.get("height") == root.get("height")
    (*_, narrow) = paper.iter(f"{SVG}svg")
    names = float(root.get("width", "")) - float(lanes.get("width", ""))
    assert float(narrow.get("width", "")) == pytest.approx(float(paper.get("width", "")) - names, abs=0.1)
    texts = [element.text or "" for element in paper.iter(f"{SVG}text")]
    assert {"3 ms", "5 ms", "ops", "receive", "Activity", "1 annotation"} <= set(texts)
    # Names are cut to their room, not squeezed into it.
    assert [text[-1] for text in texts if text.startswith(LONG[:9])] == ["…"]
    assert not paper.findall(f".//{SVG}text[@textLength]")
    assert timeline.lanes.bounding_box() == box
    # In a column the names take a third; the summary is whole, and the ruler has ticks.
    export.click()
    width.fill("8,5 CM")
    with timeline.page.expect_download() as download:
        timeline.page.get_by_role("menuitem", name="Picture as vectors").click()
    column = ET.parse(download.value.path()).getroot()
    (*_, least) = column.iter(f"{SVG}svg")
    assert float(least.get("width", "")) >= 0.66 * float(column.get("width", ""))
    texts = [element.text or "" for element in column.iter(f"{SVG}text")]
    assert (timeline.root.locator(".toolbar .summary").text_content() or "?") in " ".join(texts)
    assert len([text for text in texts if re.fullmatch(r"\d(\.\d)? ms", text)]) >= 2
    # With all annotations out of view their line has its name, and nothing else.
    timeline.host.evaluate("host => host.tfvis.store.setViewport({ start: 7e6, end: 8e6 }, 'zoom')")
    expect(
        timeline.root.get_by_role("list", name="Annotations in view").get_by_role("listitem")
    ).to_have_count(0)
    export.click()
    with timeline.page.expect_download() as download:
        timeline.page.get_by_role("menuitem", name="Picture as vectors").click()
    column = ET.parse(download.value.path()).getroot()
    assert "1 annotation" in [element.text for element in column.iter(f"{SVG}text")]
    assert not [path for path in column.iter(f"{SVG}path") if re.match(r"M0 [\d.]+h2v", path.get("d", ""))]


def test_copying_a_link_leaves_steps_aligned(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    press_in_view_menu(timeline.root, "Align steps")
    expect_pressed(timeline.root, "Align steps", pressed=True)
    timeline.lanes.focus()
    timeline.page.keyboard.press("Shift+V")
    timeline.page.wait_for_function("location.hash !== ''")
    # The event that the address has changed comes in a later task.
    timeline.page.evaluate("() => new Promise((done) => setTimeout(done))")
    expect_pressed(timeline.root, "Align steps", pressed=True)
