"""Annotations of a trace that a monitor has opened."""

import json
from pathlib import Path

from playwright.sync_api import Page, WebSocketRoute, expect

import tfvis_nb as tv
from tests.browser.monitor import Monitor, monitor_on
from tests.browser.timeline import OpenExported, asks_before_it_goes, saved
from tests.support.conditions import wait_until
from tests.support.session_files import recording
from tfvis_nb.serving import MonitorServer
from tfvis_nb.serving.frames import pack
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer


def annotated(monitor: Monitor) -> None:
    """Open the first trace, name its first event and its view."""
    monitor.traces.first.press("Enter")
    timeline = monitor.opened()
    timeline.lanes.press("ArrowRight")
    for key, text in (("n", "why?"), ("v", "mine")):
        timeline.lanes.press(key)
        monitor.page.keyboard.type(text)
        monitor.page.keyboard.press("Enter")


def expect_notes(monitor: Monitor) -> None:
    timeline = monitor.opened()
    expect(timeline.root.get_by_role("list", name="Annotations in view")).to_contain_text("why?")
    timeline.lanes.press("v")
    views = timeline.host.get_by_role("dialog", name="View")
    expect(views.get_by_role("button", name="mine", exact=True)).to_be_visible()
    monitor.page.keyboard.press("Escape")


def stored(path: Path) -> int:
    """How many notes the session has of its traces."""
    with tv.open_session(path) as session:
        return sum(len(each) for trace in session.traces.index for each in session.notes(trace))


def test_notes_are_in_the_session_and_reload_shows_them(
    page: Page, server: MonitorServer, path: Path
) -> None:
    page.goto(server.url)
    monitor = monitor_on(page)
    annotated(monitor)
    wait_until(lambda: stored(path) == 2)
    page.reload()
    monitor = monitor_on(page)
    expect_notes(monitor)
    page.get_by_role("button", name="Close the timeline").click()
    page.reload()
    monitor = monitor_on(page)
    expect(monitor.traces.first).to_be_visible()
    expect(monitor.sections).to_have_count(0)
    monitor.traces.first.press("Enter")
    expect_notes(monitor)
    with tv.open_session(path) as session:
        (note,) = [name for trace in session for name in trace.annotations["name"]]
    assert note == "why?"


def test_opened_trace_outlives_a_job_and_limit_is_shown(
    page: Page, server: MonitorServer, path: Path
) -> None:
    page.goto(server.url)
    monitor = monitor_on(page)
    monitor.traces.first.press("Enter")
    monitor.opened()
    number = int(monitor.sections.get_attribute("data-trace") or 0)
    writer = Writer(path, 2)
    with tv.open_session(path) as session:
        row = session.traces.loc[number]
        columns = ["kind", "label", "fetches", "targets", "feeds", "options"]
        names = [session.signatures.loc[row["signature"], column] for column in columns]
        texts = ["\n".join(each) if isinstance(each, list) else str(each) for each in names]
        signature, _ = writer.add_signature(Signature(*texts))
        assert signature == row["signature"]
        for run in range(100, 110):
            writer.add_trace(signature, recording(run), None)
        writer.close({})
        kept = session.traces[session.traces["signature"] == signature]
    assert kept.index[0] == number
    assert kept["run"].tolist()[1:] == [108, 109]
    expect(monitor.region).to_contain_text("rules keep the newest 2 per signature")


def test_notes_that_cannot_be_stored_are_not_forgotten(
    page: Page, server: MonitorServer, exported: OpenExported, tmp_path: Path
) -> None:
    def connect(socket: WebSocketRoute) -> None:
        behind = socket.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            content = json.loads(message)["content"]
            if content["kind"] == "annotate":
                error = {"kind": "annotate", "id": content["id"], "error": "the disk is full"}
                socket.send(pack({"method": "custom", "content": error}))
            else:
                behind.send(message)

        socket.on_message(pass_on)

    page.route_web_socket("**/api/socket", connect)
    page.goto(server.url)
    monitor = monitor_on(page)
    annotated(monitor)
    expect(monitor.region).to_contain_text("not in the session yet: the disk is full")
    page.get_by_role("button", name="Close the timeline").click()
    expect(monitor.sections).to_have_count(0)
    asks_before_it_goes(page)
    # Opened again, it has its last view.
    monitor.traces.first.press("Enter")
    timeline = monitor.opened()
    expect(timeline.root.get_by_role("list", name="Annotations in view")).to_contain_text("why?")
    # Those of a page are saved, and so the monitor is left unasked.
    sent = exported(saved(page, tmp_path / "page.html")).wait()
    expect(sent.root.get_by_role("list", name="Annotations in view")).to_contain_text("why?")
    sent.lanes.press("v")
    views = sent.host.get_by_role("dialog", name="View")
    expect(views.get_by_role("button", name="mine", exact=True)).to_be_visible()
