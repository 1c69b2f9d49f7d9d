"""The main job without a mouse: the focus can always be seen, is never lost and never held."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.keys import Keys
from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import DATA, real_trace


@pytest.fixture
def timeline(exported: OpenExported, tmp_path: Path) -> Timeline:
    timeline = exported(real_trace(DATA / "gpu_tf221_mlp.pb.xz").to_html(tmp_path / "page.html")).wait()
    timeline.page.emulate_media(reduced_motion="reduce")
    return timeline


def test_the_main_job_without_a_mouse(timeline: Timeline, tmp_path: Path) -> None:
    page, details, title = timeline.page, timeline.details, timeline.title
    keys = Keys(page)
    # The lanes have the keys from the start, and say so with the first one.
    expect(timeline.lanes).to_be_focused()
    # From the whole run to one op by its name.
    keys.press("/")
    page.keyboard.type("op:MatMul kind:op")
    keys.press("Enter")
    expect(title).to_contain_text("MatMul")
    expect(timeline.status.last).to_contain_text("MatMul")
    # On to the kernel that it launched: the details show that instead, and keep the focus.
    launched = details.get_by_role("heading", name="Launched", exact=True)
    expect(launched).to_be_visible()
    name = timeline.link("Launched", "").locator("b").inner_text()
    keys.go("button", name)
    keys.press("Enter")
    expect(details.get_by_role("heading", name="Launched by")).to_be_visible()
    expect(title).to_be_focused()
    # Closed one after the other: the kernel, the search.
    keys.go("button", "Close the details")
    keys.press("Enter")
    expect(title).to_contain_text("matches")
    keys.go("application", "", key="Shift+Tab")
    keys.press("Escape")
    expect(title).to_have_text("Whole run")
    # A finding is opened, and shown in the lanes.
    finding = details.get_by_role("region", name="Findings").get_by_role("group").first
    keys.go("summary", "")
    keys.press("Enter")
    expect(finding).not_to_have_attribute("open", "")
    keys.press("Enter", "Tab", "Enter")
    expect(title).not_to_have_text("Whole run")
    keys.go("application", "", key="Shift+Tab")
    keys.press("Escape")
    # A table is sorted by another column.
    keys.go("summary", "More f")
    keys.press("Enter")
    expect(details.get_by_role("columnheader", name="Count")).to_be_visible()
    keys.go("button", "Count")
    keys.press("Enter")
    expect(details.get_by_role("columnheader", name="Count")).to_have_attribute("aria-sort", "descending")
    keys.press("Tab", "Tab", "Enter")
    expect(title).to_be_focused()
    # An annotation is made, listed, edited and deleted.
    keys.go("application", "", key="Shift+Tab")
    keys.press("ArrowRight", "n")
    page.keyboard.type("look here")
    keys.press("Enter", "Shift+N")
    expect(details.get_by_role("button", name="look here").first).to_be_focused()
    keys.press("Tab", "Enter")
    expect(details.get_by_role("form", name="Edit annotation")).to_be_visible()
    keys.go("button", "Delete")
    keys.press("Enter")
    expect(details.get_by_role("button", name="Undo")).to_be_focused()
    keys.press("Escape")
    expect(timeline.lanes).to_be_focused()
    # Menus give the focus back, whether something is chosen or not.
    keys.press("ContextMenu", "ArrowDown", "Escape")
    expect(timeline.lanes).to_be_focused()
    keys.go("button", "Export", key="Shift+Tab")
    keys.press("Enter", "ArrowDown", "Escape")
    export = timeline.root.get_by_role("button", name="Export")
    expect(export).to_be_focused()
    keys.press("Enter")
    # The menu takes the focus in the frame after it opens.
    expect(timeline.root.get_by_role("menuitem").first).to_be_focused()
    with page.expect_download() as saved:
        keys.press("ArrowUp", "Enter")
    saved.value.save_as(tmp_path / "again.html")
    expect(export).to_be_focused()
    # The help holds the focus only while it is open.
    keys.press("?", "Tab", "Shift+Tab", "Escape")
    expect(export).to_be_focused()
    # The details and the graph are closed.
    keys.press("Tab", "Enter")
    expect(details).to_have_count(0)
    keys.press("Enter")
    keys.go("application", "")
    keys.press("ArrowRight", "g", "ArrowRight", "Escape")
    expect(timeline.lanes).to_be_focused()


def test_hiding_a_lane_by_key_keeps_the_focus_in_the_column(timeline: Timeline) -> None:
    keys = Keys(timeline.page)
    keys.press("Shift+Tab", "ArrowDown", "ArrowRight")
    assert keys.path[-1].startswith("button: Hide ")
    keys.press("Enter")
    keys.go("button", "+1 hidden", key="Shift+Tab")
    keys.press("Enter")
    assert keys.path[-1] == "input: Filter lanes"
