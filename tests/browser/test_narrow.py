"""The toolbar, the search and the details where a cell gives them little room."""

import functools
import itertools
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import DATA, real_trace
from tests.support.examples import sample
from tests.support.made_steps import GPU, built, kernel, op
from tfvis_nb import Trace
from tfvis_nb.analysis.dataflow.edges import KINDS
from tfvis_nb.core.trace import replaced

US = 1000
MOMENT_NS = 1_772_373_906_030_805_000
WRITTEN = """() => {
    const { fillText } = CanvasRenderingContext2D.prototype;
    window.written = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        window.written.push(text);
        fillText.call(this, text, ...place);
    };
}"""
SVG = "{http://www.w3.org/2000/svg}"
TEXT_WIDTH = """([text, size]) => {
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = `${size}px sans-serif`;
    return pen.measureText(text).width;
}"""
TOP = "element => element.getBoundingClientRect().top"
ON_THE_FIRST_LINE = """line => {
    const { top, right } = line.getBoundingClientRect();
    const parts = [...line.children].map((part) => part.getBoundingClientRect());
    const seen = parts.filter((part) => part.top < top + 10);
    return [seen.length, seen.filter((part) => part.right <= right + 0.5).length];
}"""
TO_THE_END = """lanes => new Promise((done) => {
    const { firstElementChild: scroller } = lanes;
    scroller.scrollTo(0, scroller.scrollHeight);
    requestAnimationFrame(() => setTimeout(() => done(scroller.scrollTop)));
})"""
# Some labels also show the value at the pointer.
PLACES = """labels => Object.fromEntries([...labels.querySelectorAll("b")].map(
    (label) => [label.textContent, label.getBoundingClientRect().top]))"""
# The select of one choice alone, as wide as it needs.
CUTS = """(select, text) => {
    const copy = select.cloneNode();
    copy.style.width = "auto";
    copy.append(new Option(text));
    select.after(copy);
    const cuts = copy.offsetWidth > select.offsetWidth;
    copy.remove();
    return cuts;
}"""
CLIPPED = "element => element.scrollWidth > element.clientWidth"
LINES = """element => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return new Set([...range.getClientRects()].map((box) => box.top)).size;
}"""


@functools.cache
def steps(times: tuple[tuple[int, int, int], ...] = ((7, 0, 800), (8, 900, 800))) -> Trace:
    """Steps of a long name, in which an op and its kernel have one op type; times in microseconds."""
    rows = []
    for step, at, took in times:
        rows += [
            op("whole", at, took, step=step, kind="host", lane="python3", op="train"),
            op("a", at + 10, 200, device=GPU, step=step),
            op("c", at + 220, 300, step=step, op="Conv2D"),
            kernel("a", at + 100, 300, at + 50) | {"step": step, "op": "MatMul"},
        ]
    columns = ("start_ns", "duration_ns", "scheduled_ns")
    return built(
        [{name: value * US if name in columns else value for name, value in row.items()} for row in rows]
    )


@pytest.fixture
def timeline(exported: OpenExported, tmp_path: Path) -> Timeline:
    path = steps().to_html(tmp_path / "steps.html", title="a long title of a job that trains a network")
    return exported(path).wait()


def resize(timeline: Timeline, width: int) -> None:
    timeline.page.set_viewport_size(ViewportSize(width=width, height=800))
    # The toolbar follows in the next frame.
    timeline.page.evaluate("() => new Promise(requestAnimationFrame)")


def controls(timeline: Timeline) -> list[Locator]:
    toolbar = timeline.root.locator(".toolbar")
    return toolbar.locator("button:not([role=menuitem]), select, input").all()


def test_no_control_is_cut_off(timeline: Timeline) -> None:
    for width in (230, 400, 700, 968, 1300):
        resize(timeline, width)
        expect(timeline.root.get_by_role("combobox", name="Step")).to_be_visible()
        for control in controls(timeline):
            expect(control, f"at {width} px").to_be_in_viewport(ratio=1)


@pytest.mark.thorough
def test_the_title_is_whole_where_a_line_has_room(timeline: Timeline) -> None:
    for width in (600, 968, 1400):
        resize(timeline, width)
        assert not timeline.root.locator(".toolbar .title").evaluate(CLIPPED), width


