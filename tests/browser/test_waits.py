"""The critical path, slack and idle devices in the timeline, as a user comes to them."""

import functools
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.timeline import OpenExported, Timeline, press_in_view_menu
from tests.real_traces import DATA, real_trace
from tests.support.made_steps import GPU, built, kernel, op
from tfvis_nb import Trace

US = 1000


@functools.cache
def step() -> Trace:
    """A step that waits for its input, then for launches; one op could end later. Times in microseconds."""
    rows = [
        op("next", 0, 400, op="IteratorGetNext"),
        op("idle", 0, 100),
        op("a", 400, 200, "next", "idle", device=GPU),
        op("b", 600, 300, "a", device=GPU),
        kernel("a", 500, 100, 450),
        kernel("b", 800, 300, 700),
    ]
    times = ("start_ns", "duration_ns", "scheduled_ns")
    return built(
        [{name: value * US if name in times else value for name, value in row.items()} for row in rows]
    )


def opened(exported: OpenExported, tmp_path: Path, trace: Trace | None = None) -> Timeline:
    return exported((step() if trace is None else trace).to_html(tmp_path / "step.html")).wait()


def toggle(timeline: Timeline) -> Locator:
    return timeline.host.get_by_role("button", name="Critical path")


def rows_of(timeline: Timeline, section: str) -> list[list[str]]:
    """The texts of a table of sums, row by row."""
    table = timeline.details.get_by_role("region", name=section)
    expect(table).to_be_visible()
    return [row.locator("td").all_inner_texts() for row in table.get_by_role("row").all()]


