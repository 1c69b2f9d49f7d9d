"""Charts and tables of a dashboard move with its timeline, and the timeline with them."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

import tfvis_nb
from tests.browser.dashboard import MEMORY, TRACE, Dashboard, OpenDashboard
from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis import flame_graph, kernels
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.core.format import format_duration
from tfvis_nb.display.tabs.wording import named


def test_a_row_is_found_in_the_timeline_by_pointer_and_by_key(shown: Dashboard) -> None:
    table = shown.table("Ops", "By op type")
    rows = table.locator("tbody tr")
    whole = shown.settled(shown.ruler)
    fourth, fifth = (rows.nth(at).locator("td").first.inner_text() for at in (4, 5))
    shown.click(table, 4)
    near = shown.moved(shown.ruler, whole)
    assert whole[0] <= near[0] < near[1] <= whole[1]
    expect(shown.timeline.status.last).to_contain_text(f", {fourth}, ")
    table.get_by_role("button", name=fourth, exact=True).focus()
    shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("Enter")
    shown.moved(shown.ruler, near)
    expect(shown.timeline.status.last).to_contain_text(f", {fifth}, ")


def test_a_bar_of_a_histogram_selects_its_events(shown: Dashboard) -> None:
    table = shown.table("Ops", "By op type")
    bar = table.get_by_title(re.compile("[2-9] events$")).first
    count = int(re.findall(r"(\d+) events$", bar.get_attribute("title") or "")[0])
    bar.click(force=True)
    expect(shown.timeline.title).to_have_text(f"{count} events selected")
    # The row under the bar, which leads to its longest event, has not answered as well.
    expect(
        shown.timeline.details.get_by_role("table", name="Selected events").locator("tbody tr")
    ).to_have_count(count)
    # The same by keys, in the control that all bars are.
    bars = table.get_by_role("slider", name=re.compile("^Durations of ")).first
    bars.focus()
    texts = [str(bars.get_attribute("aria-valuetext"))]
    while len(texts) < int(str(bars.get_attribute("aria-valuemax"))):
        shown.page.keyboard.press("ArrowRight")
        expect(bars).not_to_have_attribute("aria-valuetext", texts[-1])
        texts.append(str(bars.get_attribute("aria-valuetext")))
    shown.page.keyboard.press("Enter")
    last = int(re.findall(r"(\d+) events?$", texts[-1])[0])
    rows = shown.timeline.details.get_by_role("table", name="Selected events").locator("tbody tr")
    expect(rows.or_(shown.timeline.details.get_by_role("button", name="Graph"))).to_have_count(last)


def test_flame_frames_and_the_timeline_find_each_other(
    exported_dashboard: OpenDashboard, tmp_path: Path
) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    panel = shown.tab("Flame graph")
    frames = panel.get_by_role("group", name="Frames").get_by_role("button")
    tree = flame_graph(trace)
    largest = tree[tree["parent"] == 0].iloc[0]
    before = frames.count()
    frame = frames.filter(has_text=largest["frame"]).first
    # A click enlarges a frame and selects its events; Escape shows all frames again.
    frame.click()
    expect(shown.timeline.title).to_have_text(f"{largest['events']} events selected")
    expect(frames).not_to_have_count(before)
    expect(frame).to_have_attribute("aria-current", "true")
    shown.page.keyboard.press("Escape")
    expect(frames).to_have_count(before)
    expect(frame).to_be_focused()
    shown.page.keyboard.press("ArrowUp")
    expect(frames.first).to_be_focused()
    panel.get_by_role("searchbox").fill(largest["frame"])
    expect(panel.get_by_role("status")).to_contain_text("1 frame, ")
    panel.get_by_role("searchbox").fill("")
    # An event selected elsewhere has its frame marked, also among callers.
    row = shown.table("Kernels", "By kernel").locator("tbody tr").first
    name = trace.events["name"][kernels(trace)["longest"].iloc[0]].rpartition("/")[2]
    row.get_by_role("button").first.click()
    shown.tab("Flame graph")
    marked = panel.locator("[aria-current]")
    expect(marked).to_have_text(name)
    panel.get_by_role("combobox", name="Direction").select_option("Bottom-up")
    expect(frames.first).to_have_accessible_name(re.compile("^All: "))
    expect(marked).to_have_count(1)
    # The figures below the graph are those of the graph shown.
    panel.get_by_role("combobox", name="Direction").select_option("Top-down")
    frame.hover()
    figures = panel.locator(".flame-info")
    expect(figures).to_contain_text(f"{largest['frame']}: ")
    panel.get_by_role("combobox", name="Time").select_option("Host time")
    name = frames.first.get_attribute("aria-label") or ""
    expect(figures).to_have_text(name.removeprefix("All: "))
    panel.get_by_role("combobox", name="Time").select_option("Device time")
    # Of one step, the graph is that step's.
    total = frames.first.get_attribute("aria-label")
    shown.timeline.host.get_by_role("combobox", name="Step").select_option(index=2)
    expect(frames.first).not_to_have_attribute("aria-label", total or "")
    one = int(flame_graph(trace, steps=[0])["total_ns"].iloc[0])
    expect(frames.first).to_have_accessible_name(re.compile(f"^All: {format_duration(one)}, 100 %"))


@pytest.mark.thorough
def test_boxes_of_an_input_pipeline_lead_to_long_calls(
    exported_dashboard: OpenDashboard, tmp_path: Path
) -> None:
    trace = real_trace(DATA / "cpu_tf215_input.xplane.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    boxes = shown.tab("Input").get_by_role("list", name="Pipeline").get_by_role("button")
    stages = trace.input_pipeline
    expect(boxes).to_have_count(len(stages))
    limiting = int(stages["bottleneck"].argmax())
    expect(boxes.filter(has_text="bottleneck")).to_have_text(re.compile(r"^ParallelMap\(decode\)"))
    # The widths are those of their times.
    wide = [box.locator("i").bounding_box() for box in boxes.all()]
    longest = int(stages["self_ns"].argmax())
    share = stages["self_ns"][limiting] / stages["self_ns"][longest]
    assert wide[limiting]["width"] / wide[longest]["width"] == pytest.approx(share, abs=0.01)  # type: ignore[index]
    boxes.nth(limiting).click()
    expect(shown.timeline.title).to_have_text(trace.events["name"][stages["longest"][limiting]])
    shown.page.keyboard.press("ArrowUp")
    expect(boxes.nth(limiting - 1)).to_be_focused()


def test_a_flame_graph_covers_the_selected_range(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    panel = shown.tab("Flame graph")
    first = panel.get_by_role("group", name="Frames").get_by_role("button").first
    events = trace.events
    start = events["start_ns"] - events["start_ns"].iloc[0]
    own, _ = self_times_of(trace)
    whole = first.get_attribute("aria-label") or ""
    for low, high in ((2_000_000, 4_500_000), (1_500_000, 1_900_000)):
        inside = (start < high) & (start + events["duration_ns"] > low)
        shown.timeline.host.evaluate(
            "(host, [start, end]) => host.tfvis.store.select({ start, end, lanes: null, step: null })",
            [low, high],
        )
        total = int(own[inside & (locations(events) == LOCATIONS.index("device"))].sum())
        expect(first).to_have_accessible_name(re.compile(f"^All: {format_duration(total)}, 100 %"))
        expect(panel.locator(".more")).to_contain_text(f"{int(inside.sum()):,} events")
    # A click selects the frame's events of the range alone.
    expect(shown.panels.get_by_role("status").last).not_to_be_empty()
    first.focus()
    shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("Enter")
    selected = shown.timeline.host.evaluate("(host) => host.tfvis.store.selection.events")
    assert selected
    assert inside[selected].all()
    shown.timeline.clear()
    expect(first).to_have_attribute("aria-label", whole)
    # An event chosen in a table is no range.
    note = shown.panels.get_by_text("A range is selected.")
    shown.timeline.host.evaluate(
        "(host) => host.tfvis.store.select({ start: 2e6, end: 4e6, lanes: null, step: null })"
    )
    expect(note).to_be_visible()
    shown.table("Kernels", "By kernel").get_by_role("row").nth(1).get_by_role("button").first.click()
    expect(note).to_have_count(0)


def test_ops_and_transfers_cover_the_selected_range(
    exported_dashboard: OpenDashboard, tmp_path: Path
) -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    routes, slowest = (shown.table("Transfers", name) for name in ("Transfers by route", "Slowest transfers"))
    rows_of = "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.innerText))"
    ops = shown.table("Ops", "By op type")
    names_of = "table => [...table.tHead.rows[0].cells].map(cell => cell.innerText.split('\\n')[0])"

    def statistics() -> list[dict[str, str]]:
        names = ops.evaluate(names_of)
        return [dict(zip(names, row, strict=True)) for row in ops.evaluate(rows_of)]

    by_op = statistics()
    shown.tab("Transfers")
    everything = sorted(routes.evaluate(rows_of))
    transfers = slowest.evaluate(rows_of)
    select = "(host, [start, end]) => host.tfvis.store.select({ start, end, lanes: null, step: null })"
    note = shown.panels.get_by_text("Covers the selected range of")
    # Of the whole trace, the browser's figures are the stored ones.
    shown.timeline.host.evaluate(select, [-1, 1e12])
    expect(note).to_have_count(2)
    assert sorted(routes.evaluate(rows_of)) == everything
    assert slowest.evaluate(rows_of) == transfers
    shown.tab("Ops")
    expect(note).to_have_count(2)
    names = ops.evaluate(names_of)
    assert statistics() == [{name: row[name] for name in names} for row in by_op]
    shown.tab("Transfers")

    events = trace.events
    start = events["start_ns"] - events["start_ns"].iloc[0]
    low, high = (int(start.quantile(part)) for part in (0.3, 0.5))
    inside = events[(start < high) & (start + events["duration_ns"] > low)]
    shown.timeline.host.evaluate(select, [low, high])
    expect(note.filter(has_text=format_duration(high - low))).to_have_count(2)
    moved = trace.transfers[trace.transfers["event"].isin(inside.index)]
    assert 0 < len(moved) < len(transfers)
    expect(slowest.locator("tbody tr")).to_have_count(len(moved))
    counted = routes.locator("tbody td:nth-child(4)").all_inner_texts()
    assert sum(map(int, counted)) == len(moved)

    shown.tab("Ops")
    expect(note).to_have_count(2)
    sums = inside.groupby(["op", "kind"], observed=True)["duration_ns"].agg(["size", "sum"])
    rows = statistics()
    assert sum(int(row["Count"]) for row in rows) == len(inside)
    assert {row["Kind"] for row in rows} == set(inside["kind"].astype(str))
    matmul = [row for row in rows if row["Op"] == "MatMul"]
    expected = sums.loc["MatMul"]
    assert sorted((int(row["Count"]), row["Total"]) for row in matmul) == sorted(
        (int(size), format_duration(int(total))) for size, total in expected.itertuples(index=False)
    )
    shown.timeline.clear()
    expect(note).to_have_count(0)
    # A click selects the idle time of a device: tables of nothing say less than those of the whole trace.
    shown.timeline.host.evaluate(select, [-2000, -1000])
    expect(shown.panels.get_by_text("A range is selected.")).to_contain_text("cover the whole trace")
    expect(note).to_have_count(0)
    assert statistics() == by_op


def test_details_count_the_events_a_selection_leaves_out(
    exported_dashboard: OpenDashboard, tmp_path: Path
) -> None:
    count = 300
    table = events.build(
        {
            "start_ns": [10 * at for at in range(count)],
            "duration_ns": [6] * count,
            "kind": ["memcpy"] * count,
            "op": ["MemcpyD2H"] * count,
            "device": ["GPU:0"] * count,
        }
    )
    shown = exported_dashboard(tfvis_nb.show_dashboard(Trace(table)).to_html(tmp_path / "page.html")).wait()
    shown.tab("Overview").get_by_role("button", name="Show").click()
    expect(shown.timeline.title).to_have_text("50 of 300 events selected")
    shown.click(shown.table("Ops", "By op type"))
    expect(shown.timeline.title).to_have_text("200 of 300 events selected")
    shown.timeline.host.evaluate("(host) => host.tfvis.store.select({ events: [1, 2] })")
    expect(shown.timeline.title).to_have_text("2 events selected")


def test_tables_tell_nodes_of_deep_scopes_apart(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    count = 6
    table = events.build(
        {
            "start_ns": [1000 * at for at in range(count)],
            "duration_ns": [100] * count,
            "name": [f"gradients/net/Mixed_{at}/Branch_0/Conv_1x1/Conv2D_grad/Filter" for at in range(count)],
            "op": ["Conv2DBackpropFilter"] * count,
            "kind": ["op"] * count,
            "lane": ["ops"] * count,
        }
    )
    shown = exported_dashboard(tfvis_nb.show_dashboard(Trace(table)).to_html(tmp_path / "page.html")).wait()
    shown.timeline.host.evaluate(
        "(host) => host.tfvis.store.select({ start: -1, end: 1e6, lanes: null, step: null })"
    )
    shown.timeline.details.get_by_role("button", name="Table").click()
    selected = shown.timeline.root.get_by_role("region", name="Selected range")
    selected.get_by_role("button", name="By name").click()
    for nodes in (shown.table("Ops", "By node"), selected.get_by_role("table", name="Time by name")):
        names = nodes.locator("tbody td:first-child")
        expect(names).to_have_count(count)
        assert len(set(names.all_inner_texts())) == count


def test_a_gap_is_shown_on_its_device(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html"))
    shown.page.set_viewport_size({"width": 1280, "height": 700})
    shown.wait()
    last = shown.timeline.lanes.page.locator(".tfvis-timeline").get_by_text("stream 13").last
    # A finding is shown with its evidence selected.
    events = len(trace.findings["events"].iloc[0])
    shown.tab("Overview").get_by_role("button", name="Show: ").first.click()
    expect(shown.timeline.title).to_have_text(f"{events} events selected")
    expect(
        shown.timeline.details.get_by_role("table", name="Selected events").locator("tbody tr")
    ).to_have_count(events)
    shown.timeline.clear()
    selected = "host => host.tfvis.store.selection.events"
    for table in ("Longest gaps", "Idle time by cause"):
        rows = shown.table("Gaps", table).locator("tbody tr")
        for device in ("ps 0 · CPU:0", "worker 1 · GPU:0"):
            button = rows.filter(has_text=device).first.get_by_role("button").first
            button.focus()
            shown.page.keyboard.press("Enter")
            ended_by = shown.timeline.host.evaluate(selected)
            if ended_by is None:
                assert shown.timeline.expect_fact("On") == device
            else:
                assert set(named(trace.events.iloc[ended_by])["device"]) == {device}
        expect(last).to_be_in_viewport()
        shown.timeline.clear()
    button = rows.filter(has_text="worker 1 · GPU:0").first.get_by_role("button")
    # The cause is also explained.
    assert button.get_attribute("aria-describedby")


@pytest.mark.thorough
def test_the_timeline_moves_a_chart_of_the_runs_time(shown: Dashboard) -> None:
    chart = shown.chart("Memory", MEMORY)
    assert shown.settled(chart) == pytest.approx(shown.settled(shown.ruler), abs=0.02)
    shown.timeline.lanes.focus()
    for _ in range(4):
        shown.page.keyboard.press("w")
    near = shown.settled(shown.ruler)
    assert shown.settled(chart) == pytest.approx(near, abs=0.02)
    # A hidden chart catches up on changes when it is shown.
    shown.tab("Steps")
    shown.timeline.lanes.focus()
    shown.page.keyboard.press("0")
    assert shown.settled(shown.ruler)[1] > near[1]
    chart = shown.chart("Memory", MEMORY)
    assert shown.settled(chart) == pytest.approx(shown.settled(shown.ruler), abs=0.02)


@pytest.mark.thorough
def test_bandwidth_over_time_follows_the_timeline(exported_dashboard: OpenDashboard, tmp_path: Path) -> None:
    trace = DATA / "gpu_tf218_function.xplane.pb.xz"
    shown = exported_dashboard(tfvis_nb.show_dashboard(trace).to_html(tmp_path / "page.html")).wait()
    scope = shown.panels.get_by_text("Tables with a Step column")
    marked = shown.panels.locator("[aria-current=true]")

    def rows(tab: str, title: str, count: int) -> None:
        expect(shown.table(tab, title).locator("tbody tr")).to_have_count(count)

    rows("Breakdown", "Utilization per step", 10)
    shown.timeline.host.get_by_role("slider", name="Step shown").locator("i").nth(1).click()
    expect(scope).to_be_visible()
    rows("Breakdown", "Utilization per step", 2)
    # Where each step has one row, it stays among those it is compared with.
    rows("Steps", "Step by step", 5)
    expect(shown.table("Steps", "Step by step").locator("[aria-current=true]")).to_have_count(1)
    shown.timeline.host.get_by_role("button", name=re.compile(r"^all \d")).click()
    expect(scope).to_have_count(0)
    expect(marked).to_have_count(0)
    rows("Breakdown", "Utilization per step", 10)
    # Evidence that is a range of time is selected likewise.
    shown.tab("Overview").get_by_role("button", name="Show: ").first.click()
    expect(shown.timeline.title).to_have_text(re.compile(r"^[\d.]+ ms selected$"))
    shown.timeline.clear()
    # The other library's chart shows none of its tools, and has our zoom.
    chart = shown.chart("Transfers", "Transfer size")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    shown.page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 60)
    expect(shown.panels.locator(".bk-Toolbar")).to_have_count(0)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 120, steps=5)
    shown.page.mouse.up()
    reset = shown.panels.get_by_role("button", name="Reset zoom")
    reset.click()
    expect(reset).to_have_count(0)
    shown.timeline.lanes.focus()
    shown.page.keyboard.press("0")
    whole = shown.settled(shown.ruler)
    chart = shown.chart("Transfers", "Bandwidth over time")
    assert shown.settled(chart) == pytest.approx(whole, abs=0.02)
    shown.timeline.lanes.focus()
    for _ in range(4):
        shown.page.keyboard.press("w")
    near = shown.moved(shown.ruler, whole)
    assert shown.settled(chart) == pytest.approx(near, abs=0.02)


def test_a_chart_moves_the_timeline(shown: Dashboard) -> None:
    chart = shown.chart("Memory", MEMORY)
    before = shown.settled(shown.ruler)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    y = box["y"] + box["height"] / 3
    shown.page.mouse.move(box["x"] + box["width"] * 0.4, y)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + box["width"] * 0.7, y, steps=5)
    shown.page.mouse.up()
    near = shown.moved(shown.ruler, before)
    assert before[0] < near[0] < near[1] < before[1]
    assert shown.settled(chart) == pytest.approx(near, abs=0.02)


def test_the_row_under_the_pointer_is_lit_on_the_other_side(shown: Dashboard) -> None:
    table = shown.table("Ops", "By node")
    name = str(real_trace(TRACE).events.loc[30, "name"])
    shown.timeline.page.mouse.move(*shown.timeline.place(30))
    lit = table.locator("tr[data-lit]")
    expect(lit).to_have_count(1)
    expect(lit).to_have_attribute("data-light", name)
    # And back: the timeline dims the events of other nodes.
    paint = "host => host.tfvis.store.painting.shade.filter((each) => each >= 128).length"
    assert shown.timeline.host.evaluate(paint) == 0
    # The row's button covers all of it.
    lit.locator("td").nth(2).hover(force=True)
    shown.page.wait_for_function(f"host => ({paint})(host) > 0", arg=shown.timeline.host.element_handle())
