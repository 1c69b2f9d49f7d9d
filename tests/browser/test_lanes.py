"""The column of lanes, the toolbar, the legend and the help of an exported page."""

import csv
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.clicked import hide
from tests.browser.timeline import OpenExported, Timeline, choose, press_in_view_menu
from tests.real_traces import real_trace
from tfvis_nb import Trace, core, events

GLOSSARY = json.loads(Path(core.__path__[0], "glossary.json").read_text("utf-8"))["tooltips"]
DATA = Path(__file__).parent.parent / "data"
DISTRIBUTED = DATA / "dist_inproc_ps_2workers_step0.pb"
LOCAL = DATA / "local_mlp_step1.pb"


@pytest.fixture
def timeline(exported: OpenExported, distributed: Path) -> Timeline:
    return exported(distributed).wait()


def labels(timeline: Timeline) -> list[str]:
    """The labels next to the lanes, including groups, from the top, once they no longer change."""
    before: list[str] = []
    for _ in range(50):
        now = written(timeline)
        if now and now == before:
            return now
        before = now
        timeline.page.wait_for_timeout(50)
    raise AssertionError(f"what is written beside the lanes does not settle: {before}")


def written(timeline: Timeline) -> list[str]:
    column = timeline.host.get_by_role("group", name="Lanes")
    # All at one time: while they are read one by one, some may be drawn again.
    found: list[list[Any]] = column.locator("b").evaluate_all(
        "all => all.map((one) => [one.getBoundingClientRect().top, one.innerText])"
    )
    return [text for _, text in sorted(found, key=lambda one: one[0])]


def expect_labels(timeline: Timeline, fits: Callable[[list[str]], bool]) -> None:
    """Wait for the labels next to the lanes: they are drawn again in the next frame."""
    for _ in range(50):
        if fits(labels(timeline)):
            return
        timeline.page.wait_for_timeout(100)
    raise AssertionError(f"beside the lanes is written {labels(timeline)}")


def late_worker() -> Trace:
    """A step of twelve workers; the ninth works ten times as long."""
    columns = {
        "start_ns": [0] * 12,
        "duration_ns": [900_000 if worker == 8 else 90_000 for worker in range(12)],
        "kind": ["op"] * 12,
        "step": [0] * 12,
        "lane": ["ops"] * 12,
        "task": [f"/job:worker/replica:0/task:{worker}" for worker in range(12)],
    }
    return Trace(events.build(columns))


@pytest.mark.parametrize(
    ("file", "height", "curve"), [("gpu_tf221_mlp.pb.xz", 1000, 114), ("gpu_tf221_dist.pb.xz", 600, 38)]
)
def test_memory_takes_the_height_that_lanes_leave(
    exported: OpenExported, tmp_path: Path, file: str, height: int, curve: int
) -> None:
    timeline = exported(real_trace(DATA / file).to_html(tmp_path / "page.html"))
    timeline.page.set_viewport_size({"width": 1280, "height": height})
    timeline.page.reload()
    label = timeline.wait().root.locator(".label", has_text="GPU_0_bfc").first
    expect(label).to_have_css("height", f"{curve}px")


def test_the_late_task_is_in_sight(exported: OpenExported, page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 400})
    trace = late_worker()
    assert "Worker 8" in trace.overview["headline"]
    timeline = exported(trace.to_html(tmp_path / "page.html")).wait()
    expect(lane_group(timeline, "worker 8")).to_be_in_viewport()
    expect(lane_group(timeline, "worker 0")).not_to_be_in_viewport()
    hint = timeline.host.get_by_role("button", name=re.compile(r"↑ \d above"))
    hint.click()
    expect(lane_group(timeline, "worker 0")).to_be_in_viewport()
    expect(hint).to_have_count(0)


def test_no_lane_is_seen_or_met_under_the_header_of_its_group(
    exported: OpenExported, page: Page, tmp_path: Path
) -> None:
    page.set_viewport_size({"width": 1280, "height": 400})
    timeline = exported(late_worker().to_html(tmp_path / "page.html")).wait()
    timeline.host.get_by_role("button", name=re.compile(r"↑ \d above")).click()
    x, y = timeline.place(0)
    title = timeline.title.inner_text()
    page.mouse.move(x, y)
    tooltip = timeline.host.locator(".tooltip")
    expect(tooltip).to_be_visible()
    page.mouse.wheel(0, 24)
    expect(timeline.root.locator("[data-sticky]", has_text="worker 0")).to_be_visible()
    header = timeline.root.locator("[data-sticky]").bounding_box()
    assert header
    page.mouse.move(x, header["y"] + header["height"] / 2)
    expect(tooltip).to_be_hidden()
    page.mouse.click(x, header["y"] + header["height"] / 2)
    expect(timeline.title).to_have_text(title)


