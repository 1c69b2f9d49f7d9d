"""The dashboard: charts and tables that move with the timeline, on a page of its own and in a notebook."""

import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, expect

import tfvis_nb
from tests.browser.dashboard import Dashboard, OpenDashboard
from tests.browser.notebook import OpenNotebook
from tests.hostile_names import HOSTILE, hostile_trace

Theme = Literal["light", "dark"]

REPOSITORY = Path(__file__).parent.parent.parent
TRACE = REPOSITORY / "tests" / "data" / "local_mlp_step1.pb"
MEMORY = "Memory allocated"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tfvis_nb.show_dashboard(TRACE).to_html(tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture
def shown(exported_dashboard: OpenDashboard, page_file: Path) -> Dashboard:
    return exported_dashboard(page_file).wait()


def test_charts_are_drawn_in_the_page(shown: Dashboard) -> None:
    for tab, title in [
        ("Breakdown", "time of each step"),
        ("Ops", "Self time by op type"),
        ("Memory", MEMORY),
    ]:
        chart = shown.chart(tab, title)
        box = chart.bounding_box()
        assert box
        assert box["height"] > 60
        assert chart.locator("canvas").count() > 0


def test_another_bokeh_of_the_page_is_left_alone(
    context: BrowserContext, exported_dashboard: OpenDashboard, page_file: Path
) -> None:
    context.add_init_script("window.Bokeh = {version: '0.1', __bokeh__: true}")
    shown = exported_dashboard(page_file).wait()
    assert shown.chart("Memory", MEMORY).locator("canvas").count() > 0
    assert shown.page.evaluate("window.Bokeh.version") == "0.1"


def test_a_row_is_found_in_the_timeline_by_pointer_and_by_key(shown: Dashboard) -> None:
    table = shown.table("Ops", "By op type")
    rows = table.locator("tbody tr")
    whole = shown.settled(shown.ruler)
    fourth, fifth = (rows.nth(at).locator("td").first.inner_text() for at in (4, 5))
    shown.click(table, 4)
    near = shown.moved(shown.ruler, whole)
    assert whole[0] <= near[0] < near[1] <= whole[1]
    expect(shown.timeline.status.last).to_contain_text(f", {fourth}, ")
    table.get_by_role("button", name=fourth, exact=True).focus()
    shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("Enter")
    shown.moved(shown.ruler, near)
    expect(shown.timeline.status.last).to_contain_text(f", {fifth}, ")


def test_a_gap_is_shown_on_its_device(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    trace = tfvis_nb.read_trace(REPOSITORY / "tests" / "data" / "gpu_tf221_dist.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html"))
    shown.page.set_viewport_size({"width": 1280, "height": 700})
    shown.wait()
    last = shown.timeline.lanes.page.locator(".tfvis-timeline").get_by_text("stream 13").last
    for table in ("The longest gaps", "Why devices had nothing to do"):
        rows = shown.table("Gaps", table).locator("tbody tr")
        for device in ("ps 0 · CPU:0", "worker 1 · GPU:0"):
            button = rows.filter(has_text=device).first.get_by_role("button").first
            button.focus()
            shown.page.keyboard.press("Enter")
            assert shown.timeline.expect_fact("On") == device
        expect(last).to_be_in_viewport()
        shown.timeline.clear()
    button = rows.filter(has_text="worker 1 · GPU:0").first.get_by_role("button")
    # What the cause means is said of it, too.
    assert button.get_attribute("aria-describedby")


def test_rows_that_lead_nowhere_do_not_look_as_if_they_did(shown: Dashboard) -> None:
    ground = "row => getComputedStyle(row.cells[1]).backgroundColor"
    for tab, title, leads in [
        ("Breakdown", "All steps together", False),
        ("Ops", "By name scope", False),
        ("Ops", "By op type", True),
    ]:
        row = shown.table(tab, title).locator("tbody tr").first
        before = row.evaluate(ground)
        row.locator("td").nth(1).hover(force=True)
        assert (row.get_by_role("button").locator("xpath=self::*[@data-row]").count() > 0) is leads
        assert (row.evaluate(ground) != before) is leads


OVERFLOWING = """panel => [...panel.querySelectorAll('.rows')]
    .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.ariaLabel)"""


@pytest.mark.parametrize("width", [1400, 1000])
def test_tables_have_room_for_all_their_columns(
    exported_dashboard: OpenDashboard, tmp_path: Path, width: int
) -> None:
    trace = tfvis_nb.read_trace(REPOSITORY / "tests" / "data" / "gpu_tf221_dist.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html"))
    shown.page.set_viewport_size({"width": width, "height": 900})
    shown.wait()
    for tab in ("Breakdown", "Ops", "Transfers", "Memory", "Critical path", "Gaps", "Steps"):
        assert (tab, shown.tab(tab).evaluate(OVERFLOWING)) == (tab, [])


def test_every_tab_is_in_sight_on_a_narrow_page(shown: Dashboard) -> None:
    shown.page.set_viewport_size({"width": 420, "height": 900})
    for tab in shown.tabs.all():
        box = tab.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 420


