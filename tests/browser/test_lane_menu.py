"""Folded lanes, the context menu, full screen, and the summary of search matches."""

import io
import re
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.dashboard import COPIES
from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import DATA, real_trace

DISTRIBUTED = DATA / "dist_inproc_ps_2workers_step0.pb"


@pytest.fixture
def timeline(exported: OpenExported, distributed: Path) -> Timeline:
    return exported(distributed).wait()


def lane_column(timeline: Timeline) -> Locator:
    return timeline.host.get_by_role("group", name="Lanes")


def menu_entries(timeline: Timeline) -> list[str]:
    return [text.split("\n")[0] for text in timeline.host.get_by_role("menuitem").all_inner_texts()]


def test_a_lane_folds_to_one_row_by_its_toggle_and_by_its_key(timeline: Timeline) -> None:
    lane_column(timeline).hover()
    toggle = (
        lane_column(timeline).get_by_role("button", name=re.compile("rows of .*receive"), expanded=True).first
    )
    name = str(toggle.get_attribute("aria-label"))
    one = lane_column(timeline).get_by_role("button", name=name, exact=True, include_hidden=True)
    lane = one.locator("..")
    before = lane.bounding_box()
    one.click()
    expect(one).to_have_attribute("aria-expanded", "false")
    folded = lane.bounding_box()
    assert before
    assert folded
    assert folded["height"] < before["height"]
    expect(lane).to_contain_text(re.compile(r"receive\s*▸ \d+ rows"))
    box = timeline.lanes.bounding_box()
    assert box
    timeline.page.mouse.move(box["x"] + 5, folded["y"] + 10)
    timeline.lanes.focus()
    timeline.page.keyboard.press("z")
    expect(one).to_have_attribute("aria-expanded", "true")


def test_all_lanes_fold_at_once(timeline: Timeline) -> None:
    toggles = lane_column(timeline).get_by_role("button", name=re.compile("rows of"), include_hidden=True)
    timeline.lanes.focus()
    timeline.page.keyboard.press("Shift+Z")
    expect(toggles.first).to_have_attribute("aria-expanded", "false")
    assert {toggle.get_attribute("aria-expanded") for toggle in toggles.all()} == {"false"}
    timeline.page.keyboard.press("Shift+Z")
    expect(toggles.first).to_have_attribute("aria-expanded", "true")


def test_the_right_button_opens_what_can_be_done_with_an_event(timeline: Timeline) -> None:
    events = real_trace(DISTRIBUTED).events
    repeated = events[events["kind"] == "op"]["name"].value_counts()
    event = int(events.index[events["name"] == repeated.index[0]][0])
    timeline.find(f'name:"{repeated.index[0]}"')
    timeline.page.evaluate(COPIES)
    timeline.lanes.focus()
    timeline.page.keyboard.press("Control+c")
    timeline.page.wait_for_function("name => window.copied === name", arg=repeated.index[0])
    timeline.page.mouse.click(*timeline.place(event), button="right")
    first = timeline.host.get_by_role("menuitem", name="Zoom to event")
    expect(first).to_be_focused()
    timeline.page.keyboard.press("Escape")
    expect(first).to_have_count(0)
    expect(timeline.lanes).to_be_focused()
    timeline.page.keyboard.press("ContextMenu")
    expect(first).to_be_focused()
    timeline.page.keyboard.press("ArrowDown")
    timeline.page.keyboard.press("ArrowDown")
    expect(timeline.host.get_by_role("menuitem", name="Select same name")).to_be_focused()
    timeline.page.keyboard.press("Enter")
    expect(timeline.title).to_have_text(f"{repeated.iloc[0]} events selected")


def test_a_lane_is_hidden_from_its_menu(timeline: Timeline) -> None:
    label = lane_column(timeline).locator(".label").first
    label.click(button="right")
    assert menu_entries(timeline)[:2] == ["Zoom to lane", "Copy lane name"]
    timeline.host.get_by_role("menuitem", name="Hide lane").click()
    expect(timeline.host.get_by_role("button", name="+1 hidden")).to_be_visible()


