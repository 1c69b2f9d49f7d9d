"""Traces larger than the browser is made to hold; the limits are lowered so that a small one is."""

import re
from functools import partial

import pytest
from playwright.sync_api import Locator, expect

from tests.analysis.test_operand_links import of
from tests.browser.notebook import Notebook, OpenNotebook
from tests.browser.timeline import Timeline, press_in_view_menu
from tests.real_traces import DATA, real_trace

EVENTS = 24_000
NEEDLE = 17_003
"""An event among 24 000 whose name three have."""

# Two lanes: one with overlapping ops, and one of kernels; every op uses the previous op's output.
TRACE = f"""
import time
import numpy as np
import tfvis_nb as tv
from tfvis_nb import events
from tfvis_nb.display.timeline import delivery
from tfvis_nb.display.large import trace_store

count = {EVENTS}
number = np.arange(count)
name = np.array([f"layer/MatMul_{{i}}" for i in number], dtype=object)
name[[101, {NEEDLE}, 23_999]] = "needle/Softmax"
made = np.roll(name, 1)
kernel = number % 3 == 0
table = events.build({{
    "start_ns": 1_000_000 + number * 1000,
    "duration_ns": np.where(kernel, 900, 2500),
    "name": name,
    "op": np.where(name == "needle/Softmax", "Softmax", "MatMul"),
    "kind": np.where(kernel, "kernel", "op"),
    "device": ["/job:localhost/replica:0/task:0/device:GPU:0"] * count,
    "lane": np.where(kernel, "stream:13", "ops"),
    "detail": [f"{{a}} = MatMul({{b}})" for a, b in zip(name, made)],
    "bytes": number,
}})
trace = tv.Trace(table, title="large")
trace_store.OUTLINE_BUCKETS, trace_store.MOST_ENTRIES, trace_store.MOST_EXACT = 64, 800, 300
"""
IN_CHUNKS = "delivery.WHOLE_BYTES, delivery.CHUNK_BYTES = 2000, 20_000"
IN_WINDOWS = "delivery.MOST_HELD = 5000"
SHOW = "widget = tv.show_timeline(trace, height=420)\nwidget"
BUSY = "time.sleep(5)"

CHAIN = """
import pandas as pd
from tfvis_nb.analysis.dataflow.edges import KINDS
data = pd.Categorical(["data"] * (count - 1), KINDS)
trace.edges = pd.DataFrame({"source": number[:-1], "target": number[1:], "kind": data})
"""
"""Every event feeds the next one."""

OPERANDS = f"""
import pyarrow as pa
ran = pa.table({{"program": ["f(1)"] * count, "hlo_op": np.where(number % 2, "dot", "add")}})
trace = tv.Trace(table, nested=ran, programs={{"f(1)": {of([("dot", "dot", [1]), ("add", "add", [0])])!r}}})
trace.edges = tv.Trace(table[:0]).edges
"""
"""The same, by the operands of two instructions."""

STACKS = """
import pyarrow as pa
from tfvis_nb.core.stacks import Frame, StackBuilder
builder = StackBuilder()
few, rest = (builder.stack([Frame("model.py", line, "step", "y = f(x)")]) for line in (4, 5))
stacks = np.where((number >= 12_000) & (number < 12_100), few, rest)
trace = tv.Trace(table, nested=pa.table({"stack": pa.array(stacks, pa.int32())}), stacks=builder.table())
"""
"""A hundred events of line 4, all others of line 5."""

TOLD = "print(len(widget._drawn) < 20_000, len(widget.selection), *widget.selection.index[:3])"


def opened(notebook: OpenNotebook, limits: str, *more: str) -> tuple[Notebook, Timeline]:
    book = notebook([f"{TRACE}\n{limits}", SHOW, *more])
    book.run_all()
    return book, book.timeline(1)


def exact(number: int) -> str:
    """As the details say a number of bytes."""
    return f"({number:,} bytes)"


def notice(timeline: Timeline) -> Locator:
    return timeline.root.locator(".status .notice")


def visible_time(timeline: Timeline) -> str:
    """The ruler's text, which changes when the view moves."""
    return timeline.host.get_by_role("img", name="Time axis").get_attribute("aria-label") or ""


def settled_time(timeline: Timeline) -> str:
    """The ruler's text after a zoom has ended."""
    before, now = "", visible_time(timeline)
    while now != before:
        timeline.page.wait_for_timeout(400)
        before, now = now, visible_time(timeline)
    return now


def is_selected(book: Notebook, event: int) -> bool:
    return book.ask(TOLD) == f"True 1 {event}"


def is_other(book: Notebook, event: int) -> bool:
    return book.ask("print(widget.selection.index[0])") != str(event)