KERNELS = {"light": "rgb(47, 158, 119)", "dark": "rgb(63, 185, 140)"}
MUTED = {"light": "rgb(98, 106, 119)", "dark": "rgb(154, 161, 173)"}
GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}
# How many points of a chart have a colour.
PAINTED = """(canvas, colour) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
        count += `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})` === colour && data[at + 3] === 255;
    return count;
}"""
TOOLTIP = """() => [...document.querySelectorAll(".bk-Tooltip")].map((tip) => [
    getComputedStyle(tip).backgroundColor,
    getComputedStyle(tip.shadowRoot.querySelector(".bk-tooltip-row-label")).color])"""


def test_charts_have_the_colours_of_the_timeline_in_either_theme(
    exported_dashboard: OpenDashboard, tmp_path: Path
) -> None:
    trace = tfvis_nb.read_trace(REPOSITORY / "tests" / "data" / "gpu_tf218_function.xplane.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    turns: list[tuple[Theme, Theme]] = [("light", "dark"), ("dark", "light"), ("light", "dark")]
    for theme, other in turns:
        shown.page.emulate_media(color_scheme=theme)
        for tab, title in (("Breakdown", "time of each step"), ("Ops", "Self time by op type")):
            chart = shown.chart(tab, title)
            swatch = chart.locator("xpath=..").get_by_role("listitem").filter(has_text="device compute")
            expect(swatch.locator("i")).to_have_css("background-color", KERNELS[theme])
            canvas = chart.locator("canvas").first
            for _ in range(20):
                if canvas.evaluate(PAINTED, KERNELS[theme]) and not canvas.evaluate(PAINTED, KERNELS[other]):
                    break
                shown.page.wait_for_timeout(100)
            assert canvas.evaluate(PAINTED, KERNELS[theme]) > 20
            assert canvas.evaluate(PAINTED, KERNELS[other]) == 0
        box = chart.bounding_box()
        assert box
        shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 16)
        expect(shown.page.locator(".bk-Tooltip")).to_be_visible()
        assert shown.page.evaluate(TOOLTIP) == [[GROUND[theme], MUTED[theme]]]
        shown.page.mouse.move(5, 5)


def test_the_timeline_moves_a_chart_of_the_runs_time(shown: Dashboard) -> None:
    chart = shown.chart("Memory", MEMORY)
    assert shown.settled(chart) == pytest.approx(shown.settled(shown.ruler), abs=0.02)
    shown.timeline.lanes.focus()
    for _ in range(4):
        shown.page.keyboard.press("w")
    near = shown.settled(shown.ruler)
    assert shown.settled(chart) == pytest.approx(near, abs=0.02)
    # What a hidden chart has missed it makes up for when it is shown.
    shown.tab("Steps")
    shown.timeline.lanes.focus()
    shown.page.keyboard.press("0")
    assert shown.settled(shown.ruler)[1] > near[1]
    chart = shown.chart("Memory", MEMORY)
    assert shown.settled(chart) == pytest.approx(shown.settled(shown.ruler), abs=0.02)


def test_bandwidth_over_time_follows_the_timeline(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    trace = REPOSITORY / "tests" / "data" / "gpu_tf221_mlp.pb.xz"
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    chart = shown.chart("Transfers", "Bandwidth over time")
    whole = shown.settled(shown.ruler)
    assert shown.settled(chart) == pytest.approx(whole, abs=0.02)
    shown.timeline.lanes.focus()
    for _ in range(4):
        shown.page.keyboard.press("w")
    near = shown.moved(shown.ruler, whole)
    assert shown.settled(chart) == pytest.approx(near, abs=0.02)


def test_a_chart_moves_the_timeline(shown: Dashboard) -> None:
    chart = shown.chart("Memory", MEMORY)
    before = shown.settled(shown.ruler)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    y = box["y"] + box["height"] / 3
    shown.page.mouse.move(box["x"] + box["width"] * 0.4, y)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + box["width"] * 0.7, y, steps=5)
    shown.page.mouse.up()
    near = shown.moved(shown.ruler, before)
    assert before[0] < near[0] < near[1] < before[1]
    assert shown.settled(chart) == pytest.approx(near, abs=0.02)


def test_what_the_pointer_is_over_is_lit_on_the_other_side(shown: Dashboard) -> None:
    table = shown.table("Ops", "By node")
    name = str(tfvis_nb.read_trace(TRACE).events.loc[30, "name"])
    shown.timeline.page.mouse.move(*shown.timeline.place(30))
    lit = table.locator("tr[data-lit]")
    expect(lit).to_have_count(1)
    expect(lit).to_have_attribute("data-light", name)
    # And back: the timeline dims what is not of the row's node.
    paint = "host => host.tfvis.store.painting.shade.filter((each) => each >= 128).length"
    assert shown.timeline.host.evaluate(paint) == 0
    # The row's button covers all of it.
    lit.locator("td").nth(2).hover(force=True)
    shown.page.wait_for_function(f"host => ({paint})(host) > 0", arg=shown.timeline.host.element_handle())