def lane_group(timeline: Timeline, name: str) -> Locator:
    lanes = timeline.host.get_by_role("group", name="Lanes")
    return lanes.get_by_role("button", name=re.compile(rf"^{name}"))


def test_every_task_is_a_group_that_folds(timeline: Timeline) -> None:
    group = lane_group(timeline, "worker 1")
    before = labels(timeline)
    assert before[0].startswith("ps 0")
    expect(group).to_have_attribute("aria-expanded", "true")
    group.click()
    expect(group).to_have_attribute("aria-expanded", "false")
    expect_labels(timeline, lambda now: len(now) < len(before))
    group.click()
    expect(group).to_have_attribute("aria-expanded", "true")
    expect_labels(timeline, lambda now: now == before)


def test_an_event_in_a_folded_group_unfolds_it(timeline: Timeline) -> None:
    group = lane_group(timeline, "worker 1")
    group.click()
    events = real_trace(DISTRIBUTED).events
    there = events["task"].astype(str).str.contains("worker.*task:1") & (events["op"] == "ReluGrad")
    name = events.loc[there, "name"].iloc[0]
    timeline.find(f"name:{name}")
    expect(timeline.title).to_contain_text(name)
    expect(group).to_have_attribute("aria-expanded", "true")


def test_names_that_are_cut_keep_their_ends(exported: OpenExported, tmp_path: Path) -> None:
    names = [f"tf_data_iterator_long_resource/{number}" for number in (1, 2)]
    table = events.build(
        {"start_ns": [0, 0], "duration_ns": [9, 9], "kind": ["host"] * 2, "name": ["a"] * 2, "lane": names}
    )
    timeline = exported(Trace(table).to_html(tmp_path / "page.html")).wait()
    column = timeline.host.get_by_role("group", name="Lanes")
    for name in names:
        expect(column.locator("b", has_text=name)).to_have_text(name)
        expect(column.get_by_text(name[-10:], exact=True)).to_be_in_viewport(ratio=1)


def test_filter_hide_and_pin(timeline: Timeline) -> None:
    everything = labels(timeline)
    field = timeline.host.get_by_role("textbox", name="Filter lanes")
    field.fill("worker 0 receive")
    expect(timeline.host.get_by_role("group", name="Lanes").locator("b")).to_have_count(2)
    expect_labels(timeline, lambda now: now == ["worker 0 · CPU:0", "receive"])
    field.press("Escape")
    expect(field).to_have_value("")
    hide(timeline.root.locator(".label").first)
    again = timeline.host.get_by_role("button", name="+1 hidden")
    expect(again).to_be_visible()
    expect_labels(timeline, lambda now: len(now) < len(everything))
    again.click()
    expect_labels(timeline, lambda now: now == everything)
    timeline.root.locator(".label").nth(2).hover()
    timeline.host.get_by_role("button", name="Pin").click()
    expect_labels(timeline, lambda now: now[0] in ("ops", "receive"))
    timeline.host.get_by_role("button", name="Unpin").click()
    expect_labels(timeline, lambda now: now == everything)


def test_a_filter_without_a_match_says_so(timeline: Timeline) -> None:
    timeline.host.get_by_role("textbox", name="Filter lanes").fill("nothing like it")
    expect(timeline.host.get_by_text("No lane contains “nothing like it”")).to_be_visible()
    timeline.host.get_by_role("button", name="Show all lanes").click()
    expect_labels(timeline, lambda now: now[0].startswith("ps 0"))


# The next letters come as soon as the count for the first one is there.
TYPES_ON = """(search) => new Promise((done) => new MutationObserver((_, observer) => {
    observer.disconnect();
    const box = search.querySelector("input");
    box.value = "MatMul_";
    box.dispatchEvent(new InputEvent("input", { bubbles: true }));
    setTimeout(() => done(box.value), 0);
}).observe(search, { childList: true }))"""


def test_keys_work_in_a_page_just_opened_and_after_a_search(timeline: Timeline) -> None:
    expect(timeline.lanes).to_be_focused()
    timeline.page.keyboard.press("/")
    expect(timeline.search_box).to_be_focused()
    search = timeline.host.get_by_role("search")
    search.evaluate(f"(search) => void (window.typed = ({TYPES_ON})(search))")
    timeline.page.keyboard.press("M")
    assert timeline.page.evaluate("typed") == "MatMul_"
    timeline.page.keyboard.press("1")
    timeline.page.keyboard.press("Enter")
    expect(timeline.title).to_contain_text("MatMul_1")
    timeline.page.keyboard.press("Escape")
    expect(timeline.search_box).to_have_value("")
    expect(timeline.lanes).to_be_focused()