def test_labels_are_one_tab_stop_and_arrows_go_through_them(timeline: Timeline) -> None:
    lane_column(timeline).hover()
    stops = "all => all.filter((one) => one.tabIndex === 0).length"
    buttons = lane_column(timeline).get_by_role("button")
    assert buttons.count() > 4
    assert buttons.evaluate_all(stops) == 1
    buttons.first.focus()
    timeline.page.keyboard.press("ArrowDown")
    expect(buttons.first).not_to_be_focused()
    assert buttons.evaluate_all(stops) == 1


def test_the_timeline_fills_the_screen(timeline: Timeline) -> None:
    is_full = "() => document.fullscreenElement !== null"
    timeline.lanes.focus()
    timeline.page.keyboard.press("Shift+F")
    timeline.page.wait_for_function(is_full)
    timeline.page.keyboard.press("Shift+F")
    timeline.page.wait_for_function("() => document.fullscreenElement === null")
    expect(timeline.lanes).to_be_focused()


def test_taps_that_follow_each_other_are_one_step_back(timeline: Timeline) -> None:
    axis = timeline.host.get_by_role("img", name="Time axis")
    whole = str(axis.get_attribute("aria-label"))
    timeline.lanes.focus()
    for _ in range(3):
        timeline.page.keyboard.press("w")
    expect(axis).not_to_have_attribute("aria-label", whole)
    timeline.page.keyboard.press("Backspace")
    expect(axis).to_have_attribute("aria-label", whole)


def test_notes_come_into_view_whatever_else_the_details_show(timeline: Timeline) -> None:
    notes = timeline.root.locator(".status").get_by_role("button", name="How sure is this?")
    timeline.search_box.fill("op:RecvTensor")
    expect(timeline.title).to_contain_text("matches")
    before = notes.bounding_box()
    notes.click()
    last = timeline.host.get_by_role("dialog", name="How sure is this?").get_by_role("listitem").last
    expect(last).to_be_in_viewport(ratio=1)
    assert notes.bounding_box() == before
    # The selection and the search stay.
    expect(timeline.title).to_contain_text("matches")


def test_matches_have_a_total_and_the_longest_first(timeline: Timeline) -> None:
    events = real_trace(DISTRIBUTED).events
    received = events[events["op"] == "RecvTensor"]
    longest = received.sort_values("duration_ns", ascending=False, kind="stable").iloc[0]
    timeline.search_box.fill("op:RecvTensor dur:>1ns")
    expect(timeline.title).to_have_text(f"{len(received)} matches")
    assert timeline.facts()["Op"] == "RecvTensor"
    assert "Busy" in timeline.facts()
    rows = timeline.details.get_by_role("table", name="Matches").locator("tbody tr")
    expect(rows).to_have_count(len(received))
    timeline.page.evaluate(COPIES)
    timeline.details.get_by_role("button", name="Copy: Matches").click()
    timeline.details.get_by_role("menuitem", name="as CSV").click()
    timeline.page.wait_for_function("window.copied")
    copied = pd.read_csv(io.StringIO(timeline.page.evaluate("window.copied")))
    assert list(copied.columns) == ["name", "op", "lane", "duration_ns"]
    ordered = received["duration_ns"].sort_values(ascending=False)
    assert copied["duration_ns"].tolist() == ordered.tolist()
    assert not timeline.details.evaluate("panel => panel.scrollWidth > panel.clientWidth")
    rows.first.get_by_role("button").click()
    expect(timeline.title).to_have_text(longest["name"])


def test_filters_that_nobody_knows_are_named(timeline: Timeline) -> None:
    timeline.search_box.fill("step:soon")
    expect(timeline.root.locator(".status").get_by_role("status")).to_contain_text("step:soon")
    timeline.search_box.fill("colour:red")
    expect(timeline.root.locator(".status").get_by_role("status")).to_contain_text("colour:")
