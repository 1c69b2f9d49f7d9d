"""The dashboard on its own page: tabs, charts and tables."""

import io
import re
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest
from playwright.sync_api import expect

import tfvis_nb
from tests.browser.dashboard import COPIES, MEMORY, TRACE, Dashboard, OpenDashboard
from tests.browser.keys import Keys
from tests.hostile_names import HOSTILE, hostile_trace
from tests.real_traces import DATA, real_trace
from tfvis_nb.analysis import op_statistics
from tfvis_nb.core.palette import activity_colours

Theme = Literal["light", "dark"]


def test_tabs_of_a_page_keep_room_beside_a_range(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html"))
    shown.page.set_viewport_size({"width": 1280, "height": 800})
    shown.wait()
    shown.timeline.host.evaluate(
        "(host) => host.tfvis.store.select({ start: 0, end: 1e9, lanes: null, step: null })"
    )
    table = shown.timeline.root.get_by_role("region", name="Selected range")
    # The tabs have the figures of the range.
    expect(table).to_have_count(0)
    shown.timeline.details.get_by_role("button", name="Table").click()
    expect(table).to_be_visible()
    panel = shown.tab("Ops").locator("xpath=ancestor::*[@role='tabpanel']").bounding_box()
    assert panel
    assert panel["height"] >= 80


def test_a_chart_is_drawn_in_the_page(shown: Dashboard) -> None:
    chart = shown.chart("Memory", MEMORY)
    box = chart.bounding_box()
    assert box
    assert box["height"] > 60
    assert chart.locator("canvas").count() > 0


@pytest.mark.thorough
def test_another_bokeh_of_the_page_is_left_alone(
    exported_dashboard: OpenDashboard, dashboard_page: Path, tmp_path: Path
) -> None:
    whole = dashboard_page.read_text(encoding="utf-8")
    other = "<script>window.Bokeh = {version: '0.1', __bokeh__: true}</script>"
    before, head, after = whole.partition("<head>")
    assert head
    path = tmp_path / "page.html"
    path.write_text(before + head + other + after, encoding="utf-8")
    shown = exported_dashboard(path).wait()
    assert shown.chart("Memory", MEMORY).locator("canvas").count() > 0
    assert shown.page.evaluate("window.Bokeh.version") == "0.1"


def test_rows_that_lead_nowhere_do_not_look_as_if_they_did(shown: Dashboard) -> None:
    ground = "row => getComputedStyle(row.cells[1]).backgroundColor"
    for tab, title, leads in [
        ("Breakdown", "Total over steps", False),
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


@pytest.mark.thorough
def test_tables_have_room_for_all_their_columns(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html"))
    shown.page.set_viewport_size({"width": 1400, "height": 900})
    shown.wait()
    for tab in (
        "Breakdown",
        "Steps",
        "Gaps",
        "Critical path",
        "Ops",
        "Layers",
        "Kernels",
        "Transfers",
        "Memory",
    ):
        panel = shown.tab(tab)
        for width in (1000, 1400):
            shown.page.set_viewport_size({"width": width, "height": 900})
            # The tables follow in the next frame.
            shown.page.evaluate("() => new Promise(requestAnimationFrame)")
            assert (tab, width, panel.evaluate(OVERFLOWING)) == (tab, width, [])


def test_a_table_is_copied_for_a_spreadsheet_and_for_an_issue(shown: Dashboard) -> None:
    table = shown.table("Ops", "By op type")
    shown.page.evaluate(COPIES)
    for form in ("as CSV", "as Markdown"):
        shown.panels.get_by_role("button", name="Copy: By op type").click()
        shown.panels.get_by_role("menuitem", name=form).click()
        shown.page.wait_for_function("window.copied")
        copied = shown.page.evaluate("[window.copied, window.copied = ''][0]")
        if form == "as CSV":
            found = pd.read_csv(io.StringIO(copied))
            assert len(found) == table.locator("tbody tr").count()
            by_op = op_statistics(real_trace(TRACE), by="op")
            assert sorted(found["self_ns"]) == sorted(by_op["self_ns"])
        else:
            heads, rule, first, *_ = copied.splitlines()
            assert heads.startswith("| Op | Kind | Self |")
            assert rule.startswith("| --- | --- | ---: |")
            name = first.replace("\\", "").split(" | ")[0]
            assert name == f"| {table.locator('tbody td').first.inner_text()}"


@pytest.mark.thorough
def test_a_page_at_double_zoom_scrolls_and_keeps_lanes(shown: Dashboard) -> None:
    shown.page.set_viewport_size({"width": 640, "height": 400})
    lanes = shown.timeline.lanes.bounding_box()
    assert lanes
    assert lanes["height"] > 4 * 24
    assert lanes["y"] + lanes["height"] < 400
    last = shown.tab("Ops").locator(".block").last
    last.scroll_into_view_if_needed()
    expect(last).to_be_in_viewport()
    expect(shown.timeline.lanes).not_to_be_in_viewport()


@pytest.mark.thorough
def test_tabs_stay_in_one_line_and_come_into_sight(shown: Dashboard) -> None:
    for width in (700, 240):
        shown.page.set_viewport_size({"width": width, "height": 900})
        boxes = [box for tab in shown.tabs.all() if (box := tab.bounding_box())]
        assert len({box["y"] for box in boxes}) == 1
        assert (boxes[-1]["x"] + boxes[-1]["width"] <= width) is (width == 700)
    shown.tabs.first.click()
    for key, tab in (("End", shown.tabs.last), ("Home", shown.tabs.first)):
        shown.page.keyboard.press(key)
        expect(tab).to_be_focused()
        expect(tab).to_be_in_viewport(ratio=0.9)


KERNELS = {
    theme: f"rgb{tuple(bytes.fromhex(activity_colours(theme)['device_compute'].removeprefix('#')))}"
    for theme in ("light", "dark")
}
GROUND = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}


# How many points of a chart have a colour.
PAINTED = """(canvas, colour) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
        count += `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})` === colour && data[at + 3] === 255;
    return count;
}"""


MUTED = "timeline => getComputedStyle(timeline).getPropertyValue('--muted').trim()"
TOOLTIP = """() => [...document.querySelectorAll(".bk-Tooltip")].map((tip) => [
    getComputedStyle(tip).backgroundColor,
    getComputedStyle(tip.shadowRoot.querySelector(".bk-tooltip-row-label")).color])"""


@pytest.mark.thorough
def test_charts_have_the_colours_of_the_timeline_in_either_theme(
    exported_dashboard: OpenDashboard, tmp_path: Path
) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    turns: list[tuple[Theme, Theme]] = [("light", "dark"), ("dark", "light"), ("light", "dark")]
    for theme, other in turns:
        shown.page.emulate_media(color_scheme=theme)
        # Also for a kernel's bar in a table.
        cell = shown.page.get_by_role("cell", name="kernel", exact=True)
        kernels = shown.table("Ops", "By op type").locator("tbody tr").filter(has=cell)
        expect(kernels.first.locator(".long b")).to_have_css("background-color", KERNELS[theme])
        chart = shown.chart("Breakdown", "Step time breakdown")
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
        muted = shown.timeline.root.evaluate(MUTED)
        red, green, blue = bytes.fromhex(muted.removeprefix("#"))
        assert shown.page.evaluate(TOOLTIP) == [[GROUND[theme], f"rgb({red}, {green}, {blue})"]]
        shown.page.mouse.move(5, 5)


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


def test_definitions_reach_pointer_keys_and_screen_readers(shown: Dashboard) -> None:
    table = shown.table("Ops", "By op type")
    definition = "total_ns / count."
    button = table.get_by_role("columnheader", name="Mean").get_by_role("button")
    expect(button).to_have_accessible_description(definition)
    tip = shown.panels.locator(".tip")
    expect(tip).to_be_hidden()
    button.hover()
    expect(tip).to_have_text(definition)
    shown.page.mouse.move(5, 5)
    expect(tip).to_be_hidden()
    table.get_by_role("columnheader", name="Count").get_by_role("button").focus()
    shown.page.keyboard.press("Tab")
    expect(tip).to_have_text(definition)
    shown.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


@pytest.mark.thorough
def test_a_click_on_a_question_mark_keeps_its_text_open(shown: Dashboard) -> None:
    head = shown.table("Ops", "By op type").get_by_role("columnheader", name="Mean").get_by_role("button")
    about = shown.tab("Ops").get_by_role("button", name="About: By op type")
    tip = shown.panels.locator(".tip")
    about.click()
    said = tip.inner_text()
    head.hover()
    expect(tip).to_have_text(said)
    about.click()
    expect(tip).to_be_hidden()
    head.hover()
    expect(tip).not_to_have_text(said)


def test_tabs_are_chosen_by_arrow_keys(shown: Dashboard) -> None:
    names = shown.tabs.all_inner_texts()
    shown.tabs.first.focus()
    for key, place in [("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowLeft", len(names) - 1), ("Home", 0)]:
        shown.page.keyboard.press(key)
        expect(shown.tabs.nth(place)).to_be_focused()
        expect(shown.tabs.nth(place)).to_have_attribute("aria-selected", "true")
        expect(shown.panels.get_by_role("tabpanel")).to_have_accessible_name(names[place])


def test_the_dashboard_without_a_mouse(shown: Dashboard) -> None:
    shown.page.emulate_media(reduced_motion="reduce")
    keys, title = Keys(shown.page), shown.timeline.title
    # From the lanes through the details and over the line between to the tabs, which are one stop.
    keys.go("tab", shown.tabs.first.inner_text())
    keys.go("tab", "Ops", key="ArrowRight")
    table = shown.panels.get_by_role("table", name="By op type")
    expect(table).to_be_visible()
    # A table is sorted, a row opened in the timeline, and the focus stays in the table.
    keys.go("button", "Count")
    keys.press("Enter")
    expect(table.get_by_role("columnheader", name="Count")).to_have_attribute("aria-sort", "descending")
    op = table.locator("tbody button").first.inner_text()
    keys.go("button", op)
    keys.press("Enter")
    expect(title).to_be_visible()
    keys.go("button", "Count", key="Shift+Tab")
    # Back to the tabs, and to the lanes.
    keys.go("tab", "Ops", key="Shift+Tab")
    keys.go("application", "", key="Shift+Tab")
    keys.press("Escape")
    expect(title).to_have_count(0)


def test_details_are_open_while_something_is_selected(shown: Dashboard) -> None:
    details, lanes = shown.timeline.details, shown.timeline.lanes
    expect(details).to_have_count(0)
    shown.timeline.click(30)
    expect(details).to_be_visible()
    lanes.press("Escape")
    expect(details).to_have_count(0)
    shown.table("Ops", "By node").locator("tbody button").first.click()
    expect(details).to_be_visible()
    lanes.press("Escape")
    expect(details).to_have_count(0)
    # Opened by hand they repeat none of the tabs.
    shown.timeline.host.get_by_role("button", name="Details", exact=True).click()
    expect(shown.timeline.title).to_have_text("Whole run")
    expect(details.get_by_role("region", name="Findings")).to_have_count(0)
    expect(details.get_by_role("table")).to_have_count(0)


def test_tabs_are_only_those_with_contents(shown: Dashboard) -> None:
    assert shown.tabs.all_inner_texts() == ["Overview", "Time", "Ops", "Memory", "What if"]
    expect(shown.panels.get_by_role("button", name="Steps", exact=True)).to_have_count(0)


@pytest.mark.thorough
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
    shown.tab("Ops")
    bars = names.locator(".long b").evaluate_all("all => all.map((bar) => bar.getBoundingClientRect().width)")
    assert max(bars) > 60


def test_a_page_without_its_tabs_says_so(
    exported_dashboard: OpenDashboard, dashboard_page: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.html"
    whole = dashboard_page.read_text(encoding="utf-8")
    broken.write_text(whole.replace('id="tfvis-tabs"', 'id="other"'), encoding="utf-8")
    shown = exported_dashboard(broken)
    shown.timeline.wait()
    expect(shown.panels.get_by_role("alert")).to_contain_text("its part tfvis-tabs is missing")


def test_figures_stay_without_findings(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    columns = {
        "start_ns": [0, 5],
        "duration_ns": [3, 3],
        "kind": ["op"] * 2,
        "op": ["a", "b"],
        "step": [-1] * 2,
    }
    trace = tfvis_nb.Trace(tfvis_nb.events.build(columns))
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    overview = shown.tab("Overview")
    expect(overview.get_by_text("Not available: no event belongs to a step.")).to_be_visible()
    expect(overview.get_by_text("Top host ops, whole trace")).to_be_visible()