def test_lanes_by_kind_and_colours_by_op(timeline: Timeline) -> None:
    choose(timeline.host, "Group lanes", "kind")
    assert any(label.startswith(("transfer", "receive")) for label in labels(timeline))
    legend = timeline.host.get_by_role("group", name="Legend")
    assert {"host compute", "communication"} <= set(legend.locator("button").all_inner_texts())
    choose(timeline.host, "Colour", "op")
    expect(legend.get_by_role("button", name="RecvTensor")).to_be_visible()


def test_the_labels_of_lanes_say_what_their_rows_are(timeline: Timeline) -> None:
    # Behind the device with the lane, and the number of events; a task's clock may follow.
    titles = [label.get_attribute("title") or "" for label in timeline.root.locator(".label[title]").all()]
    assert {title.splitlines()[2] for title in titles} == {GLOSSARY["ops"], GLOSSARY["receive"]}


def test_tooltip_names_times_inputs_shapes_and_place(timeline: Timeline) -> None:
    events = real_trace(DISTRIBUTED).events
    has_inputs = events["detail"].str.contains(r" = \w+\([^^,]+, [^^,]+\)$")
    event = int(events["duration_ns"].where(has_inputs, 0).to_numpy().argmax())
    timeline.page.mouse.move(*timeline.place(event))
    tip = timeline.host.locator(".tooltip")
    expect(tip).to_contain_text(str(events["op"][event]))
    for name in events["detail"][event].partition("(")[2].rstrip(")").split(", "):
        expect(tip).to_contain_text("/".join(name.split("/")[-2:])[-48:])
    expect(tip).to_contain_text("RandomStandardNormal float32 [256, 784]")
    expect(tip).to_contain_text("ReluGrad float32 [256, 512]")
    assert re.search(r" at \S+ [mµ]s to \S+ [mµ]s", tip.inner_text())
    expect(tip).to_contain_text("worker 0 · CPU:0 · ops")


def test_tooltip_wraps_a_kernel_name_without_spaces(exported: OpenExported, tmp_path: Path) -> None:
    kernel = "void Eigen::internal::EigenMetaKernel<" + "Eigen::TensorEvaluator<" * 6 + "float>" + ">" * 6
    columns = {"start_ns": [0], "duration_ns": [1000], "kind": ["kernel"], "name": ["a"], "detail": [kernel]}
    timeline = exported(Trace(events.build(columns)).to_html(tmp_path / "kernel.html")).wait()
    timeline.page.mouse.move(*timeline.place(0))
    tip = timeline.host.locator(".tooltip")
    expect(tip).to_contain_text("EigenMetaKernel")
    overflows = "tip => [tip, ...tip.children].some((each) => each.scrollWidth > each.clientWidth)"
    assert not tip.evaluate(overflows)