def test_the_path_is_lit_and_listed(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    button = toggle(timeline)
    expect(button).to_be_enabled()
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(timeline.details.get_by_role("region", name="Critical path")).to_have_count(0)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(timeline.title).to_have_text("Critical path")
    expect(timeline.search_box).to_have_value("is:critical")
    # next, a, b and b's kernel.
    expect(timeline.status.first.or_(timeline.host.locator(".search output")).last).to_have_text("4")
    assert rows_of(timeline, "Critical path") == [
        ["input", "400 µs", "36.4 %"],
        ["launch", "300 µs", "27.3 %"],
        ["device compute", "300 µs", "27.3 %"],
        ["launch latency", "100 µs", "9.1 %"],
    ]
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(timeline.search_box).to_have_value("")
    expect(timeline.title).to_have_text("Whole run")


def test_the_path_takes_the_place_of_an_event(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    timeline.find("name:idle")
    timeline.details.get_by_role("button", name="Close the details").click()
    timeline.lanes.press("c")
    expect(timeline.title).to_have_text("Critical path")
    timeline.lanes.press("c")
    timeline.find("name:idle")
    timeline.lanes.press("c")
    expect(timeline.title).to_have_text("Critical path")


@pytest.mark.thorough
def test_the_key_keeps_the_search(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    expect(toggle(timeline)).to_be_enabled()
    timeline.search_box.fill("kind:kernel")
    expect(timeline.host.locator(".search output")).to_have_text("2")
    timeline.lanes.focus()
    timeline.page.keyboard.press("c")
    expect(timeline.search_box).to_have_value("is:critical kind:kernel")
    expect(timeline.host.locator(".search output")).to_have_text("1")
    timeline.page.keyboard.press("c")
    expect(timeline.search_box).to_have_value("kind:kernel")
    expect(timeline.host.locator(".search output")).to_have_text("2")


@pytest.mark.thorough
def test_a_kind_of_the_path_leads_to_its_longest_piece(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    toggle(timeline).click()
    row = timeline.details.get_by_role("region", name="Critical path").get_by_role("row", name="input")
    assert "batch" in (row.get_by_role("button").get_attribute("title") or "")
    row.get_by_role("button").click()
    expect(timeline.title).to_have_text("next")
    assert timeline.expect_fact("Spare time") == "0 (on the critical path)"


def test_an_event_says_its_slack(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    timeline.find("name:idle")
    assert timeline.expect_fact("Spare time") == "300 µs"


def test_an_idle_stretch_says_its_cause(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    expect(toggle(timeline)).to_be_enabled()
    kernels = [event for event, kind in enumerate(step().events["kind"]) if kind == "kernel"]
    (first, y), (second, _) = (timeline.place(event) for event in kernels)
    # Between the two kernels nothing ran on the GPU.
    between = first + (second - first) * 0.45, y
    timeline.page.mouse.click(*between)
    expect(timeline.title).to_have_text("200 µs selected")
    # It is the device's, while another lane may be busy.
    assert rows_of(timeline, "Idle time in steps by cause, worker 0 · GPU:0") == [
        ["waiting for kernel launches", "200 µs", "100 %"]
    ]
    timeline.details.get_by_role("button", name="b MatMul").click()
    expect(timeline.title).to_have_text("b")
    timeline.page.mouse.click(*between)
    # A second click lets go, and so does one where the device has nothing to explain.
    timeline.page.mouse.click(*between)
    expect(timeline.title).to_have_text("Whole run")


def test_a_click_between_steps_selects_that_time(exported: OpenExported, tmp_path: Path) -> None:
    rows = [op(name, at * US, 100 * US, step=step) for step, (name, at) in enumerate([("a", 0), ("b", 300)])]
    timeline = opened(exported, tmp_path, built(rows))
    expect(toggle(timeline)).to_be_enabled()
    (first, y), (second, _) = (timeline.place(event) for event in range(2))
    timeline.page.mouse.click((first + second) / 2, y)
    expect(timeline.title).to_have_text("200 µs selected")
    timeline.page.mouse.click((first + second) / 2, y)
    expect(timeline.title).to_have_text("Whole run")


def test_ranges_name_only_causes_in_them(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    expect(toggle(timeline)).to_be_enabled()
    longest = timeline.details.get_by_text("In the longest gap")
    select = "(host, [start, end]) => host.tfvis.store.select({ start, end, lanes: null, step: null })"
    # The GPU idles from 600 to 800, until the kernel of b starts.
    for start, end, count in ((610, 730, 0), (700, 900, 1)):
        timeline.host.evaluate(select, [start * US, end * US])
        expect(timeline.title).to_have_text(f"{end - start} µs selected")
        assert rows_of(timeline, "Idle time in steps by cause")[0][0] == "waiting for kernel launches"
        expect(longest).to_have_count(count)


def test_a_cause_selects_what_ends_its_gaps(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    timeline.details.get_by_text(re.compile("^More f")).click()
    assert rows_of(timeline, "Idle time in steps by cause") == [
        ["waiting for input", "400 µs", "57.1 %"],
        ["waiting for kernel launches", "300 µs", "42.9 %"],
    ]
    table = timeline.details.get_by_role("region", name="Idle time in steps by cause")
    table.get_by_role("button", name="waiting for input").click()
    kernels = [event for event, kind in enumerate(step().events["kind"]) if kind == "kernel"]
    selected = "host => host.tfvis.store.selection.events"
    assert timeline.host.evaluate(selected) == kernels[:1]
    timeline.lanes.focus()
    timeline.page.keyboard.press("Escape")
    timeline.details.get_by_text("More figures").click()
    table.get_by_role("button", name="waiting for kernel launches").click()
    # The other gaps, the longest one first; the step ends the last of them.
    assert timeline.host.evaluate(selected) == kernels[::-1]


@pytest.mark.thorough
def test_causes_are_not_cut_in_narrow_details(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path, real_trace(DATA / "gpu_tf221_dist.pb.xz"))
    timeline.details.get_by_text(re.compile("^More f")).click()
    table = timeline.details.get_by_role("region", name="Idle time in steps by cause")
    cause = table.get_by_role("button", name="waiting for another device")
    expect(cause).to_be_visible()
    timeline.host.get_by_role("separator", name="Width of the details").focus()
    for _ in range(10):
        timeline.page.keyboard.press("ArrowRight")
    assert table.evaluate("each => each.clientWidth") < 200
    for button in table.get_by_role("button").all():
        assert button.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_without_steps_there_is_no_path(exported: OpenExported, tmp_path: Path) -> None:
    trace = built([op("a", 0, 10 * US, step=-1), op("b", 20 * US, 10 * US, step=-1)])
    timeline = opened(exported, tmp_path, trace)
    expect(toggle(timeline)).to_have_count(0)
    timeline.lanes.focus()
    timeline.page.keyboard.press("c")
    expect(timeline.search_box).to_have_value("")


@pytest.mark.thorough
def test_the_path_of_one_step_and_of_aligned_ones(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace([DATA / "gpu_tf221_mlp.pb.xz", DATA / "gpu_tf218_mlp.pb.xz"])
    timeline = opened(exported, tmp_path, trace)
    timeline.host.get_by_role("combobox", name="Step").select_option(index=1)
    toggle(timeline).click()
    one = rows_of(timeline, "Critical path")
    assert one[0][0] == "launch"
    press_in_view_menu(timeline.root, "Align steps")
    # The lit events stay; sums of steps that lie over each other would say nothing.
    expect(toggle(timeline)).to_have_attribute("aria-pressed", "true")
    expect(timeline.details.get_by_role("region", name="Critical path")).to_have_count(0)


@pytest.mark.thorough
def test_the_help_names_the_key(exported: OpenExported, tmp_path: Path) -> None:
    timeline = opened(exported, tmp_path)
    timeline.lanes.focus()
    timeline.page.keyboard.press("?")
    expect(timeline.host.get_by_role("dialog")).to_contain_text("the critical path: what the step waited for")
