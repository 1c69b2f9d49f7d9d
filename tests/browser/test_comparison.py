"""Two compared timelines on a page: they move together."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import expect

import tfvis_nb
from tests.browser.comparison import LANES, NEW, OLD, Both
from tests.browser.probe import select_longest
from tests.browser.timeline import OpenExported, choose
from tests.hostile_names import HOSTILE, hostile_trace
from tests.real_traces import DATA, real_trace
from tfvis_nb import events
from tfvis_nb.core.format import format_duration, format_ratio

SVG = "{http://www.w3.org/2000/svg}"
STEPS = DATA / "gpu_tf218_function.xplane.pb.xz"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tfvis_nb.show_comparison(OLD, NEW).to_html(tmp_path_factory.mktemp("page") / "page.html")


def on_page(exported: OpenExported, path: Path) -> Both:
    page = exported(path).page
    return Both(page.locator("#tfvis-root"), page.locator(".tfvis-panels"))


@pytest.fixture
def shown(exported: OpenExported, page_file: Path) -> Both:
    return on_page(exported, page_file).wait()


def test_both_begin_at_the_left_and_show_the_longer_one(shown: Both) -> None:
    start, end = shown.same()
    assert start < 0
    spans = [real_trace(path).steps["duration_ns"].max() / 1e6 for path in (OLD, NEW)]
    assert end == pytest.approx(max(spans), rel=0.02)
    assert shown.lanes()[0] == shown.lanes()[1]
    # Each has its own length in its header.
    texts = [each.timeline.root.locator(".toolbar").inner_text() for each in (shown.a, shown.b)]
    assert [letter in text for letter, text in zip("AB", texts, strict=True)] == [True, True]
    assert texts[0].split("\n")[1] != texts[1].split("\n")[1]


def test_a_comparison_opens_on_all_of_both(exported: OpenExported, tmp_path: Path) -> None:
    # The typical steps of A are later than all of B.
    slow, fast = (
        events.build({"start_ns": starts, "duration_ns": lengths, "step": range(4), "kind": ["op"] * 4})
        for starts, lengths in (
            ([0, 10**9, 11 * 10**8, 12 * 10**8], [10**9, *[10**8] * 3]),
            (range(4), [1] * 4),
        )
    )
    page = tfvis_nb.show_comparison(tfvis_nb.Trace(slow), tfvis_nb.Trace(fast)).to_html(
        tmp_path / "page.html"
    )
    start, end = on_page(exported, page).wait().same()
    assert (start <= 0, end >= 1300) == (True, True)


def test_tabs_keep_room_beside_the_table_of_a_range(shown: Both) -> None:
    shown.page.set_viewport_size({"width": 1280, "height": 800})
    shown.a.timeline.host.evaluate(
        "(host) => host.tfvis.store.select({ start: 0, end: 1e9, lanes: null, step: null })"
    )
    expect(shown.around.get_by_role("region", name="Selected range")).to_be_visible()
    panel = shown.a.tab("Ops").locator("xpath=ancestor::*[@role='tabpanel']").bounding_box()
    assert panel
    assert panel["height"] >= 80


@pytest.mark.parametrize("width", [1280, 848])
def test_headlines_of_both_sides_are_whole(shown: Both, width: int) -> None:
    shown.page.set_viewport_size({"width": width, "height": 900})
    for side in (shown.a, shown.b):
        sentence = side.timeline.root.get_by_text("of step time")
        expect(sentence).to_be_visible()
        shown.page.wait_for_function(
            "line => line.scrollWidth <= line.clientWidth && line.scrollHeight <= line.clientHeight",
            arg=sentence.element_handle(),
        )


@pytest.mark.thorough
def test_both_share_what_stands_around_them_and_all_is_in_sight(shown: Both) -> None:
    headline, *_ = tfvis_nb.show_comparison(OLD, NEW).headline.split(". ")
    expect(shown.around.get_by_role("heading", name=headline)).to_be_visible()
    shared = (
        shown.around.get_by_role("textbox", name="Search"),
        shown.around.get_by_role("button", name="Critical path"),
        shown.around.get_by_role("group", name="Legend"),
        shown.details,
    )
    for part in shared:
        expect(part).to_have_count(1)
    first = shown.a.table("Activities", "Summary").get_by_role("columnheader").first
    for each in (shown.a.timeline.lanes, shown.b.timeline.lanes, first):
        expect(each).to_be_in_viewport(ratio=1)


def test_search_ruler_and_filter_are_of_both(shown: Both) -> None:
    for each in (
        shown.around.get_by_role("textbox", name="Search"),
        shown.around.get_by_role("img", name="Time axis"),
        shown.around.get_by_role("textbox", name="Filter lanes"),
    ):
        expect(each).to_have_count(1)
    shown.around.get_by_role("textbox", name="Filter lanes").fill("stream")
    for side in (shown.a, shown.b):
        labels = side.timeline.host.get_by_role("group", name="Lanes")
        expect(labels).to_contain_text("stream")
        expect(labels).not_to_contain_text("copy")
    shown.around.get_by_role("textbox", name="Filter lanes").press("Escape")
    expect(shown.b.timeline.host.get_by_role("group", name="Lanes")).to_contain_text("copy")


def test_a_selection_opens_closed_details(shown: Both) -> None:
    toggle = shown.around.get_by_role("button", name="Details", exact=True)
    toggle.click()
    expect(shown.details).to_have_count(0)
    select_longest(shown.b.timeline, shown.title, NEW)
    expect(toggle).to_have_attribute("aria-pressed", "true")


def test_the_toolbar_is_of_both(shown: Both) -> None:
    choose(shown.around, "Colour", "op")
    legend = shown.around.get_by_role("group", name="Legend").get_by_role("button")
    expect(legend.filter(has_text="MatMul")).to_have_count(1)
    coloured = "host => host.tfvis.store.host.get('color_by')"
    assert [each.timeline.host.evaluate(coloured) for each in (shown.a, shown.b)] == ["op", "op"]
    shown.around.get_by_role("textbox", name="Search").fill("op:MatMul")
    found = "host => host.tfvis.store.matches?.ids.length > 0"
    for each in (shown.a, shown.b):
        shown.page.wait_for_function(found, arg=each.timeline.host.element_handle())
    shown.around.get_by_role("button", name="Export").click()
    with shown.page.expect_download() as download:
        shown.page.get_by_role("menuitem", name="Picture as vectors").click()
    texts = [text.text or "" for text in ET.parse(download.value.path()).iter(f"{SVG}text")]
    assert texts[0].startswith(tfvis_nb.show_comparison(OLD, NEW).headline.split(",")[0])
    assert [text[0] for text in texts if OLD.name in text or NEW.name in text] == ["A", "B"]
    # One legend for both.
    assert texts.count("MatMul") == 1


@pytest.mark.parametrize("moved", ["a", pytest.param("b", marks=pytest.mark.thorough)])
def test_a_zoom_in_one_moves_the_other(shown: Both, moved: str) -> None:
    one = getattr(shown, moved)
    before = shown.same()
    box = one.timeline.lanes.bounding_box()
    assert box
    shown.page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 20)
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, -600)
    shown.page.keyboard.up("Control")
    one.moved(one.ruler, before)
    zoomed = shown.same()
    assert zoomed[1] - zoomed[0] < (before[1] - before[0]) * 0.7
    one.timeline.lanes.focus()
    shown.page.keyboard.press("d")
    one.moved(one.ruler, zoomed)
    panned = shown.same()
    assert panned[0] > zoomed[0]
    assert panned[1] - panned[0] == pytest.approx(zoomed[1] - zoomed[0], rel=0.01)
    shown.page.keyboard.press("f")
    one.moved(one.ruler, panned)
    assert shown.same() == pytest.approx(before, abs=1e-3)


def test_the_same_op_is_selected_in_both(shown: Both) -> None:
    trace = real_trace(OLD)
    event = int(trace.events[(trace.events["op"] == "MatMul") & (trace.events["kind"] == "op")].index[0])
    name = str(trace.events.loc[event, "name"])
    before = shown.same()
    shown.a.timeline.click(event)
    assert shown.same() == pytest.approx(before, abs=1e-6)
    durations = []
    for side in "AB":
        shown.details_of(side)
        expect(shown.title).to_have_text(name)
        durations.append(shown.details.locator("dt", has_text="Duration").locator("+ dd").inner_text())
    assert durations[0] != durations[1]
    shown.b.timeline.lanes.focus()
    shown.page.keyboard.press("Escape")
    shown.details_of("A")
    expect(shown.title).not_to_have_text(name)


def test_lanes_stay_above_each_other(shown: Both) -> None:
    before = shown.lanes()
    shown.around.get_by_role("button", name="Details", exact=True).click()
    expect(shown.details).to_have_count(0)
    wider = shown.lanes()
    assert wider[0] == wider[1]
    assert wider[0][1] > before[0][1] + 200
    handle = shown.b.timeline.root.get_by_role("separator", name="Width of the labels")
    handle.focus()
    for _ in range(4):
        shown.page.keyboard.press("ArrowRight")
    shown.page.wait_for_function(
        f"([host, x]) => ({LANES})(host).x > x + 60",
        arg=[shown.a.timeline.host.element_handle(), wider[0][0]],
    )
    moved = shown.lanes()
    assert moved[0] == moved[1]


def test_a_row_shows_the_longest_event_of_both(shown: Both) -> None:
    table = shown.a.table("Ops", "Differences by op")
    before = shown.same()
    row = table.locator("tbody tr").filter(has_text="MatMul").first
    row.locator("td").nth(3).click(force=True)
    shown.a.moved(shown.a.ruler, before)
    shown.same()
    for side, each in zip("AB", (shown.a, shown.b), strict=True):
        shown.details_of(side)
        expect(shown.title).to_contain_text("MatMul")
        assert each.timeline.host.evaluate("host => host.tfvis.store.selection.events.length") == 1
    # The event under the pointer is lit in the table, and the events of a row in both timelines.
    row.locator("td").nth(3).hover(force=True)
    dimmed = "host => host.tfvis.store.painting.shade.filter((each) => each >= 128).length > 0"
    for each in (shown.a, shown.b):
        shown.page.wait_for_function(dimmed, arg=each.timeline.host.element_handle())


def test_the_flame_graph_shows_the_change(exported: OpenExported, tmp_path: Path) -> None:
    sides = [
        tfvis_nb.Trace(
            events.build(
                {"start_ns": [0, 50], "duration_ns": took, "kind": ["op"] * 2, "name": ["net/fc", last]}
            )
        )
        for took, last in (([10, 5], "net/old"), ([20, 3], "net/new"))
    ]
    shown = on_page(exported, tfvis_nb.show_comparison(*sides).to_html(tmp_path / "page.html")).wait()
    panel = shown.a.tab("Flame graph")
    frames = panel.get_by_role("group", name="Frames").get_by_role("button")
    expect(frames).to_have_text(["All +8 ns", "net +8 ns", "fc +10 ns", "new +3 ns"])
    whole = "All: A 15 ns, B 23 ns, 100 %, 0 ns of its own; change +8 ns"
    expect(frames.first).to_have_accessible_name(whole)
    for frame in (frames.nth(2), frames.nth(3)):
        expect(frame).to_have_css("background-color", "rgb(194, 55, 46)")
    panel.get_by_text("1 frame only in A").click()
    expect(panel.get_by_role("listitem")).to_have_text("net \u203a old: 5 ns")
    # Enter selects the events of both.
    frames.nth(1).focus()
    shown.page.keyboard.press("Enter")
    for side in "AB":
        shown.details_of(side)
        expect(shown.title).to_have_text("2 events selected")
    frames.nth(1).focus()
    shown.page.keyboard.press("ArrowUp")
    expect(frames.first).to_be_focused()


@pytest.mark.thorough
def test_the_lines_between_move(shown: Both) -> None:
    for name, each in (("upper", shown.a), ("lower", shown.b)):
        line = shown.page.get_by_role("separator", name=f"Height of the {name} timeline", exact=True)
        before = each.timeline.host.bounding_box()
        line.focus()
        for _ in range(5):
            shown.page.keyboard.press("ArrowUp")
        after = each.timeline.host.bounding_box()
        assert before
        assert after
        assert after["height"] == pytest.approx(before["height"] - 80, abs=2)


@pytest.mark.thorough
def test_steps_of_one_trace(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(STEPS)
    steps = [step for step in trace.steps["step"].tolist() if step >= 0][:2]
    path = tfvis_nb.show_comparison(trace, steps=(steps[0], steps[1])).to_html(tmp_path / "page.html")
    shown = on_page(exported, path).wait()
    start, end = shown.same()
    durations = trace.steps.set_index("step")["duration_ns"][steps] / 1e6
    assert start < 0
    assert end == pytest.approx(durations.max(), rel=0.05)
    expect(shown.a.timeline.root.locator(".toolbar")).to_contain_text(f"step {steps[0]}")
    whole = shown.a.table("Activities", "Summary")
    expect(whole.locator("tbody tr").first).to_contain_text("Duration")
    # Slower rows extend to the right of the zero line, and have a sign.
    difference = int(trace.steps.set_index("step")["duration_ns"][steps].diff().iloc[-1])
    change = whole.locator("tbody tr").first.locator("td").nth(1)
    assert ("\u2212" if difference < 0 else "+") in change.inner_text()
    expect(change.locator("[data-change]")).to_have_attribute(
        "data-change", "faster" if difference < 0 else "slower"
    )


@pytest.mark.thorough
def test_hostile_texts_are_shown_and_run_nothing(exported: OpenExported, tmp_path: Path) -> None:
    path = tfvis_nb.show_comparison(hostile_trace(), NEW).to_html(tmp_path / "page.html")
    shown = on_page(exported, path).wait()
    rows = shown.a.table("Nodes", "Differences by node").locator("tbody tr", has_text="removed")
    expect(rows).to_have_count(len(HOSTILE))


def test_a_page_without_one_of_its_traces_says_so(
    exported: OpenExported, page_file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.html"
    whole = page_file.read_text(encoding="utf-8")
    broken.write_text(whole.replace('id="tfvis-drawn-1"', 'id="other"'), encoding="utf-8")
    shown = on_page(exported, broken)
    expect(shown.b.timeline.host.get_by_role("alert")).to_contain_text("tfvis-drawn-1 is missing")
    shown.a.wait()


def differences(shown: Both) -> dict[str, list[str]]:
    """The figures of each row that compares the selected event with the other side, by its head."""
    table = shown.details.get_by_role("table", name="Difference", exact=True)
    expect(table).to_have_count(1)
    cells = table.locator("tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    return {first: others for first, *others in cells}


def texts_that_differ(shown: Both) -> dict[str, str]:
    terms = shown.details.locator("section.differs dt").all_inner_texts()
    values = shown.details.locator("section.differs dd").all_inner_texts()
    return dict(zip(terms, values, strict=True))


def test_details_compare_an_event_with_its_counterpart(shown: Both) -> None:
    tables = [real_trace(path).events for path in (OLD, NEW)]
    ops = [table[(table["kind"] == "op") & (table["op"] == "MatMul")] for table in tables]
    name = ops[0]["name"].iloc[0]
    durations = [int(each.loc[each["name"] == name, "duration_ns"].iloc[0]) for each in ops]
    shown.a.timeline.click(int(ops[0].index[0]))
    expected = [format_duration(each) for each in durations]
    change, ratio = durations[1] - durations[0], durations[1] / durations[0]
    expected.append(f"+{format_duration(change)}\n{format_ratio(ratio)}")
    for side in "AB":
        shown.details_of(side)
        expect(shown.title).to_have_text(name)
        assert differences(shown) == {"Duration": expected}
        assert texts_that_differ(shown) == {}


def test_details_compare_repeated_events_per_step(exported: OpenExported, tmp_path: Path) -> None:
    def repeated(steps: int, each: int, duration: int, device: str) -> tfvis_nb.Trace:
        places = range(steps * each)
        columns = {
            "start_ns": [1000 * place for place in places],
            "duration_ns": [duration] * len(places),
            "step": [place // each for place in places],
            "kind": ["op"] * len(places),
            "op": ["Add"] * len(places),
            "name": ["add"] * len(places),
            "device": [f"/device:{device}"] * len(places),
        }
        return tfvis_nb.Trace(events.build(columns))

    sides = repeated(4, 2, 900, "GPU:0"), repeated(2, 3, 450, "CPU:0")
    shown = on_page(exported, tfvis_nb.show_comparison(*sides).to_html(tmp_path / "page.html")).wait()
    shown.a.timeline.click(4)
    found = differences(shown)
    assert found["Duration"] == ["900 ns", "450 ns", "\u2212450 ns\n0.50"]
    assert found["Total per step"] == ["1.80 \u00b5s", "1.35 \u00b5s", "\u2212450 ns\n0.75"]
    assert found["Count per step"] == ["2", "3", "+1\n1.50"]
    texts = texts_that_differ(shown)
    assert texts["Step"] == "A: Step 2\nB: Step 1"
    assert texts["Location"] == "A: GPU:0\nB: CPU:0"


MATMUL = """step_stats { dev_stats { device: "/job:localhost/replica:0/task:0/device:CPU:0"
  node_stats { node_name: "x" timeline_label: "x = Const()" all_start_micros: 1 all_end_rel_micros: 2 %s }
  node_stats { node_name: "y" timeline_label: "y = MatMul(x)" all_start_micros: 5 all_end_rel_micros: 2 %s }
} }"""
OUTPUT = "output { tensor_description { dtype: DT_FLOAT shape { dim { size: %d } dim { size: 10 } } } }"


def test_details_list_shapes_that_differ(exported: OpenExported, tmp_path: Path) -> None:
    sides = [
        tfvis_nb.read_trace((MATMUL % (OUTPUT % rows, OUTPUT % (2 * rows))).encode(), title=f"{rows}")
        for rows in (32, 64)
    ]
    shown = on_page(exported, tfvis_nb.show_comparison(*sides).to_html(tmp_path / "page.html")).wait()
    shown.a.timeline.click(1)
    expect(shown.title).to_have_text("y")
    texts = texts_that_differ(shown)
    assert texts["Input 0"] == "A: float32 [32, 10]\nB: float32 [64, 10]"
    assert texts["Output 0"] == "A: float32 [64, 10]\nB: float32 [128, 10]"


def test_details_name_the_only_side_of_an_event(exported: OpenExported, tmp_path: Path) -> None:
    sides = [
        tfvis_nb.Trace(events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"], "op": [op]}))
        for op in ("Add", "Sub")
    ]
    shown = on_page(exported, tfvis_nb.show_comparison(*sides).to_html(tmp_path / "page.html")).wait()
    shown.b.timeline.click(0)
    expect(shown.details).to_contain_text("Only in B: A has no event of this name, op and kind.")