# One event of each activity, 10 us each: kind, op, lane, and whether it is on the GPU.
ACTIVE = {
    "device compute": ("kernel", "MatMul", "stream:13", True),
    **{f"copy {way}": ("memcpy", f"Memcpy{way}", f"memcpy {way}", True) for way in ("D2H", "D2D", "H2D")},
    "input": ("op", "IteratorGetNext", "ops", False),
    "communication": ("transfer", "RecvTensor", "recv", False),
    "launch": ("op", "MatMul", "ops", True),
    "compile": ("op", "_XlaCompile", "ops", False),
    "host compute": ("op", "Add", "ops", False),
    "runtime": ("host", "Session::Run", "thread 7", False),
    "input pipeline threads": ("host", "Iterator::Map", "tf_data_pool/1", False),
    "other": ("sync", "cuStreamSynchronize", "sync", True),
}
# The colour in the middle of a bar, from the picture that is under the other layers.
PIXEL = """(host, [x, y]) => {
    const canvas = host.shadowRoot.querySelector("[role=application] canvas");
    const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
    const at = [Math.round((x - box.x) * scale), Math.round((y - box.y) * scale) - 5];
    return [...canvas.getContext("2d").getImageData(...at, 1, 1).data].slice(0, 3);
}"""
BACKGROUND = "swatch => getComputedStyle(swatch).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bars_legend_and_breakdown_share_their_colours(
    exported: OpenExported, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    device = "/job:worker/replica:0/task:0/device:"
    kinds, ops, lanes, on_gpu = zip(*ACTIVE.values(), strict=True)
    table = events.build(
        {
            "start_ns": range(0, 10_000 * len(ACTIVE), 10_000),
            "duration_ns": [10_000] * len(ACTIVE),
            "kind": kinds,
            "op": ops,
            "name": ops,
            "lane": lanes,
            "device": [f"{device}{'GPU' if gpu else 'CPU'}:0" for gpu in on_gpu],
            "task": ["/job:worker/replica:0/task:0"] * len(ACTIVE),
        }
    )
    timeline = exported(Trace(table).to_html(tmp_path / "active.html"))
    timeline.page.emulate_media(color_scheme=scheme)
    timeline.wait()
    legend = timeline.host.get_by_role("group", name="Legend")
    entries = legend.locator(":scope > *")
    single = [name for name in ACTIVE if not name.startswith(("copy", "input"))]
    assert entries.all_inner_texts() == ["device compute", "copy", "input", *single[1:]]
    expect(legend.get_by_role("button", name="copy D2H, copy D2D, copy H2D", exact=True)).to_have_count(1)
    swatches = {name: entries.filter(has_text=name).locator(".swatch") for name in single}
    swatches |= {name: legend.get_by_title(name, exact=True) for name in ACTIVE if name not in single}
    colours = {name: swatch.evaluate(BACKGROUND) for name, swatch in swatches.items()}
    parts = timeline.details.locator(".step-legend > span")
    named = {part.inner_text().rpartition(" ")[0].rpartition(" ")[0]: part for part in parts.all()}
    assert set(ACTIVE) - {"other"} <= set(named)
    for name, part in named.items():
        if name in colours:
            assert part.locator(".swatch").evaluate(BACKGROUND) == colours[name], name
    for event, name in enumerate(ACTIVE):
        pixel = timeline.host.evaluate(PIXEL, timeline.place(event))
        # Names have shades.
        assert max(abs(a - b) for a, b in zip(pixel, colours[name], strict=True)) <= 16, name


def test_the_legend_highlights_an_activity(timeline: Timeline) -> None:
    transfers = (real_trace(DISTRIBUTED).events["kind"] == "transfer").sum()
    entry = timeline.host.get_by_role("group", name="Legend").get_by_role("button", name="communication")
    expect(entry).to_have_attribute("title", f"Highlight communication\n{GLOSSARY['communication']}")
    entry.click()
    expect(timeline.host.get_by_role("search").locator("output")).to_have_text(str(transfers))
    entry.click()
    expect(timeline.search_box).to_have_value("")


def test_help_takes_the_focus_and_gives_it_back(timeline: Timeline) -> None:
    timeline.lanes.focus()
    timeline.page.keyboard.press("?")
    dialog = timeline.host.get_by_role("dialog", name="Keys and gestures")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    timeline.page.keyboard.press("Tab")
    timeline.page.keyboard.press("Tab")
    expect(timeline.lanes).not_to_be_focused()
    timeline.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(timeline.lanes).to_be_focused()


def test_the_whole_help_is_in_sight(timeline: Timeline) -> None:
    timeline.page.set_viewport_size({"width": 1600, "height": 900})
    timeline.lanes.press("?")
    for label in timeline.host.get_by_role("dialog").get_by_role("definition").all():
        expect(label).to_be_in_viewport(ratio=1)


def test_arrow_keys_and_brackets_walk(timeline: Timeline) -> None:
    trace = real_trace(DISTRIBUTED)
    transfer = int(trace.events.index[trace.events["kind"] == "transfer"][0])
    producer = trace.edges.query("target == @transfer and kind == 'transfer'")["source"].iloc[0]
    timeline.click(transfer)
    timeline.page.keyboard.press("[")
    expect(timeline.title).to_have_text(trace.events.loc[producer, "name"])
    timeline.page.keyboard.press("ArrowRight")
    expect(timeline.title).not_to_have_text(trace.events.loc[producer, "name"])


def test_measuring_is_announced(timeline: Timeline) -> None:
    timeline.find("op:RecvTensor")
    timeline.lanes.focus()
    timeline.page.keyboard.press("m")
    expect(timeline.status.last).to_contain_text("marked")
    timeline.page.keyboard.press("m")
    expect(timeline.status.last).not_to_contain_text("marked")


