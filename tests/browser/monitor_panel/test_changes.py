"""The monitor's panel while the file or the server changes, and while it is hidden."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import tfvis_nb as tv
from tests.browser.monitor import Monitor, monitor_on
from tests.serving.conftest import METADATA
from tfvis_nb.serving import MonitorServer
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer

SHOW = """state => {
    Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
}"""


@pytest.mark.thorough
def test_new_traces_wait_for_their_places_and_that_is_told(monitor: Monitor, path: Path) -> None:
    monitor.traces.first.hover()
    writer = Writer(path, keep=None)
    number, _ = writer.add_signature(Signature("session", "new"))
    for run in (1, 2):
        writer.add_trace(number, Recording("run_metadata", METADATA, run, 2 * 10**18 + run, 2000), None)
    hint = monitor.region.get_by_text("2 new at the end; sorted in when you leave the rows")
    expect(hint).to_be_visible()
    expect(monitor.traces.last).to_have_accessible_name("Run 1 of new")
    monitor.page.mouse.move(0, 0)
    expect(hint).to_have_count(0)
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


def test_a_hidden_page_has_no_connection_until_it_is_seen(page: Page, path: Path) -> None:
    with MonitorServer(path) as server:
        with page.expect_websocket() as connected:
            page.goto(server.url)
        monitor = monitor_on(page)
        with connected.value.expect_event("close"):
            page.evaluate(SHOW, "hidden")
        with tv.open_session(path) as session:
            session.trace_all()
        page.wait_for_timeout(2500)  # nothing may come in this time
        expect(monitor.region).not_to_contain_text("every run")
        expect(monitor.banner).to_have_count(0)
        with page.expect_websocket() as again:
            page.evaluate(SHOW, "visible")
        again.value.wait_for_event("framereceived")
        assert not again.value.is_closed()
        expect(monitor.region).to_contain_text("every run")
