"""The monitor's panel: its tables and keys, orders for one signature, what it says when nobody answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Request, expect

import tfvis_nb as tv
from tests.browser.monitor import Monitor, labels, monitor_on
from tests.browser.session_of_three import MS, write_session
from tests.browser.watched import Watched
from tests.serving.conftest import METADATA
from tfvis_nb.core.metadata import OUT_OF_MEMORY, table_of
from tfvis_nb.recording.live.failed_allocations import with_failure
from tfvis_nb.serving import MonitorServer
from tfvis_nb.session import snapshot as states
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer

NARROW = 500
SHOW = """state => {
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
}"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.tfvis"
    write_session(path)
    return path


@pytest.fixture
def server(path: Path) -> Iterator[MonitorServer]:
    with MonitorServer(path) as server:
        yield server


@pytest.fixture
def monitor(page: Page, server: MonitorServer) -> Iterator[Monitor]:
    watched = Watched(page, own=server.address)
    page.goto(server.url)
    yield monitor_on(page)
    watched.end()


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
    monkeypatch.setattr(states, "MOST_SIGNATURES", 1)
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


@pytest.mark.thorough
def test_an_opened_timeline_has_what_is_left_of_the_window(monitor: Monitor) -> None:
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
    # All of its name is there, where there is room.
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
def test_orders_for_one_signature(monitor: Monitor, path: Path) -> None:
    # Few rows leave the rest of the window to others.
    box = monitor.region.bounding_box()
    assert box
    assert box["height"] < 500
    monitor.signature("train").get_by_role("button", name="train", exact=True).click()
    expect(monitor.details.get_by_role("img", name="2 of traced runs")).to_be_visible()
    form = monitor.details.locator("form")
    number = form.get_by_role("spinbutton", name="Number of runs")
    number.fill("0")
    expect(form).to_contain_text("a whole number of runs, 1 or more")
    expect(form.get_by_role("button", name="Apply")).to_be_disabled()
    number.fill("250")
    number.press("Enter")
    expect(monitor.signature("train")).to_contain_text("every 250")
    with tv.open_session(path) as session:
        assert session.signatures["rule"].tolist() == ["", "every 250", ""]

        # Nobody records now: a request that was made before waits.
        for name in ("Trace its next run", "Trace next run of train", "Trace next run"):
            expect(monitor.region.get_by_role("button", name=name, exact=True)).to_be_disabled()
        session.trace_next("train")
        expect(monitor.details).to_contain_text("will be traced when a job records again")
        assert session.signatures["requested"].tolist() == [0, 1, 0]
        monitor.details.get_by_role("button", name="Cancel").click()
        expect(monitor.details.get_by_role("button", name="Trace its next run")).to_be_visible()
        assert session.signatures["requested"].tolist() == [0, 0, 0]
        assert session.signatures["rule"].tolist() == ["", "every 250", ""]

        form.get_by_role("radio", name="No rule").check()
        form.get_by_role("button", name="Stop").click()
        expect(monitor.signature("train")).not_to_contain_text("every")
        assert session.signatures["rule"].eq("").all()


@pytest.mark.thorough
def test_a_rule_waits_while_nobody_records(monitor: Monitor, path: Path) -> None:
    with tv.open_session(path) as session:
        session.trace_slow(factor=3)
    expect(monitor.banner).to_contain_text(
        "A rule waits for the next job: runs over 3\u00d7 the median of the last 64"
    )
    expect(monitor.banner).to_contain_text("Each run will be as slow")
    writer = Writer(path, keep=None)
    expect(monitor.banner).to_contain_text("are kept as traces. Each run is as slow")
    writer.close({})
    expect(monitor.banner).to_contain_text("waits for the next job")
    expect(monitor.banner).not_to_contain_text("Each run is as slow")


@pytest.mark.thorough
def test_which_median_a_rule_goes_by(monitor: Monitor) -> None:
    monitor.order("Trace rules")
    form = monitor.region.get_by_role("dialog", name="Rules for all signatures")
    expect(form).not_to_contain_text("vs. untraced")
    form.get_by_role("radio", name="Runs over").check()
    expect(form).to_contain_text("median of the last 64 traced runs. The column vs. untraced uses")
    column = monitor.region.get_by_role("button", name="vs. untraced")
    expect(column).to_have_attribute("title", re.compile("median of up to 64 untraced.*Rules use the median"))


@pytest.mark.thorough
def test_new_traces_wait_for_their_places_and_that_is_told(monitor: Monitor, path: Path) -> None:
    monitor.traces.first.hover()
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "new"))
    for run in (1, 2):
        writer.add_trace(number, Recording("run_metadata", METADATA, run, 2 * 10**18 + run, 2000), None)
    told = monitor.region.get_by_text("2 new at the end; sorted in when you leave the rows")
    expect(told).to_be_visible()
    expect(monitor.traces.last).to_have_accessible_name("Run 1 of new")
    monitor.page.mouse.move(0, 0)
    expect(told).to_have_count(0)
    expect(monitor.traces.first).to_have_accessible_name("Run 2 of new")
    writer.close({})


@pytest.mark.thorough
def test_a_file_that_is_deleted_is_told_of_once(monitor: Monitor, path: Path) -> None:
    for file in path.parent.glob("run.tfvis*"):
        file.unlink()
    expect(monitor.region.get_by_role("heading", name="The file run.tfvis was deleted")).to_be_visible()
    expect(monitor.region).to_contain_text("It appears again when a job starts to record into it.")
    expect(monitor.region).not_to_contain_text("Nothing has run yet")
    expect(monitor.region).not_to_contain_text("There is no file")


@pytest.mark.thorough
def test_it_says_that_nobody_answers_and_goes_on(page: Page, path: Path) -> None:
    with MonitorServer(path) as server:
        page.goto(server.url)
        monitor = monitor_on(page)
    expect(monitor.banner).to_contain_text("The server does not answer")
    expect(monitor.signature("train")).to_be_visible()
    monitor.order("Save")
    expect(monitor.region.get_by_role("alert").filter(has_text="could not be saved")).to_be_visible()
    with MonitorServer(path, port=server.port, token=server.token):
        expect(monitor.banner).to_have_count(0)
        expect(monitor.region.get_by_role("alert")).to_have_count(0)
    with MonitorServer(path, port=server.port):
        expect(monitor.banner).to_contain_text("open the whole address that was printed")


def test_a_hidden_page_asks_nothing(monitor: Monitor) -> None:
    page = monitor.page
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.evaluate(SHOW, "hidden")
    page.wait_for_timeout(300)
    asked.clear()
    page.wait_for_timeout(2500)
    assert asked == []
    with page.expect_request("**/api/state"):
        page.evaluate(SHOW, "visible")
    page.remove_listener("request", note)


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