def test_tables_are_sorted_by_their_heads(shown: Dashboard) -> None:
    table = shown.table("Ops", "By op type")
    head = table.get_by_role("columnheader", name="Count")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    column = table.locator("tbody td:nth-child(6)")
    counts = [int(re.sub(r"\D", "", text)) for text in column.all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert column.first.inner_text() == str(min(counts))


def test_definitions_are_there_for_pointer_keyboard_and_screen_reader(shown: Dashboard) -> None:
    table = shown.table("Ops", "By op type")
    told = "total_ns / count."
    button = table.get_by_role("columnheader", name="Mean").get_by_role("button")
    expect(button).to_have_accessible_description(told)
    tip = shown.panels.locator(".tip")
    expect(tip).to_be_hidden()
    button.hover()
    expect(tip).to_have_text(told)
    shown.page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    table.get_by_role("columnheader", name="Count").get_by_role("button").focus()
    shown.page.keyboard.press("Tab")
    expect(tip).to_have_text(told)
    shown.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_tabs_are_chosen_by_arrow_keys(shown: Dashboard) -> None:
    names = shown.tabs.all_inner_texts()
    shown.tabs.first.focus()
    for key, place in [("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowLeft", len(names) - 1), ("Home", 0)]:
        shown.page.keyboard.press(key)
        expect(shown.tabs.nth(place)).to_be_focused()
        expect(shown.tabs.nth(place)).to_have_attribute("aria-selected", "true")
        expect(shown.panels.get_by_role("tabpanel")).to_have_accessible_name(names[place])


def test_what_cannot_be_said_is_not_zero(shown: Dashboard) -> None:
    panel = shown.tab("Transfers")
    expect(panel.get_by_text("Not available: no tensor was received").first).to_be_visible()
    expect(panel.locator("canvas")).to_have_count(0)


def test_the_line_between_timeline_and_tabs_moves(shown: Dashboard) -> None:
    line = shown.page.get_by_role("separator", name="Height of the timeline", exact=True)
    before = shown.timeline.host.bounding_box()
    line.focus()
    for _ in range(5):
        shown.page.keyboard.press("ArrowUp")
    after = shown.timeline.host.bounding_box()
    assert before
    assert after
    assert after["height"] == pytest.approx(before["height"] - 80, abs=2)


def test_hostile_texts_are_shown_and_run_nothing(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    shown = exported_dashboard(tfvis_nb.show_dashboard(hostile_trace()).to_html(tmp_path / "page.html"))
    names = shown.wait().table("Ops", "By node").locator("tbody tr")
    expect(names).to_have_count(len(HOSTILE))
    for tab in shown.tabs.all_inner_texts():
        shown.tab(tab)
    assert shown.chart("Ops", "Self time by op type").locator("canvas").count() > 0


def test_a_page_without_its_tabs_says_so(
    exported_dashboard: OpenDashboard, page_file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.html"
    whole = page_file.read_text(encoding="utf-8")
    broken.write_text(whole.replace('id="tfvis-tabs"', 'id="other"'), encoding="utf-8")
    shown = exported_dashboard(broken)
    shown.timeline.wait()
    expect(shown.panels.get_by_role("alert")).to_contain_text("its part tfvis-tabs is missing")


def test_it_works_while_the_kernel_is_busy(notebook: OpenNotebook) -> None:
    book = notebook(
        ["import tfvis_nb", f"tfvis_nb.show_dashboard({str(TRACE)!r})", "import time\ntime.sleep(40)"]
    )
    book.start(0)
    book.start(1)
    book.start(2)
    shown = book.dashboard(1).wait()
    chart = shown.chart("Memory", MEMORY)
    before = shown.settled(shown.ruler)
    shown.click(shown.table("Ops", "By op type"), 4)
    near = shown.moved(shown.ruler, before)
    shown.chart("Memory", MEMORY)
    assert shown.settled(chart) == pytest.approx(near, abs=0.02)
    assert book.is_running(2)


def test_dashboards_of_a_notebook_do_not_disturb_each_other(notebook: OpenNotebook) -> None:
    show = f"shown = tfvis_nb.show_dashboard({str(TRACE)!r})\nshown"
    book = notebook(["import tfvis_nb", show, show])
    book.run_all()
    one, other = book.dashboard(1).wait(), book.dashboard(2).wait()
    for each in (one, other):
        each.chart("Breakdown", "time of each step")
    before = one.settled(one.ruler)
    other.click(other.table("Ops", "By op type"), 4)
    other.moved(other.ruler, before)
    assert one.settled(one.ruler) == before
    # What is selected by a click on a row, Python knows.
    selected = other.timeline.title.inner_text()
    book.wait_until(lambda: book.ask("print(*shown.selection['name'])").splitlines()[0] == selected)


def test_closed_it_leaves_nothing_behind(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb", f"shown = tfvis_nb.show_dashboard({str(TRACE)!r})\nshown"])
    book.run_all()
    shown = book.dashboard(1).wait()
    shown.chart("Breakdown", "time of each step")
    book.ask("shown.close()")
    expect(shown.panels).to_have_count(0)
    expect(shown.timeline.host).to_have_count(0)