@pytest.mark.parametrize("width", sample([1300, 968, 700], [700]))
def test_choosing_a_step_moves_nothing(timeline: Timeline, width: int) -> None:
    resize(timeline, width)
    slider = timeline.root.get_by_role("slider", name="Step shown")
    step = timeline.root.get_by_role("combobox", name="Step")
    before = slider.evaluate(TOP)
    step.select_option(index=1)
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^step 7,"))
    assert slider.evaluate(TOP) == before


def test_step_select_shows_a_whole_duration(timeline: Timeline) -> None:
    step = timeline.root.get_by_role("combobox", name="Step")
    for width in (700, 848, 1300):
        resize(timeline, width)
        assert not step.evaluate(CUTS, "Outside steps · 146 ms"), width


@pytest.mark.thorough
def test_facts_beside_the_title_are_whole_or_left_out(exported: OpenExported, tmp_path: Path) -> None:
    trace = built([op("a", 0, 10 * US), op("c", 20 * US, 10 * US, op="Conv2D")])
    timeline = exported(trace.to_html(tmp_path / "facts.html", title="a title of a job " * 6)).wait()
    timeline.host.get_by_role("button", name="Details", exact=True).click()
    summary = timeline.root.locator(".toolbar .summary")
    expect(summary.locator("span")).to_have_text(["30.0 µs", " · 2 events"])
    counts = set()
    for width in range(1200, 1500, 15):
        resize(timeline, width)
        seen, inside = summary.evaluate(ON_THE_FIRST_LINE)
        assert seen == inside, width
        counts.add(seen)
    assert counts == {0, 1, 2}


def test_the_line_of_steps_and_the_legend_are_whole_or_left_out(
    exported: OpenExported, tmp_path: Path
) -> None:
    trace = steps(((6, 0, 800), (7, 900, 1600), (8, 2600, 800)))
    timeline = exported(trace.to_html(tmp_path / "slow.html", title="a long title of a job")).wait()
    parts = timeline.root.locator(".step-summary > span")
    for width, least in ((1400, 2), (700, 2), (400, 1)):
        resize(timeline, width)
        top = parts.first.evaluate(TOP)
        assert sum(part.evaluate(TOP) == top for part in parts.all()) >= least, width
        assert not any(part.evaluate(CLIPPED) for part in parts.all()), width
        assert timeline.root.get_by_role("slider").evaluate("bars => bars.clientWidth") > 40, width
        for entry in timeline.root.get_by_role("group", name="Legend").get_by_role("button").all():
            expect(entry).to_be_in_viewport(ratio=1)
    timeline.page.evaluate(WRITTEN)
    timeline.root.get_by_role("button", name="Export").click()
    with timeline.page.expect_download():
        timeline.root.get_by_role("menuitem", name="Picture of this view").click()
    assert any(text.startswith("Slowest step: 7") for text in timeline.page.evaluate("written"))
    # At any width a picture has the bars next to their name, and the text next to the bars.
    export = timeline.root.get_by_role("button", name="Export")
    for size, wanted in ((1400, ""), (1400, "12 cm"), (700, "16 cm")):
        resize(timeline, size)
        export.click()
        timeline.root.get_by_role("textbox", name="Width of pictures").fill(wanted)
        with timeline.page.expect_download() as download:
            timeline.root.get_by_role("menuitem", name="Picture as vectors").click()
        root = ET.parse(download.value.path()).getroot()
        (*_, lanes) = root.iter(f"{SVG}svg")
        texts = {element.text: element for element in root.iter(f"{SVG}text")}
        assert {"Steps", "Activity"} <= texts.keys()
        (label,) = [text for text in texts if text and text.startswith("Slowest")]
        assert not label.endswith("…")
        right = float(texts[label].get("x", ""))
        assert texts[label].get("text-anchor") == "end"
        assert right == pytest.approx(float(root.get("width", "")) - 12, abs=1)
        left = right - timeline.page.evaluate(TEXT_WIDTH, [label, texts[label].get("font-size")])
        # The ground is drawn first, and the line's name after its bars.
        parts_drawn = list(root.iter())
        drawn = parts_drawn[: parts_drawn.index(texts["Steps"])]
        _, *bars = [path.get("d", "") for path in drawn if path.tag == f"{SVG}path"]
        boxes = re.findall(r"M([\d.]+) [\d.]+h([\d.]+)", "".join(bars))
        assert len(boxes) >= 2
        for x, wide in boxes:
            assert float(lanes.get("x", "")) <= float(x) < float(x) + float(wide) <= left
        # It ends with the lanes, however high the screen is.
        assert float(root.get("height", "")) < 500
    timeline.root.get_by_role("button", name="Export").click()
    timeline.root.get_by_role("textbox", name="Width of pictures").fill("")