@pytest.mark.thorough
def test_all_events_are_counted_and_saved_though_few_are_sent(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook, IN_WINDOWS)
    expect(timeline.root.locator(".toolbar .summary")).to_contain_text("24,000 events")
    expect(timeline.details.locator("dt:has-text('Events') + dd")).to_have_text("24,000")
    expect(timeline.details.get_by_text("too large for the overview")).to_be_visible()
    assert book.ask(TOLD) == "True 0"
    # A drag over everything: the totals of the selected range are the table's.
    book.ask("widget.selection = (1_000_000 + 6000_000, 1_000_000 + 7000_000)")
    inside = book.ask("print(f'{len(widget.selection):,}')")
    expect(timeline.details.locator("dt:has-text('Events') + dd")).to_have_text(inside)
    timeline.root.get_by_role("button", name="Export").click()
    with book.page.expect_download() as waiting:
        timeline.root.get_by_role("menuitem", name="Rows of the selection").click()
    lines = waiting.value.path().read_text().splitlines()
    assert lines[0].startswith("event,step,lane,name,op,start_ns")
    assert len(lines) - 1 == int(book.ask("print(len(widget.selection))"))


@pytest.mark.thorough
def test_search_finds_events_that_are_not_in_the_browser(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook, IN_WINDOWS)
    timeline.search_box.fill("needle")
    expect(timeline.root.get_by_role("search").locator("output")).to_have_text("3")
    for place, event in ((1, 101), (2, NEEDLE), (3, 23_999), (1, 101)):
        timeline.search_box.press("Enter")
        expect(timeline.root.get_by_role("search").locator("output")).to_have_text(f"{place} of 3")
        expect(timeline.title).to_have_text("needle/Softmax")
        # Every event of this trace made as many bytes as its number says.
        expect(timeline.details.locator("dt:has-text('Output size') + dd")).to_contain_text(exact(event))
        timeline.place(event)
        book.wait_until(partial(is_selected, book, event))


@pytest.mark.thorough
def test_a_click_on_a_line_of_code_selects_its_events(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook, f"{STACKS}\n{IN_WINDOWS}")
    press_in_view_menu(timeline.root, "Code")
    pane = timeline.root.get_by_role("region", name="Code")
    pane.locator("[role=option][data-line='4']").click()
    expect(timeline.title).to_have_text("100 events selected")
    settled_time(timeline)
    view = timeline.host.evaluate("(host) => host.tfvis.store.viewport")
    assert 11_900_000 < view["start"] <= 12_000_000
    assert 12_100_000 <= view["end"] < 12_200_000
    assert book.ask(TOLD) == "True 100 12000 12001 12002"
    # More than can be listed are fitted alone.
    pane.locator("[role=option][data-line='5']").click()
    expect(timeline.root.get_by_role("search").locator("output")).to_have_text("23,900")
    settled_time(timeline)
    view = timeline.host.evaluate("(host) => host.tfvis.store.viewport")
    assert view["start"] <= 0
    assert view["end"] >= 24_000_000


@pytest.mark.thorough
def test_details_of_an_event_after_zooming(notebook: OpenNotebook) -> None:
    _, timeline = opened(notebook, IN_WINDOWS)
    timeline.find("needle")
    expect(timeline.root.get_by_role("search").locator("output")).to_have_text("1 of 3")
    timeline.search_box.press("Enter")
    expect(timeline.status.last).to_contain_text("needle/Softmax")
    expect(timeline.details.locator("dt:has-text('Output size') + dd")).to_contain_text(exact(NEEDLE))
    assert timeline.expect_fact("Same name").startswith("3 events")
    timeline.link("Inputs", "MatMul_17002").click()
    expect(timeline.title).to_have_text("layer/MatMul_17002")
    expect(timeline.details.locator("pre")).to_have_text("layer/MatMul_17002 = MatMul(layer/MatMul_17001)")
    timeline.link("Consumers", "Softmax").click()
    expect(timeline.title).to_have_text("needle/Softmax")


@pytest.mark.thorough
@pytest.mark.parametrize("links", [CHAIN, OPERANDS], ids=["edges", "operands"])
def test_the_graph_requests_edges_of_unloaded_events(notebook: OpenNotebook, links: str) -> None:
    book, timeline = opened(notebook, f"{IN_WINDOWS}\n{links}")
    timeline.search_box.fill("needle")
    timeline.search_box.press("Enter")
    expect(timeline.title).to_have_text("needle/Softmax")
    button = timeline.details.get_by_role("button", name="Graph")
    expect(button).to_be_enabled()
    button.click()
    nodes = timeline.root.get_by_role("region", name="Graph").get_by_role("option")
    for _ in range(2):
        event = int(book.ask("print(widget.selection.index[0])"))
        expect(nodes).to_have_count(5)
        shown = nodes.evaluate_all("nodes => nodes.map((node) => Number(node.dataset.event))")
        assert sorted(shown) == list(range(event - 2, event + 3))
        # The one at the edge has edges further on, which only the kernel knows.
        name = nodes.last.locator(".visually-hidden").text_content() or ""
        nodes.last.click()
        expect(timeline.title).to_have_text(name.split(",")[0])
        book.wait_until(partial(is_other, book, event))


