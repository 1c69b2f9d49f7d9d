"""Right-to-left names, and names that change the text direction, do not affect other texts."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.monitor import Monitor
from tests.browser.timeline import OpenExported
from tests.serving.conftest import METADATA
from tfvis_nb import Trace, events
from tfvis_nb.serving import MonitorServer
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer

SHALOM = "\u05e9\u05dc\u05d5\u05dd"
TURNING = "a\u202egpj.exe"
"""An override that is never closed: following text would be shown backwards."""

SELECT = "() => document.getElementById('tfvis-root').tfvis.store.select({ events: [0, 1] })"


def test_what_follows_a_name_in_the_details_stays_behind_it(exported: OpenExported, tmp_path: Path) -> None:
    columns = {"start_ns": [0, 5], "duration_ns": [5, 5], "kind": ["op"] * 2, "lane": [TURNING] * 2}
    # A number after letters that run from right to left would be shown before them.
    table = events.build({**columns, "name": [SHALOM, TURNING], "op": ["7", "8"]})
    timeline = exported(Trace(table).to_html(tmp_path / "names.html")).wait()
    timeline.page.evaluate(SELECT)
    rows = timeline.details.get_by_role("table").locator("tbody tr")
    expect(rows).to_have_count(2)
    for row, name in zip(rows.all(), (SHALOM, "agpj.exe"), strict=True):
        expect(row.get_by_role("button")).to_have_text(name)
        expect(row).to_contain_text("5 ns")
        named, length = row.get_by_role("button").bounding_box(), row.locator("td").last.bounding_box()
        assert named is not None
        assert length is not None
        assert named["x"] + named["width"] <= length["x"] + 1
    expect(timeline.details).to_contain_text("\u2068agpj.exe\u2069")


@pytest.mark.thorough
def test_the_ops_of_a_run_are_not_turned(exported: OpenExported, tmp_path: Path) -> None:
    table = events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"], "op": [TURNING]})
    timeline = exported(Trace(table).to_html(tmp_path / "ops.html")).wait()
    expect(timeline.details.get_by_role("cell").first).to_have_text("agpj.exe")


@pytest.mark.thorough
def test_what_follows_a_signature_stays_behind_it(page: Page, tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run.tfvis", keep=None)
    number, _ = writer.add_signature(Signature("session", TURNING, TURNING))
    writer.add_trace(number, Recording("run_metadata", METADATA, 7, 10**18, 5), None)
    writer.close({})
    with MonitorServer(tmp_path / "run.tfvis") as server:
        page.goto(server.url)
        monitor = Monitor(page.locator("#tfvis-root"))
        expect(monitor.traces.first).to_have_accessible_name("Run 7 of \u2068agpj.exe\u2069")
        monitor.traces.first.click()
        monitor.opened()
        close = page.get_by_role("button", name="Close the timeline")
        expect(close).to_have_accessible_name("Close the timeline of \u2068agpj.exe\u2069, run 7")
        expect(monitor.sections.locator(".stage .title")).to_have_text("agpj.exe, run 7")
