"""The graph around the selected event: its producers and consumers, as the table of edges has them."""

import re
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Locator, ViewportSize, expect

import tfvis_nb
from tests.analysis.test_operand_links import CHAIN, of, ran
from tests.browser.comparison import NEW, Both
from tests.browser.timeline import OpenExported, Timeline
from tests.hostile_names import HOSTILE, hostile_trace
from tests.large_traces import made_up
from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace
from tfvis_nb.analysis.dataflow.edges import KINDS

DISTRIBUTED = DATA / "gpu_tf221_dist.pb.xz"
NODES = """(nodes) => nodes.map((node) => ({
    event: Number(node.dataset.event),
    targets: (node.getAttribute('aria-flowto') ?? '').split(' ').filter(Boolean).map(
        (id) => Number(node.getRootNode().getElementById(id).dataset.event)),
    selected: node.ariaSelected === 'true',
}))"""


class Graph:
    """Drives the graph of a timeline."""

    def __init__(self, timeline: Timeline, around: Locator | None = None) -> None:
        self.timeline = timeline
        self.pane = (around or timeline.root).get_by_role("region", name="Graph")
        self.nodes = self.pane.get_by_role("option")
        self.selected = self.pane.get_by_role("option", selected=True)
        self.button = timeline.details.get_by_role("button", name="Graph")

    def node(self, event: int) -> Locator:
        return self.pane.locator(f"[role=option][data-event='{event}']")

    def shown(self) -> tuple[set[int], set[tuple[int, int]]]:
        """The events and the edges of the graph."""
        nodes = self.nodes.evaluate_all(NODES)
        edges = {(node["event"], target) for node in nodes for target in node["targets"]}
        return {node["event"] for node in nodes}, edges


def around(edges: pd.DataFrame, event: int, hops: int) -> set[int]:
    """The nodes within so many edges before and after an event."""
    found = {event}
    for here, there in (("target", "source"), ("source", "target")):
        reached = {event}
        for _ in range(hops):
            reached |= set(edges[there][edges[here].isin(reached)])
        found |= reached
    return found


def among(edges: pd.DataFrame, events: set[int]) -> set[tuple[int, int]]:
    """The edges between some events."""
    inside = edges[edges["source"].isin(events) & edges["target"].isin(events)]
    return set(zip(inside["source"].tolist(), inside["target"].tolist(), strict=True))


@pytest.fixture(scope="module")
def trace() -> Trace:
    return real_trace(DISTRIBUTED)


@pytest.fixture(scope="module")
def transfer(trace: Trace) -> int:
    """The largest tensor that was received with its producer and a consumer in the trace."""
    moved = trace.events[trace.events["kind"] == "transfer"].nlargest(20, "bytes").index
    edges = trace.edges
    return int(
        next(
            event for event in moved if (edges["target"] == event).any() and (edges["source"] == event).any()
        )
    )


