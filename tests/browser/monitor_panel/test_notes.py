"""What is added to a trace that a monitor has opened."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.monitor import monitor_on
from tests.browser.timeline import OpenExported, asks_before_it_goes, saved
from tfvis_nb.serving import MonitorServer


def test_notes_stay_when_a_trace_is_closed_and_go_into_its_page(
    page: Page, server: MonitorServer, exported: OpenExported, tmp_path: Path
) -> None:
    page.goto(server.url)
    monitor = monitor_on(page)
    monitor.traces.first.press("Enter")
    timeline = monitor.opened()
    timeline.lanes.press("ArrowRight")
    timeline.lanes.press("n")
    page.keyboard.type("why?")
    page.keyboard.press("Enter")
    timeline.lanes.press("v")
    page.keyboard.type("mine")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Close the timeline").click()
    expect(monitor.sections).to_have_count(0)
    asks_before_it_goes(page)
    # Opened again, it is as it was left.
    monitor.traces.first.press("Enter")
    timeline = monitor.opened()
    expect(timeline.root.get_by_role("list", name="Annotations in view")).to_contain_text("why?")
    # Those of a page are saved, and so the monitor is left unasked.
    sent = exported(saved(page, tmp_path / "page.html")).wait()
    expect(sent.root.get_by_role("list", name="Annotations in view")).to_contain_text("why?")
    sent.lanes.press("v")
    views = sent.host.get_by_role("dialog", name="Views")
    expect(views.get_by_role("button", name="mine", exact=True)).to_be_visible()