def test_lanes_begin_high_up_and_keep_their_width_beside_details(
    exported: OpenExported, tmp_path: Path
) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    resize(timeline, 848)
    expect(timeline.details).to_be_visible()
    box = timeline.lanes.bounding_box()
    assert box
    assert box["y"] <= 150
    assert box["width"] >= 420
    tops = {control.evaluate(TOP) // 20 for control in controls(timeline)}
    assert len(tops) == 1


def test_lanes_that_have_room_begin_unfolded(exported: OpenExported, tmp_path: Path) -> None:
    # Two rows; the second is nearly empty.
    rows = [op(f"o{at}", at * 10 * US, 9 * US) for at in range(300)] + [op("over", 5 * US, 3 * US)]
    timeline = exported(built(rows).to_html(tmp_path / "page.html")).wait()
    lane = timeline.root.get_by_role("button", name=re.compile("^2 rows of"), include_hidden=True)
    expect(lane).to_have_attribute("aria-expanded", "true")


def test_rows_use_the_height_of_the_window(exported: OpenExported, tmp_path: Path) -> None:
    rows = [op(name, at * 10 * US, 900 * US) for at, name in enumerate("abcdefghij")]
    timeline = exported(built(rows).to_html(tmp_path / "page.html")).wait()

    def distance() -> float:
        upper, lower = (timeline.place(event)[1] for event in (0, 1))
        return lower - upper

    resize(timeline, 1280)
    high = distance()
    box = timeline.lanes.bounding_box()
    assert box
    # The last row is in sight, and no lane has to be scrolled.
    assert timeline.place(9)[1] + high / 2 < box["y"] + box["height"]
    # A bar is selected at its edges as well.
    timeline.page.mouse.click(box["x"] + box["width"] / 2, timeline.place(1)[1] + high / 2 - 3)
    expect(timeline.title).to_have_text("b")
    timeline.page.set_viewport_size(ViewportSize(width=1280, height=400))
    timeline.page.evaluate("() => new Promise(requestAnimationFrame)")
    assert high >= 2 * distance()


def test_the_headline_opens_the_first_finding(timeline: Timeline) -> None:
    (title,) = steps().findings["title"]
    resize(timeline, 700)
    expect(timeline.details).to_have_count(0)
    timeline.root.get_by_role("button", name="Why?").click()
    expect(timeline.host.get_by_role("dialog", name=title)).to_be_in_viewport(ratio=1)


def test_opening_details_moves_no_lane(exported: OpenExported, tmp_path: Path) -> None:
    # Lanes that are scrolled to their end move as soon as they get higher.
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    timeline = exported(trace.to_html(tmp_path / "low.html")).wait()
    labels = timeline.root.get_by_role("group", name="Lanes")
    button = timeline.root.get_by_role("button", name="Details", exact=True)
    for width in (700, 848, 1280, 1600):
        resize(timeline, width)
        # Details close by themselves in the next frame.
        timeline.lanes.evaluate(TO_THE_END)
        if timeline.details.count():
            button.click()
        expect(timeline.details).to_have_count(0)
        assert timeline.lanes.evaluate(TO_THE_END) > 0, width
        before = labels.evaluate(PLACES)
        # Different details need different heights.
        for x in (None, 0.4, 0.7):
            box = timeline.lanes.bounding_box()
            assert box, width
            if x is None:
                button.click()
            else:
                timeline.page.mouse.click(box["x"] + x * box["width"], box["y"] + 40)
            expect(timeline.details).to_be_visible()
            after = labels.evaluate(PLACES)
            assert after == {name: before[name] for name in after}, width


def test_the_table_of_a_range_fits_beside_the_details(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    start = int(trace.events["start_ns"].min())
    page = trace.to_html(tmp_path / "page.html", selection=(start, start + 3_000_000))
    timeline = exported(page).wait()
    pane = timeline.root.get_by_role("region", name="Selected range")
    for width in (848, 1016, 1280):
        resize(timeline, width)
        outer, details = pane.bounding_box(), timeline.details.bounding_box()
        assert outer
        assert details
        head = pane.locator("header button").or_(pane.get_by_role("button", name="Copy: Selected range"))
        boxes = sorted((box for each in head.all() if (box := each.bounding_box())), key=lambda box: box["x"])
        assert len(boxes) >= 5
        for left, right in itertools.pairwise(boxes):
            # Borders of neighbours lie on each other.
            assert left["x"] + left["width"] <= right["x"] + 1, width
        last = pane.get_by_role("columnheader", name="Durations").bounding_box()
        assert last
        for box in (boxes[-1], last):
            assert box["x"] + box["width"] <= outer["x"] + outer["width"] <= details["x"] + 1, width


def test_other_details_begin_at_their_top(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    timeline.page.set_viewport_size({"width": 1280, "height": 420})
    select = "(host, events) => host.tfvis.store.select({ events })"
    timeline.host.evaluate(select, list(range(40)))
    expect(timeline.title).to_have_text("40 events selected")
    assert timeline.details.evaluate("panel => { panel.scrollTop = 90; return panel.scrollTop }") == 90
    timeline.host.evaluate(select, list(range(50)))
    expect(timeline.title).to_have_text("50 events selected")
    assert timeline.details.evaluate("panel => panel.scrollTop") == 0


def test_labels_stay_beside_their_lanes(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    resize(timeline, 1280)
    labels = timeline.root.get_by_role("group", name="Lanes")
    # As the focus on a label that is half in sight does.
    labels.get_by_role("button").last.evaluate("button => button.scrollIntoView()")
    assert labels.evaluate("element => element.scrollTop") == 0


@pytest.mark.thorough
def test_typed_text_stays_readable_beside_its_hits(timeline: Timeline) -> None:
    timeline.search_box.fill("op:Conv2D >1s")
    expect(timeline.root.get_by_role("search").locator("output")).to_have_text("no match")
    for width in (700, 968, 1300):
        resize(timeline, width)
        assert not timeline.search_box.evaluate(CLIPPED), width


def test_the_key_of_the_search_replaces_the_last_one(timeline: Timeline) -> None:
    expect(timeline.root.get_by_role("button", name="Critical path")).to_be_enabled()
    timeline.lanes.press("c")
    expect(timeline.search_box).to_have_value("is:critical")
    timeline.lanes.press("/")
    timeline.page.keyboard.type("Conv")
    expect(timeline.search_box).to_have_value("Conv")
    # 20 letters are readable beside their hits, and the lanes do not move.
    timeline.search_box.fill("")
    for width in (848, 968, 1100, 1200, 1270, 1345):
        resize(timeline, width)
        top = timeline.lanes.evaluate(TOP)
        timeline.search_box.fill("op:MatMul kind:kerne")
        expect(timeline.root.get_by_role("search").locator("output")).to_have_text("2")
        timeline.search_box.press("Enter")
        expect(timeline.root.get_by_role("search").locator("output")).to_have_text("1 of 2")
        timeline.search_box.focus()
        assert not timeline.search_box.evaluate(CLIPPED), width
        assert timeline.lanes.evaluate(TOP) == top, width
        timeline.clear()
        timeline.search_box.fill("")


@pytest.mark.thorough
def test_details_in_a_very_narrow_cell_keep_their_words(timeline: Timeline) -> None:
    resize(timeline, 230)
    timeline.find("name:c")
    expect(timeline.title).to_have_text("c")
    fact = timeline.details.locator("dt:has-text('Duration') + dd")
    expect(fact).to_have_text("300 µs")
    assert fact.evaluate(LINES) == 1


def test_most_time_separates_ops_from_kernels(timeline: Timeline) -> None:
    timeline.details.get_by_text(re.compile("^More f")).click()
    names = timeline.details.locator("table:has(thead) tbody button")
    expect(names.nth(0)).to_have_accessible_name("MatMul kernel")
    # The colour beside it says nothing twice.
    row = names.nth(0).locator("xpath=ancestor::tr")
    expect(row).to_have_accessible_name(re.compile("^MatMul kernel"))
    expect(timeline.details.get_by_role("button", name="MatMul op")).to_be_visible()
    expect(timeline.details.get_by_role("button", name="Conv2D", exact=True)).to_be_visible()
    expect(timeline.details.get_by_text("Host calls are nested")).to_be_visible()


@pytest.mark.thorough
def test_complete_lists_mention_no_omitted_rows(exported: OpenExported, tmp_path: Path) -> None:
    trace = built([op("a", 0, 10 * US), op("c", 20 * US, 10 * US, op="Conv2D")])
    timeline = exported(trace.to_html(tmp_path / "ops.html")).wait()
    timeline.details.get_by_text(re.compile("^More f")).click()
    expect(timeline.details.get_by_role("button", name="Conv2D")).to_be_visible()
    expect(timeline.details.get_by_text("Host calls are nested")).to_have_count(0)


@pytest.mark.thorough
def test_zooming_by_keys_leaves_no_word_of_the_place_before(timeline: Timeline) -> None:
    tooltip = timeline.root.locator(".tooltip")
    time = timeline.root.locator(".cursor-time")
    event = next(at for at, name in enumerate(steps().events["name"]) if name == "c")
    timeline.click(event)
    x, y = timeline.place(event)
    timeline.page.mouse.move(x + 2, y)
    expect(tooltip).to_contain_text("c")
    before = time.text_content() or ""
    timeline.lanes.press("f")
    expect(tooltip).to_have_count(0)
    expect(time).not_to_have_text(before)
    timeline.place(event)
    after = time.text_content() or ""
    # The line has stayed under the pointer: moving that along it changes no time.
    timeline.page.mouse.move(x + 2, y + 1)
    expect(tooltip).to_be_visible()
    expect(time).to_have_text(after)


def test_help_tells_how_to_search_the_critical_path(timeline: Timeline) -> None:
    timeline.lanes.press("?")
    expect(timeline.host.get_by_role("dialog").get_by_role("term")).to_contain_text(["is:critical"])


def test_the_time_of_day_is_shown_on_demand(exported: OpenExported, tmp_path: Path) -> None:
    dated = steps()
    moved = replaced(dated, dated.events.assign(start_ns=dated.events["start_ns"] + MOMENT_NS))
    timeline = exported(moved.to_html(tmp_path / "dated.html")).wait()
    time = timeline.root.locator(".cursor-time")
    axis = timeline.root.get_by_role("img", name="Time axis")
    x, y = timeline.place(0)
    timeline.page.mouse.move(x, y)
    expect(time).to_have_text(re.compile(r"^\+"))
    timeline.lanes.press("u")
    expect(time).to_have_text(re.compile(r"^2026-0[23]-\d\d \d\d:\d5:06\.\d+$"))
    expect(axis).to_have_attribute("aria-label", re.compile("2026-"))
    timeline.lanes.press("u")
    expect(time).to_have_text(re.compile(r"^\+"))


@pytest.mark.thorough
def test_without_a_date_there_is_a_reason(timeline: Timeline) -> None:
    timeline.lanes.press("u")
    expect(timeline.root.get_by_text("does not record the date")).to_be_visible()


@pytest.mark.thorough
def test_a_low_window_scrolls_the_lanes_and_not_the_page(timeline: Timeline) -> None:
    page = timeline.page
    page.set_viewport_size(ViewportSize(width=700, height=420))
    page.wait_for_function("() => document.documentElement.scrollHeight <= innerHeight")
    for part in (timeline.lanes, timeline.status.last):
        expect(part).to_be_in_viewport(ratio=1)
    # Much lower, something is left of the lanes.
    page.set_viewport_size(ViewportSize(width=700, height=200))
    page.wait_for_function("() => document.documentElement.scrollHeight > innerHeight")


def test_names_of_a_thousand_letters_leave_room_for_the_rest(exported: OpenExported, tmp_path: Path) -> None:
    name = "_ZN" + "7cutlass" * 130
    trace = built([op(name, 10, 200, device=GPU), kernel("b", 100, 300, 50)])
    trace.edges = pd.DataFrame({"source": [0], "target": [1], "kind": pd.Categorical(["launch"], KINDS)})
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    visit = "(host, event) => host.tfvis.actions.visitEvent(event)"
    timeline.host.evaluate(visit, 0)
    expect(timeline.title).to_have_text(name)
    expect(timeline.title).to_have_attribute("title", name)
    expect(timeline.details.get_by_text("Duration")).to_be_in_viewport(ratio=1)
    timeline.host.evaluate(visit, 1)
    link = timeline.details.get_by_role("button", name=name[:60])
    expect(link).to_have_attribute("title", name)
    assert len(link.inner_text()) < 250
