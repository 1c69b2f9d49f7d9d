"""Own tracks in an exported page: seen, pointed at, gone through by keys."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

from playwright.sync_api import Position, expect

from tests.browser.timeline import OpenExported, Timeline
from tests.real_traces import DATA, real_trace

HOSTILE = "<img src=x onerror=alert(1)>"


def fills(timeline: Timeline) -> set[str | None]:
    """The colours in the picture of a view."""
    timeline.root.get_by_role("button", name="Export").click()
    with timeline.page.expect_download() as download:
        timeline.root.get_by_role("menuitem", name="Picture as vectors").click()
    return {element.get("fill") for element in ET.parse(download.value.path()).iter()}


def test_bars_and_values(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "local_mlp_step1.pb")
    first = int(trace.events["start_ns"].iloc[0])
    bars = {
        "start_ns": [first + 1_000_000, first + 4_000_000, first + 5_000_000],
        "duration_ns": [2_000_000, 3_000_000, 500_000],
        "name": [HOSTILE, "send", "check"],
    }
    values = {"time_ns": [first, first + 5_000_000], "value": [10, 30], "unit": ["%", "%"]}
    # As many bars at a time as a folded lane has rows.
    many = {
        "start_ns": [first + at for at in range(13)],
        "duration_ns": [9_000_000] * 13,
        "name": ["call"] * 13,
    }
    tracks = {"phases": bars, "NIC": values, "calls": many}
    timeline = exported(trace.to_html(tmp_path / "page.html", tracks=tracks)).wait()
    root, page = timeline.root, timeline.page
    expect(root.get_by_role("group", name="Counter NIC")).to_have_attribute(
        "aria-label", "Counter NIC, 10 % to 30 %"
    )
    listed = root.get_by_role("list", name="Bars of phases").get_by_role("listitem")
    expect(listed).to_have_text(
        [
            f"{HOSTILE}, 2.00 ms at +1.000 ms",
            "send, 3.00 ms at +4.000 ms",
            "check, 500 µs at +5.000 ms",
        ]
    )
    # From bar to bar by keys: the range of each is selected, with the values of counters in it.
    label = root.get_by_role("button", name="phases, 3 bars")
    label.focus()
    facts = timeline.details.locator("dl").first
    names = (HOSTILE, "send", "check", HOSTILE)
    for name, length in zip(names, ("2.00 ms", "3.00 ms", "500 µs", "2.00 ms"), strict=True):
        page.keyboard.press("Enter")
        expect(timeline.title).to_have_text(name)
        expect(facts).to_contain_text(f"Duration{length}")
    expect(timeline.details.get_by_role("table").filter(has_text="NIC")).to_contain_text("10 %")
    # By the pointer: its name, and the same values.
    box, lanes = label.bounding_box(), timeline.lanes.bounding_box()
    assert box
    assert lanes
    at = Position(x=lanes["width"] * 0.53, y=box["y"] + 10 - lanes["y"])
    # Unlike the mouse of the page, it waits until the lanes have come to rest.
    timeline.lanes.hover(position=at)
    tip = root.locator(".tooltip")
    expect(tip).to_contain_text("send")
    expect(tip).to_contain_text("3.00 ms at +4.000")
    timeline.lanes.click(position=at)
    expect(timeline.title).to_have_text("send")
    expect(facts).to_contain_text(re.compile(r"Own track\W*phases\W*Start\W*4\.000"))
    # Found by their names.
    timeline.clear()
    timeline.search_box.fill("check")
    found = timeline.details.get_by_role("region", name="Own bars").get_by_role("button")
    expect(found).to_have_text(["check 500 µs at +5.000 ms"])
    # They are counted, and gone to, as events are.
    counter = root.get_by_role("search").get_by_role("status")
    expect(counter).to_have_text("1")
    expect(timeline.title).to_have_text("1 match")
    timeline.search_box.press("Enter")
    expect(timeline.title).to_have_text("check")
    expect(counter).to_have_text("1 of 1")
    timeline.search_box.fill("")
    # Folded like other lanes, and in a group of their own.
    calls = root.get_by_role("button", name="calls, 13 bars")
    rows = root.get_by_role("button", name="13 rows of calls")
    # What folds a lane shows under the pointer.
    calls.hover()
    expect(rows).to_have_attribute("aria-expanded", "false")
    box = calls.bounding_box()
    assert box
    page.mouse.move(lanes["x"] + 50, box["y"] + 10)
    timeline.lanes.focus()
    page.keyboard.press("z")
    calls.hover()
    expect(rows).to_have_attribute("aria-expanded", "true")
    rows.click()
    expect(rows).to_have_attribute("aria-expanded", "false")
    group = root.get_by_role("button", name="Own tracks 16 bars", exact=True)
    group.click()
    expect(group).to_have_attribute("aria-expanded", "false")
    expect(calls).to_have_count(0)
    # Like other folded groups it shows when anything in it runs.
    folded = fills(timeline)
    timeline.host.evaluate("host => host.tfvis.store.lanes.hide('own:tracks')")
    assert folded > fills(timeline)
    timeline.host.evaluate("host => host.tfvis.store.lanes.unhideAll()")
    # A bar that is gone to is shown.
    timeline.search_box.fill("check")
    timeline.search_box.press("Enter")
    expect(calls).to_be_visible()
    timeline.search_box.fill("")
    # Hidden like other lanes, and found by its name.
    label.hover()
    root.get_by_role("button", name="Hide phases").click()
    expect(label).to_have_count(0)
    root.get_by_role("button", name="+1 hidden").click()
    root.get_by_role("textbox", name="Filter lanes").fill("phases")
    expect(label).to_be_visible()
    expect(root.get_by_role("group", name="Counter NIC")).to_have_count(0)
