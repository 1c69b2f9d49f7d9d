"""Annotations in an exported page, which a colleague sees, edits and sends back."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.timeline import OpenExported, Timeline, asks_before_it_goes, saved
from tests.browser.watched import Watched
from tests.real_traces import DATA, real_trace
from tests.support.page_options import page_options
from tfvis_nb import Trace
from tfvis_nb.core.trace import replaced

HOSTILE = "<img src=x onerror=alert(1)> & </script>"


def annotated() -> Trace:
    whole = real_trace(DATA / "local_mlp_step1.pb")
    trace = replaced(whole, whole.events)
    first = int(trace.events["start_ns"].iloc[0])
    trace.annotations = [
        {"event": longest(), "name": "the longest", "text": HOSTILE},
        {"start_ns": first + 3_000_000, "end_ns": first + 4_000_000, "name": "a range"},
    ]
    return trace


def longest() -> int:
    return int(real_trace(DATA / "local_mlp_step1.pb").events["duration_ns"].to_numpy().argmax())


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return annotated().to_html(tmp_path_factory.mktemp("page") / "page.html")


def listed(timeline: Timeline) -> list[str]:
    return timeline.details.get_by_role("region", name="Annotations").locator("li b").all_inner_texts()


def flags(timeline: Timeline) -> list[str]:
    shown = timeline.root.get_by_role("list", name="Annotations in view").get_by_role("listitem")
    return shown.all_inner_texts()


def test_a_colleague_sees_edits_and_sends_back(
    exported: OpenExported, chromium: Browser, page_file: Path, tmp_path: Path
) -> None:
    timeline = exported(page_file).wait()
    assert listed(timeline) == ["a range", "the longest"]
    assert flags(timeline) == ["a range", "the longest"]
    expect(timeline.details).to_contain_text(HOSTILE)
    # From the list to the event, and to its form.
    timeline.details.get_by_role("button", name="the longest").first.click()
    name = real_trace(DATA / "local_mlp_step1.pb").events["name"].iloc[longest()]
    expect(timeline.title).to_have_text(name)
    expect(timeline.status.last).to_contain_text("annotated the longest")
    timeline.lanes.focus()
    timeline.page.keyboard.press("n")
    form = timeline.details.get_by_role("form", name="Edit annotation")
    expect(form.get_by_role("textbox", name="Name")).to_be_focused()
    # These are keys of the timeline elsewhere.
    timeline.page.keyboard.type(" / why?")
    form.get_by_role("textbox", name="Comment").fill("seen?\nyes")
    timeline.page.keyboard.press("Control+Enter")
    expect(form).to_have_count(0)
    expect(timeline.lanes).to_be_focused()
    # Another event, by keys alone.
    timeline.page.keyboard.press("ArrowLeft")
    expect(timeline.title).not_to_have_text(name)
    timeline.page.keyboard.press("n")
    timeline.page.keyboard.type("before it")
    timeline.page.keyboard.press("Enter")
    expect(timeline.details.get_by_role("region", name="Annotations")).to_contain_text("before it")
    again = saved(timeline.page, tmp_path / "again.html")

    with chromium.new_context() as other:
        page = other.new_page()
        watch = Watched(page, own=again.as_uri())
        page.goto(again.as_uri())
        sent = Timeline(page.locator("#tfvis-root")).wait()
        assert listed(sent) == ["before it"]  # the selection is that of the sender
        sent.lanes.focus()
        page.keyboard.press("Escape")
        assert listed(sent) == ["a range", "before it", "the longest / why?"]
        expect(sent.details).to_contain_text("seen?\nyes")
        # The same page again, with one fewer; by mistake at first.
        edit = sent.details.get_by_role("button", name="Edit the annotation a range")
        delete = sent.details.get_by_role("button", name="Delete")
        deleted = sent.details.get_by_role("group", name="Deleted annotation")
        edit.click()
        delete.click()
        expect(deleted.get_by_role("button", name="Undo")).to_be_focused()
        page.keyboard.press("Control+z")
        expect(deleted).to_have_count(0)
        assert listed(sent) == ["a range", "before it", "the longest / why?"]
        edit.click()
        delete.click()
        expect(deleted).to_contain_text("a range")
        assert listed(sent) == ["before it", "the longest / why?"]
        third = saved(page, tmp_path / "third.html")
        # It is saved, and so goes unasked.
        page.reload()
        sent.wait()
        watch.end()
        sent.lanes.focus()
        page.keyboard.press("Escape")
        edit.click()
        delete.click()
        asks_before_it_goes(page)
        # With nothing changed there is nothing to ask.
        page.on("dialog", lambda dialog: pytest.fail(dialog.type))
        deleted.get_by_role("button", name="Undo").click()
        page.reload()
    text = third.read_text("utf-8")
    kept = page_options(text)["annotations"]
    assert [each["name"] for each in kept] == ["before it", "the longest / why?"]
    # Apart from the options and the list it is the page that was exported first.
    start = page_file.read_text("utf-8")
    parts = r'<script type="application/octet-stream" id="[^"]*">[^<]*</script>'
    assert re.findall(parts, text) == re.findall(parts, start)
    assert text.count("<script") == start.count("<script")
    assert "<li>before it</li>" in text


def test_search_finds_them_and_they_can_be_given_up(exported: OpenExported, page_file: Path) -> None:
    timeline = exported(page_file).wait()
    timeline.search_box.fill("longest")
    expect(timeline.title).to_have_text("No matching event")
    assert listed(timeline) == ["the longest"]
    # Deleted by hand, the browser could bring it back.
    for key in ("Control+a", "Backspace"):
        timeline.search_box.press(key)
    timeline.lanes.focus()
    timeline.page.keyboard.press("Control+z")
    expect(timeline.search_box).to_have_value("")
    timeline.clear()
    timeline.page.keyboard.press("Shift+N")
    expect(timeline.details.get_by_role("button", name="a range").first).to_be_focused()
    timeline.page.keyboard.press("Enter")
    expect(timeline.title).to_have_text("1.00 ms selected")
    timeline.lanes.focus()
    timeline.page.keyboard.press("n")
    comment = timeline.details.get_by_role("textbox", name="Comment")
    expect(comment).to_have_attribute("placeholder", "Ctrl Enter saves")
    timeline.page.keyboard.type("other")
    timeline.page.keyboard.press("Escape")
    expect(timeline.details.get_by_role("form")).to_have_count(0)
    assert listed(timeline) == ["a range"]


def test_counts_of_many_are_whole(exported: OpenExported, tmp_path: Path) -> None:
    trace = annotated()
    first = int(trace.events["start_ns"].iloc[0])
    trace.annotations = [{"start_ns": first + at, "name": str(at)} for at in range(1000)]
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    assert flags(timeline) == ["1000"]
    count = timeline.root.get_by_role("list", name="Annotations in view").get_by_role("button")
    # Its room ends at the next flag.
    count.evaluate("button => { button.parentElement.style.maxWidth = '32px' }")
    assert count.evaluate("button => button.scrollWidth <= button.clientWidth")
