"""The wheel over a widget, and the notebook around it."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import WINDOW
from tests.browser.dashboard import TRACE
from tests.browser.notebook import Notebook, OpenNotebook
from tests.browser.test_narrow import PLACES, TO_THE_END
from tests.real_traces import DATA

SCROLLER = 'document.querySelector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer")'
TO_ITS_END = "element => { element.scrollTop = element.scrollHeight; return element.scrollTop }"
SELECT = "(host, selection) => host.tfvis.store.select(selection)"
EVENTS = {"events": list(range(30))}
MANY_LANES = str(DATA / "gpu_tf218_function.xplane.pb.xz")
SMALL = str(DATA / "local_mlp_step1.pb")
DISTRIBUTED = str(DATA / "gpu_tf221_dist.pb.xz")
LENGTH = "element => element.offsetHeight"
RANGE = {"start": 0, "end": 1e9, "lanes": None, "step": None}
TOP = "element => element.getBoundingClientRect().top"
# As JupyterLab's setting of that name does; other front ends have no room below the last cell.
SCROLL_PAST_END = """(isOn) => document.querySelectorAll(".jp-Notebook").forEach(
    (each) => each.classList.toggle("jp-mod-scrollPastEnd", isOn))"""


def test_wheel_at_the_end_of_a_pane_stays_there(notebook: OpenNotebook) -> None:
    space = "print('\\n' * 60)"
    shows = [f"tv.{show}({str(TRACE)!r})" for show in ("show_timeline", "show_dashboard")]
    book = notebook(["import tfvis_nb as tv", *shows, space])
    book.run_all()
    timeline, shown = book.timeline(1).wait(), book.dashboard(2).wait()
    for key in ("End", "Space", "PageDown"):
        timeline.lanes.focus()
        before = book.page.evaluate(f"{SCROLLER}.scrollTop")
        book.page.keyboard.press(key)
        scroll_beside(book, timeline.lanes)
        book.page.wait_for_function(f"{SCROLLER}.scrollTop === {before + 40}")
    timeline.host.evaluate(SELECT, EVENTS)
    expect(timeline.title).to_have_text("30 events selected")
    expect_wheel_to_stay(book, timeline.details)
    timeline.host.evaluate(SELECT, RANGE)
    expect_wheel_to_stay(book, timeline.root.get_by_role("table", name="Time by op").locator(".."))
    table = shown.table("Ops", "By op type")
    expect_wheel_to_stay(book, table.locator(".."))
    expect_wheel_to_stay(book, shown.panels.locator(".tab-panel:not([hidden])"))


def expect_wheel_to_stay(book: Notebook, pane: Locator) -> None:
    pane.evaluate("element => element.scrollIntoView({ block: 'center' })")
    assert pane.evaluate(TO_ITS_END) > 0
    before = book.page.evaluate(f"{SCROLLER}.scrollTop")
    pane.hover()
    book.page.mouse.wheel(0, 300)
    scroll_beside(book, pane)
    book.page.wait_for_function(f"{SCROLLER}.scrollTop === {before + 40}")


def scroll_beside(book: Notebook, pane: Locator) -> None:
    """Scroll the notebook by a wheel next to the widget, by 40 px alone."""
    box, cell = pane.bounding_box(), book.cell(0).bounding_box()
    assert box
    assert cell
    book.page.mouse.move(cell["x"] + 5, box["y"] + box["height"] / 2)
    book.page.mouse.wheel(0, 40)


def test_a_table_that_opens_or_closes_keeps_the_lanes(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb as tv", f"tv.show_timeline({str(TRACE)!r})"])
    book.run_all()
    book.page.set_viewport_size({"width": 1280, "height": 900})
    timeline = book.timeline(1).wait()
    table = timeline.root.get_by_role("region", name="Selected range")
    mouse = book.page.mouse
    for is_on in (True, False):
        book.page.evaluate(SCROLL_PAST_END, is_on)
        book.page.evaluate(f"{SCROLLER}.scrollTop = 0")
        box = timeline.lanes.bounding_box()
        assert box
        mouse.move(box["x"] + 200, box["y"] + 60)
        mouse.down()
        mouse.move(box["x"] + 300, box["y"] + 90, steps=3)
        mouse.up()
        expect(table).to_have_count(1)
        assert timeline.lanes.evaluate(TOP) == box["y"], is_on
        mouse.click(box["x"] + 50, box["y"] + 60)
        expect(table).to_have_count(0)
        assert timeline.lanes.evaluate(TOP) == box["y"], is_on
    # Without a pointer over the timeline the table comes into sight.
    mouse.move(5, 5)
    timeline.host.evaluate(SELECT, RANGE)
    expect(table).to_be_in_viewport(ratio=0.9)
    book.page.set_viewport_size(WINDOW)


def test_choosing_a_step_keeps_the_height(notebook: OpenNotebook) -> None:
    lanes = [f"lane {number}" for number in range(15)]
    rows = {
        "start_ns": [0] * 15 + [2000, 4000],
        "duration_ns": [1000] * 17,
        "name": ["a"] * 17,
        "kind": ["op"] * 17,
        "lane": [*lanes, "lane 0", "lane 0"],
        "step": [0] * 15 + [1, 2],
    }
    trace = f"tv.Trace(events.build({rows!r}))"
    book = notebook(["import tfvis_nb as tv; from tfvis_nb import events", f"tv.show_timeline({trace})"])
    book.run_all()
    timeline = book.timeline(1).wait()
    before = timeline.root.bounding_box()
    step = timeline.root.get_by_role("combobox", name="Step")
    for index in (2, 1, 0):
        step.select_option(index=index)
        # The height follows in the next frame.
        book.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert timeline.root.bounding_box() == before


def test_clicked_rows_and_findings_of_tabs_stay_in_place(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb as tv", f"tv.show_dashboard({DISTRIBUTED!r})"])
    book.run_all()
    shown = book.dashboard(1).wait()
    # Details are next to the lanes, or below them.
    for width in (1280, 1000):
        book.page.set_viewport_size({"width": width, "height": 900})
        shown.timeline.host.evaluate(SELECT, None)
        expect(shown.timeline.details).to_have_count(0)
        row = shown.table("Transfers", "Slowest transfers").locator("tbody tr").nth(2)
        row.scroll_into_view_if_needed()
        before = row.evaluate(TOP)
        shown.click(shown.table("Transfers", "Slowest transfers"), 2)
        expect(shown.timeline.details).to_be_visible()
        expect(row).to_have_attribute("aria-current", "true")
        assert row.evaluate(TOP) == pytest.approx(before, abs=1), width
        shown.timeline.host.evaluate(SELECT, EVENTS)
        expect(row).not_to_have_attribute("aria-current", "true")
        show = shown.tab("Overview").get_by_role("button", name="Show: ").first
        show.scroll_into_view_if_needed()
        before = show.evaluate(TOP)
        show.click()
        expect(shown.timeline.title).not_to_have_text("30 events selected")
        assert show.evaluate(TOP) == pytest.approx(before, abs=1), width
    book.page.set_viewport_size(WINDOW)


def test_why_shows_the_first_finding(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb as tv", f"tv.show_timeline({MANY_LANES!r})"])
    book.run_all()
    for width in (1000, 1016):
        book.page.set_viewport_size({"width": width, "height": 800})
        timeline = book.timeline(1).wait()
        timeline.root.evaluate("element => element.scrollIntoView()")
        if timeline.details.count():
            timeline.root.get_by_role("button", name="Details", exact=True).click()
        why = timeline.root.get_by_role("button", name="Why?")
        before = why.evaluate(TOP)
        why.click()
        expect(timeline.host.get_by_role("dialog").locator("p").first).to_be_in_viewport(ratio=1)
        assert why.evaluate(TOP) == before
        book.page.keyboard.press("Escape")
    book.page.set_viewport_size(WINDOW)


def test_a_widget_is_as_high_as_before_once_nothing_is_selected(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb as tv", f"tv.show_timeline({SMALL!r})"])
    book.run_all()
    timeline = book.timeline(1).wait()
    timeline.lanes.scroll_into_view_if_needed()
    timeline.host.evaluate(SELECT, None)
    root = timeline.root
    expect(timeline.details).to_be_visible()
    before = root.evaluate(LENGTH)
    timeline.host.evaluate(SELECT, EVENTS)
    book.page.wait_for_function(
        f"([root, low]) => ({LENGTH})(root) > low", arg=[root.element_handle(), before]
    )
    timeline.clear()
    expect(root).to_have_css("height", f"{before}px")
    # The table of a range opens beside details that fit next to both.
    timeline.host.evaluate(SELECT, RANGE)
    pane = root.get_by_role("region", name="Selected range")
    expect(pane).to_be_visible()
    expect(root).to_have_css("height", f"{before + pane.evaluate(LENGTH)}px")


def test_the_first_details_are_whole_up_to_the_height(notebook: OpenNotebook) -> None:
    # Its lanes need less height than its details.
    source = f"show_timeline({str(DATA / 'gpu_tf218_mlp.pb.xz')!r}"
    book = notebook(["from tfvis_nb import show_timeline", f"{source})", f"{source}, height=360)"])
    book.run_all()
    whole, cut = (book.timeline(cell).wait() for cell in (1, 2))
    fits = "element => element.scrollHeight <= element.clientHeight"
    book.page.wait_for_function(fits, arg=whole.details.element_handle())
    expect(cut.root).to_have_css("height", "360px")
    before = whole.root.evaluate("element => element.clientHeight")
    whole.root.get_by_role("separator", name="Height of the timeline").press("ArrowDown")
    expect(whole.root).to_have_css("height", f"{before + 16}px")


def test_details_that_need_height_move_no_lane(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb as tv", f"tv.show_timeline({MANY_LANES!r}, height=400)"])
    book.run_all()
    book.page.set_viewport_size({"width": 1280, "height": 900})
    timeline = book.timeline(1).wait()
    timeline.lanes.scroll_into_view_if_needed()
    assert timeline.lanes.evaluate(TO_THE_END) > 0
    labels = timeline.root.get_by_role("group", name="Lanes")
    before, low = labels.evaluate(PLACES), timeline.lanes.bounding_box()
    assert low
    timeline.host.evaluate(SELECT, EVENTS)
    expect(timeline.details).to_be_visible()
    high = timeline.lanes.bounding_box()
    while high == low:  # the widget grows in a later frame
        book.page.wait_for_timeout(20)
        high = timeline.lanes.bounding_box()
    after = labels.evaluate(PLACES)
    assert {name: after[name] for name in before} == before
    book.page.set_viewport_size(WINDOW)


def test_details_out_of_sight_are_announced_over_the_lanes(notebook: OpenNotebook) -> None:
    book = notebook(["import tfvis_nb as tv", f"tv.show_timeline({DISTRIBUTED!r})"])
    book.run_all()
    book.page.set_viewport_size({"width": 848, "height": 560})
    timeline = book.timeline(1).wait()
    timeline.root.evaluate("element => element.scrollIntoView({ block: 'start' })")
    hint = timeline.root.get_by_text("Details are below")
    expect(hint).to_have_count(0)
    scrolled = book.page.evaluate(f"{SCROLLER}.scrollTop")
    timeline.host.evaluate(SELECT, {"events": [0]})
    expect(hint).to_be_in_viewport(ratio=1)
    expect(timeline.title).not_to_be_in_viewport()
    assert book.page.evaluate(f"{SCROLLER}.scrollTop") == scrolled
    # Details in sight need no word.
    expect(hint).to_be_hidden()
    timeline.details.scroll_into_view_if_needed()
    timeline.host.evaluate(SELECT, {"events": [1]})
    expect(timeline.title).to_be_in_viewport()
    expect(hint).to_be_hidden()
    book.page.set_viewport_size(WINDOW)