def test_selected_rows_as_csv_and_the_view_as_png(timeline: Timeline) -> None:
    trace = real_trace(DISTRIBUTED)
    timeline.find("op:RecvTensor")
    timeline.host.get_by_role("button", name="Export").click()
    with timeline.page.expect_download() as rows:
        timeline.host.get_by_role("menuitem", name="Rows").click()
    with rows.value.path().open(newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    expected = trace.events.loc[int(row["event"])]
    assert (int(row["start_ns"]), int(row["duration_ns"])) == (expected["start_ns"], expected["duration_ns"])
    assert (int(row["bytes"]), row["tensor"]) == (expected["bytes"], expected["tensor"])
    timeline.host.get_by_role("button", name="Export").click()
    with timeline.page.expect_download() as picture:
        timeline.host.get_by_role("menuitem", name="Picture of this view").click()
    png = picture.value.path().read_bytes()
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack_from(">II", png, 16)
    shown, last = (timeline.host.locator(name).last.bounding_box() for name in (".main", ".label"))
    assert shown
    assert last
    # A title above, the view up to its last lane, and the legend below.
    assert width == 2 * round(shown["width"])
    assert 40 < height / 2 - (last["y"] + last["height"] - shown["y"]) < 120


def test_one_step_of_several(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace([LOCAL, LOCAL, DISTRIBUTED])
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    steps = timeline.host.get_by_role("combobox", name="Step")
    for step, label in ((0, LOCAL.stem), (2, DISTRIBUTED.stem)):
        steps.select_option(str(step))
        expect(timeline.title).to_have_text(f"Step {step} · {label}")
        assert timeline.facts()["Events"] == str(trace.steps.loc[step, "events"])
    steps.select_option("all")
    expect(timeline.title).to_have_text("Whole run")


def test_the_slowest_step_is_found_and_shown_by_its_bar(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace([LOCAL, DISTRIBUTED, LOCAL])
    slowest = int(trace.steps["duration_ns"].argmax())
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    timeline.host.get_by_role("button", name="all 3").click()
    label = timeline.host.get_by_text(f"Slowest step: {slowest}")
    expect(label).to_be_visible()
    bars = timeline.host.get_by_role("slider", name="Step shown")
    expect(bars).to_have_attribute("aria-valuetext", "all steps")
    bars.locator("i").nth(slowest).click()
    expect(timeline.title).to_have_text(f"Step {slowest} · {DISTRIBUTED.stem}")
    bars.focus()
    timeline.page.keyboard.press("ArrowLeft")
    expect(timeline.title).to_have_text(f"Step {slowest - 1} · {LOCAL.stem}")
    expect(bars).to_have_attribute("aria-valuenow", str(slowest - 1))


@pytest.mark.thorough
def test_steps_aligned_at_their_starts(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace([LOCAL, DISTRIBUTED])
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    press_in_view_menu(timeline.root, "Align steps")
    expect(timeline.title).to_have_text("Steps aligned")
    assert [label for label in labels(timeline) if label.startswith("step")] == ["step 0 · CPU:0", "step 1"]
    # The first event of either step begins where the other's does.
    first = [int(trace.events.index[trace.events["step"] == step][0]) for step in (0, 1)]
    starts = [timeline.host.evaluate("(host, id) => host.tfvis.locate(id).x", event) for event in first]
    assert abs(starts[0] - starts[1]) < 5
    timeline.find("op:RecvTensor")
    expect(timeline.details.locator("dt", has_text="Step").last).to_be_visible()
    assert timeline.facts()["Step"] == f"1 · {DISTRIBUTED.stem}"


def test_double_click_zooms_to_what_its_first_click_hit(timeline: Timeline) -> None:
    """The first click opens the details, which move the bars."""
    trace = real_trace(DISTRIBUTED)
    starts = trace.events["start_ns"]
    event = int((starts - (starts.min() + starts.max()) // 2).abs().idxmin())
    timeline.root.get_by_role("button", name="Details", exact=True).click()
    expect(timeline.details).to_have_count(0)
    mouse = timeline.page.mouse
    mouse.click(*timeline.place(event))
    timeline.place(event)
    mouse.down(click_count=2)
    mouse.up(click_count=2)
    start = int(starts[event] - starts.min())
    limit = 20 * max(int(trace.events["duration_ns"][event]), 10)
    zoomed = """([host, start, limit]) => {
        const { viewport } = host.tfvis.store;
        return viewport.start <= start && start < viewport.end && viewport.end - viewport.start < limit;
    }"""
    timeline.page.wait_for_function(zoomed, arg=[timeline.host.element_handle(), start, limit])
    assert timeline.host.evaluate("({ tfvis: { store } }) => store.selected") == event
