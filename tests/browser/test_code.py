"""The code below the lanes: lines with their times, and the events that they made."""

from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Locator, ViewportSize, expect

import tfvis_nb
from tests.browser.comparison import Both
from tests.browser.timeline import OpenExported, Timeline, press_in_view_menu, view_menu
from tests.hostile_names import HOSTILE, hostile_trace
from tests.large_traces import made_up
from tfvis_nb import Trace, events
from tfvis_nb.core.metadata import PYTHON_SAMPLES, THREAD_SAMPLES, table_of
from tfvis_nb.core.stacks import Frame, StackBuilder

CELL = """import model

def step(x):
    wide = x @ x
    return model.loss(wide)

step(data)
"""
LIBRARY = Frame("/lib/tensorflow/ops.py", 90, "matmul", "return gen()", own=False)
FORWARD = (1, 3, 5)
BACKWARD = (6,)


def coded() -> Trace:
    """Kernels of line 4, forward and backward, and of a line of another file; ops that launched nothing."""
    builder = StackBuilder()
    builder.file("Cell [7]", CELL)
    outer = [Frame("Cell [7]", 7, "<module>"), Frame("/lib/run.py", 5, "call", "run()", own=False)]
    wide = builder.stack([*outer, Frame("Cell [7]", 4, "step"), LIBRARY])
    loss = builder.stack(
        [*outer, Frame("Cell [7]", 5, "step"), Frame("/home/me/model.py", 12, "loss", "sum(x)")]
    )
    rows = [
        ("op", 100, wide, "forward"),
        ("kernel", 9_000, wide, "forward"),
        ("op", 100, loss, "forward"),
        ("kernel", 8_000, wide, "forward"),
        ("kernel", 3_000, loss, "forward"),
        ("kernel", 7_000, wide, "forward"),
        ("kernel", 20_000, wide, "backward"),
        ("host", 50, None, None),
        ("op", 50, None, None),
    ]
    table = events.build(
        {
            "start_ns": [10_000 * row for row in range(len(rows))],
            "duration_ns": [length for _, length, _, _ in rows],
            "kind": [kind for kind, *_ in rows],
            "lane": [{"op": "ops", "kernel": "stream:1", "host": "python3"}[kind] for kind, *_ in rows],
            "name": [f"event {row}" for row in range(len(rows))],
        }
    )
    nested = pa.table(
        {"stack": pa.array([row[2] for row in rows], pa.int32()), "phase": [row[3] for row in rows]}
    )
    return Trace(table, nested=nested, stacks=builder.table())


