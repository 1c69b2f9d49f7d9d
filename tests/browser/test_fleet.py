"""An exported fleet: heat map, table and tabs, and the timelines of the longest steps, without a kernel."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import COPIES
from tests.browser.fleet import FleetView
from tests.browser.timeline import OpenExported, Timeline
from tests.support.fleet_dataset import SLOWER, fleet_dataset
from tfvis_nb.fleet.widget.fleet_widget import Fleet, show_fleet

# Of 24 steps, step 5 of the second day is the 18th.
SLOW_CELL = r"step 5 of day2 · worker 1: 90\.0 ms · 4\.\d\d . median"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return show_fleet(fleet_dataset(tmp_path_factory.mktemp("fleet")))


@pytest.fixture(scope="module")
def fleet_page(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fleet.to_html(tmp_path_factory.mktemp("page") / "fleet.html", timelines=2)


@pytest.fixture
def view(exported: OpenExported, fleet_page: Path) -> FleetView:
    page = exported(fleet_page).page
    return FleetView(page.locator(".tfvis-fleet"), page.locator(".tfvis-panels")).wait()


def test_keys_move_the_cell_and_enter_opens_its_timeline(view: FleetView, page: Page) -> None:
    expect(view.cells).to_have_attribute("aria-label", "Step time: 4 tasks, 24 steps")
    # The first key goes to the cell with the largest value, of the first task that has it.
    view.press("ArrowDown", "ArrowDown")
    view.expect_value(SLOW_CELL)
    view.press("ArrowRight", "ArrowUp")
    view.expect_value(r"step 6 of day2 · worker 0: 21\.0 ms")
    view.press("Home")
    view.expect_value(r"step 0 of day1 · worker 0: 21\.0 ms")
    view.press("End", "ArrowRight", "ArrowUp")
    view.expect_value(r"step 11 of day2 · worker 0")
    button = view.root.get_by_role("button", name=re.compile("^(Open timeline|Show call)$"))
    expect(button).to_have_text("Show call")
    view.press("Enter")
    # The page names its missing parts, and how to get them.
    expect(view.status).to_contain_text("step 5 of day2")
    expect(view.status).to_contain_text(
        'tv.open_traces("fleet").trace(run="day2", task="/job:worker/replica:0/task:0", steps=11)'
    )
    page.evaluate(COPIES)
    view.root.get_by_role("button", name="Copy call").click()
    expect(view.status).to_contain_text("Copied tv.show_timeline(")
    assert str(page.evaluate("() => window.copied")).endswith("steps=11))")
    view.click(1, 17)
    expect(button).to_have_text("Open timeline")
    view.expect_value(SLOW_CELL)
    timeline = Timeline(page.locator(".tfvis-timeline > div")).wait()
    expect(timeline.root.locator(".toolbar .title")).to_have_text("step 5 · worker 1 · day2")
    # Another cell's timeline does not stay below the text about this cell.
    view.click(0, 3)
    expect(button).to_have_text("Show call")
    expect(page.locator(".tfvis-timeline")).to_be_hidden()
    view.click(3, 11)
    view.expect_value("step 11 of day1 · worker 3: not recorded")
    expect(view.status).to_have_text(re.compile("not recorded$"))
    expect(button).to_have_count(0)
    view.click(1, 17)
    Timeline(page.locator(".tfvis-timeline > div")).wait()
    view.root.get_by_role("button", name="Close timeline").click()
    expect(page.locator(".tfvis-timeline")).to_be_hidden()
    expect(view.cells).to_be_focused()


def test_the_figure_chosen_is_shown_in_cells_legend_and_table(view: FleetView) -> None:
    view.click(1, 17)
    view.metric.select_option("Input")
    expect(view.cells).to_have_attribute("aria-label", "Input: 4 tasks, 24 steps")
    view.expect_value(r"step 5 of day2 · worker 1: 60\.\d ms")
    expect(
        view.root.get_by_role("img", name=re.compile(r"^Colours: (≤ )?2\.\d+ ms to .* to 60\.\d ms"))
    ).to_be_visible()
    view.root.get_by_role("button", name="Table").click()
    table = view.root.get_by_role("table", name="Input by task")
    row = table.get_by_role("row", name=re.compile("worker 1"))
    expect(row).to_contain_text(re.compile(r"60\.\d\sms"))
    expect(row).to_contain_text("step 5 of day2")
    table.get_by_role("button", name="Largest").click()
    expect(table.locator("tbody tr").first).to_contain_text("worker 1")


def test_a_part_of_the_steps_is_shown_by_keys_and_by_dragging(view: FleetView, page: Page) -> None:
    whole = view.root.get_by_role("button", name="All steps")
    expect(whole).to_have_count(0)
    view.press("ArrowDown", "+")
    expect(whole).to_be_visible()
    view.press("0")
    expect(whole).to_have_count(0)
    box = view.cells.bounding_box()
    assert box
    page.mouse.move(box["x"] + 200, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(whole).to_be_visible()
    # Dragging opens nothing.
    expect(page.locator(".tfvis-timeline")).to_be_hidden()
    whole.click()
    expect(whole).to_have_count(0)


def test_tabs_rank_the_planted_step_first_and_a_row_opens_it(view: FleetView, page: Page) -> None:
    outliers = view.table("Outliers", "Slowest steps")
    first = outliers.locator("tbody tr").first
    expect(first).to_contain_text("worker 1")
    expect(first).to_contain_text("Input")
    first.get_by_role("button").click()
    Timeline(page.locator(".tfvis-timeline > div")).wait()
    view.expect_value(SLOW_CELL)
    stragglers = view.table("Stragglers", "Tasks that hold up the others").locator("tbody tr")
    expect(stragglers.first).to_contain_text(re.compile(r"worker 2.*% longer"))
    expect(stragglers.nth(1)).to_contain_text("no clear difference")
    expect(view.table("Drift", "Step time over time").locator("tbody tr")).to_have_count(2)
    ops = view.table("Slower ops", "Ops since step 0 of day2").locator("tbody tr")
    expect(ops.first).to_contain_text(re.compile(f"{SLOWER}.*% longer"))
    expect(ops.nth(1)).to_contain_text("no clear difference")
    # The bars of a column share their zero, however wide their texts are.
    bars = ops.locator(".change-bar")
    boxes = [bar.bounding_box() for bar in bars.all()]
    assert len(boxes) > 1
    assert len({(box["x"], box["width"]) for box in boxes if box}) == 1


def test_the_page_shows_the_figures_of_the_dataset(view: FleetView, fleet: Fleet) -> None:
    found = fleet.slower_ops()
    row = view.table("Slower ops", "Ops since step 0 of day2").locator("tbody tr").first
    expect(row).to_contain_text(found["op"][0])
    from tfvis_nb.core.format import format_duration

    for name in ("before_ns", "since_ns"):
        expect(row).to_contain_text(format_duration(found[name][0]))
