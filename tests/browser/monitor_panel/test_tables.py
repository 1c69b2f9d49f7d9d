"""The monitor's panel: its tables, keys and details."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.keys import Keys
from tests.browser.monitor import Monitor, labels, monitor_on
from tests.browser.session_of_three import MS
from tests.serving.conftest import METADATA, worker_after
from tfvis_nb.core.metadata import OUT_OF_MEMORY, table_of
from tfvis_nb.recording.live.failed_allocations import with_failure
from tfvis_nb.serving import MonitorServer
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer

NARROW = 500


def focused(monitor: Monitor) -> Locator:
    """The row that has the focus."""
    return monitor.region.locator("[data-row]:focus")


def test_rows_are_sorted_and_filtered(monitor: Monitor) -> None:
    assert labels(monitor) == ["train", "evaluate", "init"]
    heads = monitor.region.get_by_role("table", name="Signatures").get_by_role("columnheader")
    mean = heads.filter(has_text="Mean")
    mean.get_by_role("button").click()
    expect(mean).to_have_attribute("aria-sort", "descending")
    monitor.page.mouse.move(0, 0)
    assert labels(monitor) == ["init", "evaluate", "train"]
    mean.get_by_role("button").click()
    expect(mean).to_have_attribute("aria-sort", "ascending")
    assert labels(monitor) == ["train", "evaluate", "init"]
    expect(heads.filter(has_text="Failed")).to_be_visible()
    monitor.page.keyboard.press("/")
    monitor.page.keyboard.type("fetched ini")
    expect(monitor.signature("train")).to_have_count(0)
    assert labels(monitor) == ["init"]
    monitor.page.keyboard.press("Escape")
    expect(monitor.signature("train")).to_be_visible()


def test_totals_are_of_all_signatures_where_not_all_are_listed(
    page: Page, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_after(monkeypatch, "from tfvis_nb.session import snapshot; snapshot.MOST_SIGNATURES = 1")
    with MonitorServer(path) as server:
        page.goto(server.url)
        monitor = monitor_on(page)
        assert labels(monitor) == ["train"]
        said = monitor.region.get_by_role("note")
        expect(said).to_contain_text("the 1 of 3 signatures with the most time")
        expect(said).to_contain_text("The filter searches the listed ones")
        rows = monitor.region.locator("[data-part=signatures]").bounding_box()
        above = said.bounding_box()
        assert rows is not None
        assert above is not None
        assert above["y"] + above["height"] <= rows["y"] + 1
        expect(monitor.region.locator(".toolbar")).to_contain_text("4,021 runs")
        expect(monitor.signature("train").locator(".percent")).to_have_text("96.5 %")
        expect(monitor.details).to_contain_text("8.29 s")
        page.keyboard.press("/")
        page.keyboard.type("evaluate")
        expect(monitor.region).to_contain_text("No listed signature matches")


def test_keys_lead_from_row_to_row_and_into_details(monitor: Monitor) -> None:
    keyboard = monitor.page.keyboard
    monitor.signature("train").get_by_role("button", name="train", exact=True).focus()
    keyboard.press("ArrowDown")
    expect(focused(monitor)).to_have_text("evaluate")
    expect(monitor.details.get_by_role("heading", name="Session")).to_be_visible()
    keyboard.press("Enter")
    expect(monitor.details.get_by_role("heading", name="evaluate")).to_be_visible()
    expect(monitor.details).to_contain_text("evaluate/fetched:0")
    expect(monitor.traces).to_have_count(1)
    keyboard.press("Home")
    expect(monitor.details.get_by_role("heading", name="train")).to_be_visible()
    expect(monitor.traces).to_have_count(2)
    keyboard.press("Escape")
    expect(monitor.details.get_by_role("heading", name="Session")).to_be_visible()
    expect(focused(monitor)).to_have_text("train")
    expect(monitor.traces).to_have_count(3)


def test_the_monitor_without_a_mouse(monitor: Monitor) -> None:
    page, region = monitor.page, monitor.region
    keys = Keys(page)
    # Everything of the line at the top, in its order.
    for role, name in (("button", "Ended"), ("input", "Filter signatures"), ("button", "Trace rules")):
        keys.go(role, name)
    keys.press("Enter")
    dialog = region.get_by_role("dialog", name="Rules for all signatures")
    expect(dialog).to_be_visible()
    # A rule for all; the popover closes and gives the focus back.
    keys.press("Tab", "ArrowUp")
    keys.go("button", "Apply")
    keys.press("Enter")
    expect(dialog).to_be_hidden()
    expect(region.get_by_role("button", name="Trace rules")).to_be_focused()
    # It is stopped: its button goes away, and the focus stays in the monitor.
    stop = monitor.banner.get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    keys.go("button", "Stop")
    keys.press("Enter")
    expect(stop).to_have_count(0)
    keys.look("Stop")
    # A table is sorted, a signature opened, a rule of its own set and stopped.
    keys.go("button", "Runs")
    keys.press("Enter")
    expect(
        region.get_by_role("table", name="Signatures").get_by_role("columnheader", name="Runs")
    ).to_have_attribute("aria-sort", re.compile("ending"))
    keys.go("button", "train")
    keys.press("Enter")
    expect(monitor.details.get_by_role("heading", name="train")).to_be_visible()
    keys.go("input", "Number of runs")
    page.keyboard.press("Control+a")
    page.keyboard.type("250")
    keys.press("Enter")
    expect(monitor.signature("train")).to_contain_text("every 250")
    keys.look("Enter")
    keys.press("Shift+Tab", "ArrowUp")
    keys.go("button", "Stop")
    keys.press("Enter")
    expect(monitor.signature("train")).not_to_contain_text("every")
    keys.look("Stop")
    keys.press("Escape")
    expect(focused(monitor)).to_have_text("train")
    # A trace is opened below, and closed again.
    keys.go("button", "Run ")
    keys.press("Enter")
    monitor.opened()
    keys.go("button", "Close the timeline", key="Shift+Tab")
    keys.press("Enter")
    expect(monitor.sections).to_have_count(0)
    keys.look("Close")


@pytest.mark.thorough
def test_two_timelines_are_opened_and_closed(monitor: Monitor) -> None:
    for number in (0, 1):
        monitor.traces.nth(number).press("Enter")
        monitor.opened()
        expect(monitor.sections).to_have_count(number + 1)
    expect(monitor.traces.nth(1)).to_have_attribute("aria-expanded", "true")
    monitor.page.get_by_role("button", name="Close the timeline").first.click()
    expect(monitor.traces.nth(1)).to_have_attribute("aria-expanded", "false")
    expect(monitor.traces.nth(1)).to_be_focused()
    expect(monitor.sections).to_have_count(1)


def test_many_traces_leave_signatures_their_rows(page: Page, server: MonitorServer, path: Path) -> None:
    writer = Writer(path, keep=None)
    for run in range(40):
        writer.add_trace(1, Recording("run_metadata", METADATA, 5000 + run, 10**18 + run, 2000), None)
    page.set_viewport_size({"width": 1200, "height": 700})
    page.goto(server.url)
    monitor = monitor_on(page)
    expect(monitor.traces).to_have_count(43)
    for label in ("train", "evaluate", "init"):
        expect(monitor.signature(label)).to_be_in_viewport(ratio=1)
    writer.close({})


@pytest.mark.thorough
def test_an_opened_timeline_fills_the_rest_of_the_window(monitor: Monitor) -> None:
    page = monitor.page
    page.set_viewport_size({"width": 1200, "height": 800})
    monitor.traces.first.press("Enter")
    monitor.opened()
    page.set_viewport_size({"width": 1200, "height": 1300})
    for height in (1300, 900):
        page.set_viewport_size({"width": 1200, "height": height})
        page.wait_for_function(
            """height => {
                const { scrollHeight } = document.documentElement;
                const root = document.getElementById('tfvis-root').shadowRoot;
                const { bottom } = root.querySelector('.stage').getBoundingClientRect();
                return scrollHeight <= height + 1 && bottom + scrollY > height - 40;
            }""",
            arg=height,
        )
    # Its whole name is shown if it fits.
    title = monitor.sections.locator(".stage .title")
    assert title.evaluate("title => title.scrollWidth <= title.clientWidth")


@pytest.mark.parametrize("width", [NARROW, pytest.param(700, marks=pytest.mark.thorough)])
def test_details_leave_the_tables_to_be_seen(
    page: Page, server: MonitorServer, path: Path, width: int
) -> None:
    writer = Writer(path, keep=None)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(server.url)
    monitor = monitor_on(page)
    button = monitor.signature("train").get_by_role("button", name="train", exact=True)
    button.click()
    expect(monitor.details.get_by_role("heading", name="train")).to_be_visible()
    monitor.signature("evaluate").get_by_role("button", name="evaluate", exact=True).click()
    expect(monitor.details.get_by_role("heading", name="evaluate")).to_be_visible()
    expect(monitor.traces).to_have_count(1)
    monitor.traces.first.click()
    monitor.opened()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Even where no pointer can hover over the row.
    trace_next = monitor.signature("train").get_by_role("button", name="Trace next run of train")
    expect(trace_next).to_have_css("opacity", "1")
    writer.close({})


def test_a_traced_run_says_what_tracing_cost(monitor: Monitor, path: Path) -> None:
    rows = monitor.region.get_by_role("table", name="Traces").get_by_role("row")
    known, unknown = rows.nth(1), rows.nth(2)

    def expect_cost() -> None:
        expect(known.locator(".c-duration_ns")).to_have_text("4.00 ms")
        expect(known.locator(".c-ratio")).to_have_text("2.00\u00d7 +2.00 ms")
        expect(known.locator(".c-ratio")).to_have_attribute("title", re.compile("64 .* 2.00 ms"))
        expect(known.locator(".c-tracing_ns")).to_have_text("9.00 ms")
        expect(rows.locator(".c-run small")).to_have_count(1)
        expect(known.locator(".c-run small")).to_be_visible()
        expect(unknown.locator(".c-ratio")).to_have_text("\u2013")
        expect(unknown.locator(".c-tracing_ns")).to_have_text("\u2013")
        # A traced run is slower by being traced: that alone is no alarm.
        expect(rows.locator(".alert")).to_have_count(0)

    expect_cost()
    expect(monitor.signature("train").locator(".c-mean_ns")).to_have_text("2.00 ms")
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train", "train/fetched:0", "", "images:0"))
    writer.count(slot, Counts(4000, 0, 32_000 * MS, 50 * MS, 10**18, 10**18 + 1))
    # 32,000 ms in 4,000 runs, with 7,994 ms in 3,998 of before.
    expect(monitor.signature("train").locator(".c-mean_ns")).to_have_text("5.00 ms")
    expect_cost()
    monitor.signature("train").get_by_role("button", name="train", exact=True).click()
    facts = monitor.details.locator("dl").first
    expect(facts).to_contain_text("8,000 \u00b7 2 traced")
    expect(facts.locator("dt", has_text="Mean, traced").locator("+ dd")).to_have_text("3.00 ms")
    writer.close({number: Counts(4000)})
    monitor.traces.first.press("Enter")
    monitor.opened()
    header = monitor.sections.first.locator("header").first
    for figure in ("4.00 ms", "2.00\u00d7", "+2.00 ms", "64", "9.00 ms"):
        expect(header).to_contain_text(figure)


def test_a_run_that_ran_out_of_memory_is_marked(monitor: Monitor, path: Path) -> None:
    failure = {OUT_OF_MEMORY: table_of(OUT_OF_MEMORY, [{"op": "MatMul", "requested_bytes": 1 << 40}])}
    kept = with_failure(Recording("run_metadata", b"", 9, 2 * 10**18, 2000), failure, "new")
    assert kept is not None
    writer = Writer(path, keep=None)
    writer.add_trace(writer.add_signature(Signature("session", "new"))[0], kept, None)
    writer.close({})
    marked = monitor.region.get_by_role("row").filter(has_text="out of memory")
    expect(marked).to_have_count(1)
    marked.get_by_role("button", name="Download").click()
    formats = monitor.region.get_by_role("menuitem").locator("small")
    expect(formats).to_have_text([".html", ".html", ".json", ".parquet"])


@pytest.mark.thorough
def test_it_follows_the_theme_and_fits_a_narrow_page(page: Page, server: MonitorServer) -> None:
    page.set_viewport_size({"width": NARROW, "height": 700})
    page.goto(server.url)
    monitor = monitor_on(page)
    ground = "element => getComputedStyle(element).backgroundColor"
    assert monitor.region.evaluate(ground) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    expect(monitor.region).to_have_css("background-color", "rgb(22, 24, 29)")
    expect(monitor.details).to_have_count(0)
    monitor.signature("train").get_by_role("button", name="train", exact=True).click()
    expect(monitor.details.get_by_role("heading", name="train")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    monitor.details.get_by_role("button", name="Close the details").click()
    expect(monitor.traces).to_have_count(2)
    for part in ("signatures", "traces"):
        overflow = "rows => rows.scrollWidth - rows.clientWidth"
        assert monitor.region.locator(f"[data-part={part}]").evaluate(overflow) <= 0