class Pane:
    """Drives the code of a timeline."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.pane = timeline.root.get_by_role("region", name="Code")
        self.lines = self.pane.get_by_role("option")
        self.current = self.pane.get_by_role("option", selected=True)
        self.top = self.pane.get_by_role("navigation", name="Top lines").get_by_role("button")
        self.file = self.pane.get_by_role("tab", selected=True)
        self.stack = timeline.details.get_by_role("list", name="Stack").get_by_role("button")

    def line(self, number: int) -> Locator:
        return self.pane.locator(f"[role=option][data-line='{number}']")

    def selected(self) -> list[int]:
        found: list[int] = self.timeline.host.evaluate("(host) => host.tfvis.store.selection?.events ?? []")
        return sorted(found)

    def dimmed(self) -> list[int]:
        shade: list[int] = self.timeline.host.evaluate("(host) => [...host.tfvis.store.painting.shade]")
        return [event for event, number in enumerate(shade) if number >= 128]

    def view(self) -> tuple[float, float]:
        view = self.timeline.host.evaluate("(host) => host.tfvis.store.viewport")
        return view["start"], view["end"]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return coded().to_html(tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture
def code(exported: OpenExported, page_file: Path) -> Pane:
    return Pane(exported(page_file).wait())


def test_lines_have_the_times_of_their_events(code: Pane) -> None:
    press_in_view_menu(code.timeline.root, "Code")
    expect(code.lines.locator("code")).to_have_text(CELL.splitlines())
    expect(code.current).to_have_attribute("data-line", "4")
    expect(code.line(4)).to_have_attribute("title", "device 44.0 µs, host 100 ns, 5 events")
    expect(code.line(5)).to_have_attribute("aria-disabled", "true")
    expect(code.top).to_have_count(2)
    expect(code.top.first).to_contain_text("Cell [7]:4")
    code.pane.get_by_role("button", name="backward").click()
    expect(code.line(4)).to_have_attribute("title", "device 20.0 µs, 1 event")
    expect(code.top).to_have_count(1)


# Letters that a line has room for: the pane without its bars, times and numbers.
COLUMNS = """(pane) => {
    const text = pane.querySelector("[role=option] code");
    const letters = document.createRange();
    letters.selectNodeContents(text);
    const { left, width } = letters.getBoundingClientRect();
    const right = pane.querySelector(".code-scroll").getBoundingClientRect().right;
    return (right - left) / (width / text.textContent.length);
}"""


def test_code_has_room_for_its_lines_while_details_are_open(code: Pane) -> None:
    press_in_view_menu(code.timeline.root, "Code")
    for width in (848, 1016, 1112, 1180, 1280, 1600):
        code.timeline.page.set_viewport_size({"width": width, "height": 800})
        expect(code.timeline.details).to_be_visible()
        assert code.pane.evaluate(COLUMNS) >= 60, width
        lanes, details = code.timeline.lanes.bounding_box(), code.timeline.details.bounding_box()
        assert lanes
        assert details
        assert details["x"] >= lanes["x"] + lanes["width"], width
    handle = code.pane.get_by_role("separator")
    before = code.pane.bounding_box()
    handle.press("ArrowUp")
    after = code.pane.bounding_box()
    assert before
    assert after
    assert after["height"] == before["height"] + 16


@pytest.mark.thorough
def test_the_time_of_no_line_is_said_with_its_reasons(code: Pane) -> None:
    press_in_view_menu(code.timeline.root, "Code")
    rest = code.pane.locator(".not-attributed")
    # 47 µs on the device are all of lines; 50 of 250 ns on the host are not.
    expect(rest.locator("summary span")).to_have_text("host 50 ns, 20.0 %")
    expect(rest.get_by_role("listitem")).to_have_count(0)
    rest.locator("summary").click()
    expect(rest.get_by_role("listitem")).to_have_count(1)
    expect(rest.get_by_role("listitem")).to_have_attribute("title", "host 50 ns, 1 event")
    code.pane.get_by_role("button", name="backward").click()
    expect(rest).to_have_count(0)


def test_a_click_selects_the_events_of_a_line_and_fits_them(code: Pane) -> None:
    press_in_view_menu(code.timeline.root, "Code")
    code.line(4).click()
    assert code.selected() == sorted([0, *FORWARD, *BACKWARD])
    assert code.dimmed() == [2, 4, 7, 8]
    code.pane.get_by_role("button", name="backward").click()
    code.line(4).click()
    assert code.selected() == list(BACKWARD)
    expect(code.timeline.title).to_have_text("event 6")
    code.timeline.place(6)
    start, end = code.view()
    assert start < 60_000
    assert 80_000 < end < start + 30_000
    code.pane.get_by_role("button", name="all").click()
    code.top.last.click()
    expect(code.file).to_have_text("model.py")
    assert code.selected() == [2, 4]
    code.timeline.lanes.focus()
    code.timeline.page.keyboard.press("Escape")
    assert code.dimmed() == code.selected() == []


def test_keys_open_walk_select_and_close(code: Pane) -> None:
    keyboard = code.timeline.page.keyboard
    code.timeline.lanes.focus()
    keyboard.press("l")
    expect(code.line(4)).to_be_focused()
    keyboard.press("ArrowDown")
    expect(code.line(5)).to_be_focused()
    keyboard.press("ArrowUp")
    keyboard.press("Enter")
    assert code.selected() == sorted([0, *FORWARD, *BACKWARD])
    keyboard.press("Escape")
    expect(code.pane).to_have_count(0)
    expect(code.timeline.lanes).to_be_focused()


def test_details_have_the_line_and_the_calls_that_led_there(code: Pane) -> None:
    code.timeline.host.evaluate("(host) => host.tfvis.actions.visitEvent(4)")
    expect(code.stack).to_have_text(["model.py:12 in loss", "Cell [7]:5 in step", "Cell [7]:7 in <module>"])
    assert code.timeline.facts()["Phase"] == "forward"
    code.timeline.details.get_by_role("button", name="All 4 calls").click()
    expect(code.stack).to_have_count(4)
    code.stack.nth(1).click()
    expect(code.file).to_have_text("Cell [7]")
    expect(code.current).to_have_attribute("data-line", "5")
    code.stack.first.click()
    expect(code.file).to_have_text("model.py")
    code.timeline.host.evaluate("(host) => host.tfvis.actions.visitEvent(1)")
    snippet = code.timeline.details.locator(".snippet div")
    expect(snippet).to_have_text(["3def step(x):", "4    wide = x @ x", "5    return model.loss(wide)"])
    # The timeline's selection is looked up in the code.
    expect(code.file).to_have_text("Cell [7]")
    expect(code.current).to_have_attribute("data-line", "4")


def test_search_by_line_and_file(code: Pane) -> None:
    for text, found in (("line:4", "5"), ("file:model.py", "2"), ('file:"cell [7]" line:5-20', "no match")):
        code.timeline.search_box.fill(text)
        expect(code.timeline.host.locator(".search output")).to_contain_text(found)


@pytest.mark.thorough
def test_lanes_code_and_details_are_in_sight(code: Pane) -> None:
    press_in_view_menu(code.timeline.root, "Code")
    code.line(4).click()
    for width in (1280, 700):
        code.timeline.page.set_viewport_size(ViewportSize(width=width, height=800))
        for part in (code.timeline.lanes, code.pane, code.timeline.title, code.current, code.top.first):
            expect(part, f"at {width} px").to_be_in_viewport(ratio=0.2)


def test_hostile_texts_are_shown_literally(exported: OpenExported, tmp_path: Path) -> None:
    builder = StackBuilder()
    stacks = [builder.stack([Frame(text, 1, text, text), Frame(text, 2, text, text)]) for text in HOSTILE]
    for text in HOSTILE[::2]:
        builder.file(text, f"{text}\n{text}")
    nested = pa.table({"stack": pa.array(stacks, pa.int32())})
    trace = Trace(hostile_trace().events, nested=nested, stacks=builder.table())
    code = Pane(exported(trace.to_html(tmp_path / "page.html")).wait())
    press_in_view_menu(code.timeline.root, "Code")
    for event in range(len(HOSTILE)):
        code.timeline.host.evaluate("(host, event) => host.tfvis.actions.visitEvent(event)", event)
        expect(code.stack).to_have_count(2)
        expect(code.current).to_be_visible()
        assert code.pane.locator("code *, .top-lines b *").count() == 0
        assert code.timeline.details.locator(".snippet code *").count() == 0


def test_files_that_were_edited_are_marked(exported: OpenExported, tmp_path: Path) -> None:
    builder = StackBuilder()
    stacks = [builder.stack([Frame(file, 1)]) for file in ("kept.py", "edited.py")]
    for file in ("kept.py", "edited.py"):
        builder.file(file, "y = f(x)\n", edited=file == "edited.py")
    table = events.build({"start_ns": [0, 9], "duration_ns": [9, 5], "kind": ["op"] * 2})
    trace = Trace(table, nested=pa.table({"stack": pa.array(stacks, pa.int32())}), stacks=builder.table())
    code = Pane(exported(trace.to_html(tmp_path / "page.html")).wait())
    press_in_view_menu(code.timeline.root, "Code")
    expect(code.file).to_have_text("kept.py")
    expect(code.pane.get_by_role("note")).to_have_count(0)
    code.pane.get_by_role("tab").nth(1).click()
    expect(code.pane.get_by_role("note")).to_be_visible()
    expect(code.line(1)).to_be_visible()


def test_without_stacks_a_hint_tells_how_to_have_them(exported: OpenExported, tmp_path: Path) -> None:
    code = Pane(exported(coded().to_html(tmp_path / "page.html", source=False)).wait())
    code.timeline.host.evaluate("(host) => host.tfvis.actions.visitEvent(1)")
    expect(code.timeline.title).to_be_visible()
    expect(view_menu(code.timeline.root).get_by_role("button", name="Code")).to_have_count(0)
    code.timeline.page.keyboard.press("Escape")
    code.timeline.lanes.press("l")
    hint = code.timeline.host.get_by_text("no Python stacks")
    expect(hint).to_contain_text("tfvis_nb.trace()")
    expect(code.stack).to_have_count(0)


@pytest.mark.thorough
def test_the_code_of_the_side_in_use_is_shown_in_a_comparison(exported: OpenExported, tmp_path: Path) -> None:
    path = tfvis_nb.show_comparison(coded(), made_up(30, 2, 5)).to_html(tmp_path / "page.html")
    page = exported(path).page
    both = Both(page.locator("#tfvis-root"), page.locator(".tfvis-panels")).wait()
    press_in_view_menu(both.around, "Code")
    pane = both.around.get_by_role("region", name="Code")
    pane.locator("[role=option][data-line='4']").click()
    selected = both.a.timeline.host.evaluate("(host) => host.tfvis.store.selection.events")
    assert sorted(selected) == sorted([0, *FORWARD, *BACKWARD])


def test_sampled_lines_have_bars_without_events(exported: OpenExported, tmp_path: Path) -> None:
    """A line that sleeps in a PyFunc has its time, and the file of no op's stack has a tab."""
    builder = StackBuilder()
    stack = builder.stack([Frame("Cell [7]", 7, "<module>")])
    builder.stack([Frame("load.py", 2, "batches")])
    builder.file("load.py", "def batches():\n    time.sleep(1)\n")
    rows = [("op", "PyFunc", 0, 100), ("host", "Iterator::Prefetch", 100, 300), ("host", "other", 400, 100)]
    table = events.build(
        {
            "start_ns": [start * 10**6 for _, _, start, _ in rows],
            "duration_ns": [length * 10**6 for *_, length in rows],
            "kind": [kind for kind, *_ in rows],
            "op": [op for _, op, *_ in rows],
            "lane": ["tf_data"] * len(rows),
        }
    )
    nested = pa.table({"stack": pa.array([stack, None, None], pa.int32())})
    samples = [
        {"time_ns": at * 10**6, "file": "load.py", "line": 2, "function": "batches"} for at in (20, 40, 60)
    ]
    looks = [{"time_ns": at * 10**6} for at in (20, 40, 60, 80, 500)]
    metadata = {
        subject: table_of(subject, [{"task": "", **row} for row in taken])
        for subject, taken in ((THREAD_SAMPLES, samples), (PYTHON_SAMPLES, looks))
    }
    trace = Trace(table, nested=nested, stacks=builder.table(), metadata=metadata)
    code = Pane(exported(trace.to_html(tmp_path / "page.html")).wait())
    press_in_view_menu(code.timeline.root, "Code")
    expect(code.file).to_have_text("load.py")
    expect(code.line(2)).to_have_attribute("title", "host 100 ms, 100 ms of it by samples")
    expect(code.top.first).to_contain_text("load.py:2")
    # Waiting covers the time of others, so it has no share.
    rest = code.pane.locator(".not-attributed")
    expect(rest.locator("summary span")).to_have_text("host 100 ms, 50.0 %")
    rest.locator("summary").click()
    expect(rest.get_by_role("listitem")).to_contain_text(["Waiting 300 ms", "Runtime host 100 ms, 50.0 %"])