@pytest.mark.thorough
def test_a_click_on_a_merged_entry_selects_one_of_its_events(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook, IN_WINDOWS)
    timeline.lanes.scroll_into_view_if_needed()
    box = timeline.lanes.bounding_box()
    assert box
    book.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 32)
    tooltip = timeline.root.locator(".tooltip")
    expect(tooltip).to_contain_text(re.compile(r"the longest of \d+ events; zoom in"))
    # The picture may become finer before the click; both sides must have the clicked event.
    book.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 32)
    expect(timeline.title).to_contain_text("layer/MatMul_")
    book.wait_until(lambda: book.ask("print(*widget.selection['name'])") == timeline.title.inner_text())


def test_a_busy_kernel_does_not_freeze_the_view(notebook: OpenNotebook) -> None:
    book = notebook([f"{TRACE}\n{IN_WINDOWS}", SHOW, BUSY])
    book.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    timeline = Timeline(book.timelines(1).first).wait()
    timeline.lanes.focus()
    ruler = timeline.host.get_by_role("img", name="Time axis")
    # Each leads further: with a key that leads back, one that is late would bring the time before it again.
    for key in ("w", "w", "w", "d", "d"):
        before = visible_time(timeline)
        book.page.keyboard.press(key)
        expect(ruler).not_to_have_attribute("aria-label", before)
    # Whether the kernel answers while it runs a cell depends on its version; the view moves in either case.
    expect(notice(timeline)).to_have_count(0, timeout=15_000)
    expect(timeline.details.locator("dt:has-text('Events') + dd")).to_have_text("24,000")


@pytest.mark.thorough
def test_chunks_complete_the_picture_and_keep_settings(notebook: OpenNotebook) -> None:
    book = notebook([f"{TRACE}\n{IN_CHUNKS}", SHOW, BUSY])
    book.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    timeline = Timeline(book.timelines(1).first).wait()
    timeline.lanes.focus()
    whole = visible_time(timeline)
    book.page.keyboard.press("w")
    book.wait_until(lambda: visible_time(timeline) != whole)
    before = settled_time(timeline)
    timeline.search_box.fill("needle")
    expect(timeline.root.get_by_role("search").locator("output")).to_have_text("3", timeout=15_000)
    expect(notice(timeline)).to_have_count(0)
    assert visible_time(timeline) == before
    timeline.search_box.press("Enter")
    timeline.search_box.press("Enter")
    timeline.place(NEEDLE)
    expect(timeline.details.locator("pre")).to_have_text("needle/Softmax = MatMul(layer/MatMul_17002)")
    book.wait_until(partial(is_selected, book, NEEDLE))


@pytest.mark.thorough
def test_lifetimes_of_tensors_equal_those_of_a_small_trace(notebook: OpenNotebook) -> None:
    path = DATA / "local_mlp_step1.pb"
    read = f"""
import tfvis_nb as tv
from tfvis_nb.display.timeline import delivery
trace = tv.read_trace({str(path)!r})
"""
    book = notebook([read, SHOW, f"delivery.MOST_HELD = 10\n{SHOW}"])
    book.run_all()
    small, large = book.timeline(1), book.timeline(2)
    lifetimes = real_trace(path).lifetimes
    # What one event's section says and the other's does not.
    relu, logits = lifetimes[lifetimes["name"] == "Relu"], lifetimes[lifetimes["aliases"] != ""]
    for chosen, own in ((relu, "512 KiB"), (logits, "handed on to")):
        event = int(chosen["event"].iloc[0])
        texts = []
        for timeline in (small, large):
            timeline.host.evaluate("(host, id) => host.tfvis.store.selectInRun({events: [id]})", event)
            section = timeline.details.get_by_role("region", name="Lifetimes")
            expect(section).to_contain_text(own)
            expect(section).to_contain_text("last used by")
            texts.append(section.inner_text())
        assert texts[0] == texts[1]


COUNTERS = """
from tfvis_nb.core.counters import build
value = np.where(number == 12_345, 999, number % 7)
queue = build({"task": [""] * count, "device": table["device"], "counter": ["queue"] * count,
               "time_ns": table["start_ns"], "value": value})
trace = tv.Trace(table, recorded_counters=queue)
"""
"""One value per microsecond; one of them is far higher."""


@pytest.mark.thorough
def test_counters_are_asked_for_by_parts(notebook: OpenNotebook) -> None:
    book, timeline = opened(notebook, IN_WINDOWS + COUNTERS)
    label = timeline.host.get_by_role("group", name="Counter")
    expect(label).to_have_accessible_name(re.compile("0 to 999$"))
    timeline.find("layer/MatMul_12345")
    timeline.page.mouse.move(*timeline.place(12_345))
    expect(label).to_contain_text("999 of max 999")
    range_ns = "(1_000_000 + 12_000_000, 1_000_000 + 13_000_000)"
    book.ask(f"widget.selection = {range_ns}")
    figures = timeline.details.locator("table.counters td")
    expect(figures).to_have_text(["0", re.compile(r"^3\.9\d+$"), "999"])