@pytest.fixture(scope="module")
def page_file(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trace.to_html(tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture
def graph(exported: OpenExported, page_file: Path, transfer: int) -> Graph:
    timeline = exported(page_file).wait()
    select(timeline, transfer)
    return Graph(timeline)


def select(timeline: Timeline, event: int) -> None:
    timeline.host.evaluate("(host, event) => host.tfvis.actions.visitEvent(event)", event)
    expect(timeline.title).to_be_visible()


def test_nodes_and_edges_are_those_of_the_table(graph: Graph, trace: Trace, transfer: int) -> None:
    graph.button.click()
    expect(graph.nodes.first).to_be_visible()
    for hops, button in ((2, "Fewer hops"), (1, "More hops"), (2, "More hops"), (3, "Fewer hops")):
        expected = around(trace.edges, transfer, hops)
        expect(graph.nodes).to_have_count(len(expected))
        assert graph.shown() == (expected, among(trace.edges, expected))
        expect(graph.selected).to_have_attribute("data-event", str(transfer))
        graph.pane.get_by_role("button", name=button).click()
    name = trace.events["name"][transfer]
    expect(graph.pane.get_by_role("listbox", name=name)).to_be_visible()


def test_operands_of_compiled_programs_are_edges(exported: OpenExported, tmp_path: Path) -> None:
    timeline = exported(ran(of(CHAIN), ["a.1", "b.1", "a.1", "b.1"]).to_html(tmp_path / "page.html")).wait()
    select(timeline, 1)
    graph = Graph(timeline)
    graph.button.click()
    expect(graph.nodes).to_have_count(4)
    assert graph.shown() == ({0, 1, 2, 3}, {(0, 1), (1, 2), (2, 3)})


def test_nodes_name_their_op_and_device(graph: Graph, trace: Trace, transfer: int) -> None:
    graph.button.click()
    row = trace.events.loc[transfer]
    for text in (row["name"], row["op"]):
        expect(graph.selected).to_have_accessible_name(containing(str(text)))
    producer = int(trace.edges.query("target == @transfer")["source"].iloc[0])
    place = trace.events["device"][producer].rpartition("device:")[2]
    assert trace.events["device"][producer] != row["device"]
    expect(graph.node(producer).locator("em")).to_contain_text(place)
    expect(graph.selected.locator("em")).to_have_count(0)
    written = graph.timeline.details.locator(".route .what").inner_text().removeprefix("↓ ")
    expect(graph.pane.locator("svg text")).to_have_text([written])


def containing(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


def test_closing_the_graph_scrolls_back(graph: Graph) -> None:
    page = graph.timeline.page
    page.set_viewport_size(ViewportSize(width=1200, height=300))
    page.wait_for_function("() => document.documentElement.scrollHeight > innerHeight")
    page.evaluate("() => scrollTo(0, 10)")
    graph.timeline.lanes.evaluate("lanes => lanes.focus({ preventScroll: true })")
    page.keyboard.press("g")
    page.wait_for_function("() => scrollY > 100")
    page.keyboard.press("Escape")
    expect(graph.pane).to_have_count(0)
    # Preact 11 cleans up an effect after the next frame.
    page.wait_for_function("() => scrollY === 10")


def test_keys_open_walk_select_and_close(graph: Graph, trace: Trace, transfer: int) -> None:
    keyboard = graph.timeline.page.keyboard
    graph.timeline.lanes.focus()
    keyboard.press("g")
    expect(graph.node(transfer)).to_be_focused()
    keyboard.press("ArrowRight")
    focused = graph.pane.locator("[role=option]:focus")
    consumer = int(focused.get_attribute("data-event") or -1)
    assert (transfer, consumer) in among(trace.edges, {transfer, consumer})
    expect(graph.selected).to_have_attribute("data-event", str(transfer))
    keyboard.press("Enter")
    expect(graph.selected).to_have_attribute("data-event", str(consumer))
    expect(graph.timeline.title).to_have_text(trace.events["name"][consumer])
    expect(graph.node(consumer)).to_be_focused()
    expected = around(trace.edges, consumer, 2)
    expect(graph.nodes).to_have_count(len(expected))
    assert graph.shown() == (expected, among(trace.edges, expected))
    # Keys that are not the graph's are the timeline's.
    tensors = graph.timeline.host.locator(".label.tensors").first
    keyboard.press("t")
    expect(tensors).to_be_visible()
    keyboard.press("t")
    expect(tensors).to_have_count(0)
    expect(graph.node(consumer)).to_be_focused()
    keyboard.press("ArrowLeft")
    keyboard.press("-")
    expect(graph.pane.get_by_role("group", name="Hops")).to_contain_text("1 hop")
    keyboard.press("Escape")
    expect(graph.pane).to_have_count(0)
    expect(graph.timeline.lanes).to_be_focused()
    expect(graph.timeline.title).to_have_text(trace.events["name"][consumer])


def test_a_click_selects_and_other_selections_are_centred(graph: Graph, trace: Trace, transfer: int) -> None:
    graph.button.click()
    producer = int(trace.edges.query("target == @transfer")["source"].iloc[0])
    graph.node(producer).hover()
    expect(graph.pane.locator(".tooltip b")).to_have_text(trace.events["name"][producer])
    graph.node(producer).click()
    expect(graph.timeline.title).to_have_text(trace.events["name"][producer])
    expect(graph.selected).to_have_attribute("data-event", str(producer))
    # Its device came into view.
    graph.timeline.place(producer)
    graph.timeline.click(producer)
    select(graph.timeline, transfer)
    expect(graph.selected).to_have_attribute("data-event", str(transfer))
    graph.timeline.lanes.focus()
    graph.timeline.page.keyboard.press("Escape")
    expect(graph.nodes).to_have_count(0)
    expect(graph.pane).to_be_visible()
    graph.timeline.page.keyboard.press("Escape")
    expect(graph.pane).to_have_count(0)
    select(graph.timeline, transfer)
    graph.button.click()
    graph.pane.get_by_role("button", name="Close").click()
    expect(graph.pane).to_have_count(0)


@pytest.mark.thorough
def test_a_graph_wider_than_its_pane_is_fitted_into_it(graph: Graph) -> None:
    graph.button.click()
    graph.timeline.page.set_viewport_size(ViewportSize(width=1280, height=800))
    fit = graph.pane.get_by_role("button", name="Fit the graph")
    for hops in (3, 4):
        graph.pane.get_by_role("button", name="More hops").click()
        expect(graph.pane.get_by_role("group", name="Hops")).to_contain_text(f"{hops} hops")
    expect(fit).to_have_attribute("aria-pressed", "false")
    assert not is_whole(graph)
    before = node_height(graph)
    fit.click()
    expect(fit).to_have_attribute("aria-pressed", "true")
    # As small as can be read, and the event in the middle is in sight.
    assert 0.74 < node_height(graph) / before < 1
    expect(graph.timeline.root.get_by_text("too small to read")).to_be_visible()
    expect(graph.selected).to_be_in_viewport(ratio=1)
    graph.selected.focus()
    graph.timeline.page.keyboard.press("0")
    expect(fit).to_have_attribute("aria-pressed", "false")
    assert node_height(graph) == before


@pytest.mark.thorough
def test_a_fitted_graph_is_seen_whole(graph: Graph) -> None:
    graph.button.click()
    graph.timeline.page.set_viewport_size(ViewportSize(width=1280, height=800))
    assert not is_whole(graph)
    graph.pane.get_by_role("button", name="Fit the graph").click()
    graph.timeline.page.wait_for_function(WHOLE, arg=graph.pane.element_handle())


WHOLE = """(pane) => {
    const box = pane.querySelector('[role=listbox]').parentElement.parentElement;
    const part = Math.min(box.clientWidth / box.scrollWidth, box.clientHeight / box.scrollHeight);
    return part >= 1;
}"""


def is_whole(graph: Graph) -> bool:
    return bool(graph.pane.evaluate(WHOLE))


def node_height(graph: Graph) -> float:
    """How high a node is."""
    box = graph.selected.bounding_box()
    assert box is not None
    return box["height"]


def test_a_disabled_button_gives_its_focus_to_the_lanes(graph: Graph) -> None:
    graph.button.click()
    fewer = graph.pane.get_by_role("button", name="Fewer hops")
    fewer.click()
    expect(fewer).to_be_disabled()
    expect(graph.timeline.lanes).to_be_focused()


def test_the_pane_is_made_higher_and_lower(graph: Graph) -> None:
    graph.button.click()
    line = graph.pane.get_by_role("separator", name="Height of the graph")
    expect(line).to_have_attribute("aria-valuenow", re.compile(r"^\d{3}$"))
    height = int(line.get_attribute("aria-valuenow") or 0)
    line.press("ArrowUp")
    expect(line).to_have_attribute("aria-valuenow", str(height + 16))
    line.press("ArrowDown")
    expect(line).to_have_attribute("aria-valuenow", str(height))


@pytest.mark.thorough
def test_lanes_graph_and_details_are_in_sight(graph: Graph) -> None:
    graph.button.click()
    for width in (1280, 700):
        graph.timeline.page.set_viewport_size(ViewportSize(width=width, height=800))
        for part in (graph.timeline.lanes, graph.pane, graph.timeline.title):
            expect(part, f"at {width} px").to_be_in_viewport(ratio=1)
        expect(graph.selected).to_be_in_viewport(ratio=1)
        heights = [part.bounding_box() for part in (graph.timeline.lanes, graph.pane)]
        assert [box is not None and box["height"] > 140 for box in heights] == [True, True]


def test_omitted_nodes_are_counted(exported: OpenExported, tmp_path: Path) -> None:
    trace = made_up(60, 2, 3)
    trace.edges = pd.DataFrame(
        {"source": [0] * 40, "target": range(1, 41), "kind": pd.Categorical(["data"] * 40, KINDS)}
    )
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    select(timeline, 0)
    graph = Graph(timeline)
    graph.button.click()
    longest = trace.events["duration_ns"].iloc[1:41].nlargest(12)
    expect(graph.nodes).to_have_count(1 + len(longest))
    shown, _ = graph.shown()
    assert trace.events["duration_ns"][list(shown - {0})].sum() == longest.sum()
    expect(graph.pane.get_by_role("status")).to_contain_text("+28 more")
    expect(graph.node(0)).to_have_accessible_name(containing("28 more consumers"))


def test_hostile_texts_are_shown_literally(exported: OpenExported, tmp_path: Path) -> None:
    trace = hostile_trace()
    count = len(trace.events)
    trace.edges = pd.DataFrame(
        {
            "source": range(count - 1),
            "target": range(1, count),
            "kind": pd.Categorical(["data"] * (count - 1), KINDS),
        }
    )
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    graph = Graph(timeline)
    for event in range(count):
        select(timeline, event)
        if event == 0:
            graph.button.click()
        expect(graph.selected).to_have_attribute("data-event", str(event))
        assert graph.nodes.locator("b *, span > span *, em *").count() == 0
    assert len(HOSTILE) == count


@pytest.mark.thorough
def test_a_comparison_without_edges_gives_the_reason(exported: OpenExported, tmp_path: Path) -> None:
    path = tfvis_nb.show_comparison(made_up(30, 2, 5), NEW).to_html(tmp_path / "page.html")
    page = exported(path).page
    both = Both(page.locator("#tfvis-root"), page.locator(".tfvis-panels")).wait()
    select_in(both.a.timeline, both.details, 3)
    button = both.details.get_by_role("button", name="Graph")
    expect(button).to_be_disabled()
    expect(button).to_have_attribute("title", containing("no producer or consumer"))
    both.a.timeline.lanes.focus()
    page.keyboard.press("g")
    graph = Graph(both.b.timeline, both.around)
    expect(graph.pane).to_have_count(0)
    edges = real_trace(NEW).edges
    event = int(edges["target"].mode()[0])
    both.b.timeline.lanes.focus()
    select_in(both.b.timeline, both.details, event)
    both.details_of("B")
    button.click()
    expect(graph.selected).to_have_attribute("data-event", str(event))
    shown, drawn = graph.shown()
    assert drawn == among(edges, shown)


def select_in(timeline: Timeline, details: Locator, event: int) -> None:
    timeline.host.evaluate("(host, event) => host.tfvis.actions.visitEvent(event)", event)
    expect(details.locator("h2")).to_be_visible()
