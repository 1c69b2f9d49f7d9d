"""The bars of the steps: highlighted ones, and their descriptions."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.timeline import OpenExported, Timeline, press_in_view_menu
from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace, events

TASK = "/job:worker/replica:0/task:0"
MS = 1_000_000


def training(steps: list[tuple[float, float]], gpus: int = 1) -> Trace:
    """Steps that took so many ms, in which the first GPU computed so many ms, and any other less."""
    rows = []
    start = 1_700_000_000_000_000_000
    for step, (took, computed) in enumerate(steps):
        rows.append((step, start, took, "op", "CPU:0", "ops"))
        # Two kernels at once count once.
        for stream in (1, 2):
            rows += [
                (step, start, computed / (1 + gpu), "kernel", f"GPU:{gpu}", f"stream:{stream}")
                for gpu in range(gpus)
            ]
        start += int((took + 1) * MS)
    columns = {
        "step": [row[0] for row in rows],
        "start_ns": [row[1] for row in rows],
        "duration_ns": [int(row[2] * MS) for row in rows],
        "kind": [row[3] for row in rows],
        "device": [f"{TASK}/device:{row[4]}" for row in rows],
        "lane": [row[5] for row in rows],
        "task": [TASK] * len(rows),
        "name": ["dense/MatMul"] * len(rows),
        "op": ["MatMul"] * len(rows),
    }
    return Trace(events.order(events.build(columns))[0])


def bars_of(timeline: Timeline) -> Locator:
    return timeline.host.get_by_role("slider", name="Step shown")


def marked(timeline: Timeline, mark: str) -> list[int]:
    """Places of the bars that have the mark."""
    places: list[int] = bars_of(timeline).evaluate(
        "(bars, mark) => [...bars.children].flatMap((bar, place) => bar.hasAttribute(mark) ? [place] : [])",
        mark,
    )
    return places


def test_steps_alike_have_no_slowest_one(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(4.0, 1.0), (4.0, 1.0), (4.2, 1.0)]
    timeline = exported(training(steps).to_html(tmp_path / "steps.html")).wait()
    bars = bars_of(timeline)
    label = timeline.host.get_by_role("button", name="median")
    expect(bars).to_be_visible()
    expect(label).to_have_count(0)
    before = bars.bounding_box()
    bars.locator("i").nth(2).hover()
    expect(label).to_have_text(re.compile("^Step 2 · 4.20 ms, 1.05 \u00d7 median"))
    assert bars.bounding_box() == before


def test_the_slowest_step_is_named_even_if_not_slow(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(4.0, 1.0), (4.0, 1.0), (5.0, 1.0)]
    timeline = exported(training(steps).to_html(tmp_path / "steps.html")).wait()
    label = timeline.host.get_by_role("button", name="Slowest step: 2")
    expect(label).to_have_text("Slowest step: 2, 1.25 \u00d7 median")
    expect(label).to_have_attribute("title", re.compile("5.00 ms, 1.25 \u00d7 median"))
    assert marked(timeline, "data-slow") == []
    label.click()
    expect(bars_of(timeline)).to_have_attribute("aria-valuetext", re.compile("^step 2, 5.00 ms"))


def test_steps_are_compared_with_their_kind(exported: OpenExported, tmp_path: Path) -> None:
    trace = training([(9.0, 3.0), (2.0, 1.0), (9.4, 3.0), (2.0, 1.0), (9.2, 3.0), (3.2, 1.0)])
    trace.step_labels.update({step: f"{'test' if step % 2 else 'train'} {step}" for step in range(6)})
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    label = timeline.host.get_by_role("button", name="median")
    expect(label).to_have_text("Slowest step: 5, 1.60 \u00d7 median")
    assert marked(timeline, "data-slow") == [5]
    bars_of(timeline).locator("i").nth(0).hover()
    expect(label).to_have_text(re.compile("9.00 ms, 0.98 \u00d7 median"))


def test_more_work_is_told_from_more_time(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(4.0, 1.0), (4.0, 1.0), (9.0, 1.0), (4.0, 2.0), (4.0, 1.0)]
    timeline = exported(training(steps).to_html(tmp_path / "steps.html")).wait()
    bars = bars_of(timeline)
    assert (marked(timeline, "data-slow"), marked(timeline, "data-busy")) == ([2], [3])
    heights = bars.locator("u").evaluate_all("(parts) => parts.map((part) => part.clientHeight)")
    assert heights[3] > max(heights[:3])
    label = timeline.host.get_by_role("button", name="median")
    expect(label).to_have_text("Slowest step: 2, 2.25 \u00d7 median")
    expect(label).to_have_attribute("title", re.compile("GPU busy 1.00 ms, 1.00 \u00d7 median"))
    bars.locator("i").nth(3).hover()
    expect(label).to_have_text("Step 3 · 4.00 ms, 1.00 \u00d7 median · GPU busy 2.00 ms, 2.00 \u00d7 median")
    bars.locator("i").nth(3).click()
    expect(bars).to_have_attribute(
        "aria-valuetext", "step 3, 4.00 ms, 1.00 times the median, GPU busy 2.00 ms, 2.00 times the median"
    )


def test_details_of_a_slow_step_begin_with_its_finding(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(4.0, 1.0)] * 12
    steps[3], steps[8] = (9.0, 1.0), (8.0, 1.0)
    trace = training(steps)
    (title,) = trace.findings.query("id == 'slow_steps.longer'")["title"]
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    found = timeline.details.get_by_role("group").filter(has_text=title)
    figures = timeline.details.get_by_role("heading", name="Top ops")
    for step, is_slow in ((8, True), (3, True), (5, False)):
        bars_of(timeline).locator("i").nth(step).click()
        expect(timeline.title).to_have_text(re.compile(f"^Step {step}"))
        expect(found).to_have_count(1)
        top, below = found.bounding_box(), figures.bounding_box()
        assert top
        assert below
        assert (top["y"] < below["y"]) == is_slow, step


def test_the_parts_of_a_step_are_shown_with_it(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(4.0, 1.0), (4.0, 1.0), (9.0, 3.0), (4.0, 1.0)]
    timeline = exported(training(steps).to_html(tmp_path / "steps.html")).wait()
    activities = timeline.details.get_by_role("img", name="by main activity")
    expect(activities).to_have_accessible_name(re.compile("^Step time .*6.00 ms, 28.6 %"))
    # The time of a step and its parts come before its text.
    expect(timeline.details.get_by_role("term").first).to_have_text("Step time")
    bars_of(timeline).locator("i").nth(2).click()
    expect(activities).to_have_accessible_name(re.compile("^Step .*3.00 ms, 33.3 %"))
    timeline.page.set_viewport_size(ViewportSize(width=700, height=800))
    expect(timeline.details).to_have_count(0)
    expect(timeline.root.get_by_role("img", name="Step by main activity")).to_be_in_viewport(ratio=1)


def test_each_part_that_matters_has_its_share_beside_it(exported: OpenExported, tmp_path: Path) -> None:
    # Kernels take a part of the step that is named, one that is just seen, and one that is not.
    for busy, seen, named in ((0.1, 2, 2), (0.05, 2, 1), (0.001, 1, 1)):
        timeline = exported(training([(4.0, busy)]).to_html(tmp_path / "part.html")).wait()
        step = timeline.details.locator(".step-card")
        expect(step.locator(".stack i")).to_have_count(seen)
        expect(step.locator(".step-legend > span")).to_have_count(named)


def test_bars_of_several_tasks_have_the_legend_of_the_lanes(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace(DATA / "dist_inproc_ps_2workers_step0.pb")
    timeline = exported(trace.to_html(tmp_path / "tasks.html")).wait()
    step = timeline.details.locator(".step-card")
    expect(step.get_by_role("img")).to_have_count(trace.events["task"].nunique())
    names = set(step.locator(".stack i").evaluate_all("parts => parts.map((part) => part.dataset.name)"))
    legend = timeline.host.get_by_role("group", name="Legend").inner_text()
    assert {name for name in names if name.replace("_", " ") not in legend} <= {"idle"}
    expect(step.locator(".step-legend")).to_have_count(0)


@pytest.mark.thorough
def test_heights_of_long_steps_are_logarithmic(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(4.0, 1.0), (44.0, 1.0), (4.0, 1.0), (7.0, 1.0)]
    timeline = exported(training(steps).to_html(tmp_path / "steps.html")).wait()
    bars = bars_of(timeline)
    # The median step takes 4 ms.
    heights = bars.locator("b").evaluate_all("each => each.map(bar => bar.clientHeight)")
    assert heights[0] == heights[2] == pytest.approx(heights[1] / 2, abs=0.6)
    assert heights[0] < heights[3] < heights[1]
    expect(bars).to_have_attribute("title", re.compile("logarithmic"))
    bars.locator("i").nth(1).click()
    expect(bars).to_have_attribute(
        "aria-valuetext",
        "step 1, 44.0 ms, 11.0 times the median, GPU busy 1.00 ms, 1.00 times the median",
    )
    assert marked(timeline, "data-slow") == [1, 3]


def test_an_event_of_no_step_names_the_steps_around_it(exported: OpenExported, tmp_path: Path) -> None:
    times = {
        "step 0": (0, 100),
        "step 1": (100, 200),
        "during": (20, 40),
        "both": (50, 150),
        "after": (250, 260),
    }
    columns = {
        "name": list(times),
        "step": [0, 1, -1, -1, -1],
        "start_ns": [start for start, _ in times.values()],
        "duration_ns": [end - start for start, end in times.values()],
        "kind": ["op", "op", "host", "host", "host"],
        "lane": list(times),
    }
    trace = Trace(events.order(events.build(columns))[0])
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    found = {}
    for event, name in enumerate(trace.events["name"]):
        timeline.click(event)
        expect(timeline.title).to_have_text(name)
        found[name] = timeline.expect_fact("Step")
    assert found == {
        "step 0": "0",
        "step 1": "1",
        "during": "None recorded, runs during 0",
        "both": "None recorded, runs during 0 to 1",
        "after": "Outside steps",
    }


@pytest.mark.thorough
def test_another_step_has_no_selection_of_the_last(exported: OpenExported, tmp_path: Path) -> None:
    trace = training([(4.0, 1.0), (5.0, 1.0), (4.0, 1.0)])
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    bars = bars_of(timeline)
    bars.locator("i").nth(1).click()
    event = int(trace.events.index[(trace.events["step"] == 1) & (trace.events["kind"] == "op")][0])
    timeline.click(event)
    timeline.expect_fact("Start")
    facts = timeline.facts()
    # The axis counts from the start of the run, whatever step is shown.
    assert facts["Start"].startswith("+5.000000 ms")
    assert facts["Start"].endswith("into step 1)")
    assert facts["Share"] == "100 % of step 1"
    # All steps have it, and its share is still of its own.
    timeline.host.get_by_role("button", name="all 3").click()
    assert timeline.facts()["Share"] == "100 % of step 1"
    bars.locator("i").nth(2).click()
    expect(timeline.title).to_have_text("Step 2")
    timeline.host.get_by_role("button", name="all 3").click()
    expect(timeline.title).to_have_text("Whole run")


@pytest.mark.thorough
def test_aligned_steps_omit_events_outside_steps(exported: OpenExported, tmp_path: Path) -> None:
    columns = {
        "step": [-1, 0, 1],
        "start_ns": [0, 10 * MS, 20 * MS],
        "duration_ns": [100 * MS, 4 * MS, 5 * MS],
        "kind": ["op"] * 3,
        "name": ["outside", "dense", "dense"],
    }
    timeline = exported(Trace(events.build(columns)).to_html(tmp_path / "steps.html")).wait()
    bars_of(timeline).focus()
    timeline.page.keyboard.press("Home")
    expect(bars_of(timeline)).to_have_attribute("aria-valuetext", "outside steps, 91.0 ms")
    timeline.host.get_by_role("button", name="all 2").click()
    timeline.click(0)
    expect(timeline.title).to_have_text("outside")
    assert timeline.facts()["Share"] == "100 % of the run"
    press_in_view_menu(timeline.root, "Align steps")
    expect(timeline.title).to_have_text("Steps aligned")
    timeline.lanes.focus()
    timeline.page.keyboard.press("t")
    expect(timeline.host.get_by_text("not shown for aligned steps")).to_be_visible()
    facts = timeline.facts()
    assert (facts["Length"], facts["Events"], facts["Left out"]) == (
        "5.00 ms",
        "2",
        "1 event outside any step",
    )
    assert "step -1" not in timeline.host.inner_text()


def test_a_step_is_shown_with_the_events_outside_steps(exported: OpenExported, tmp_path: Path) -> None:
    columns = {
        "step": [-1, -1, 0, 1, -1, -1],
        "start_ns": [0, 8 * MS, 10 * MS, 20 * MS, 21 * MS, 60 * MS],
        "duration_ns": [5 * MS, 4 * MS, 4 * MS, 5 * MS, MS, MS],
        "kind": ["host", "host", "op", "op", "host", "host"],
        "name": ["generator", "generator", "train", "train", "generator", "generator"],
        "op": ["generator", "generator", "train", "train", "generator", "generator"],
        "lane": ["tf_data", "tf_data", "ops", "ops", "tf_data", "tf_data"],
    }
    timeline = exported(Trace(events.build(columns)).to_html(tmp_path / "steps.html")).wait()
    chosen = timeline.host.get_by_role("combobox", name="Step", exact=True)
    chosen.select_option("Step 1 · 5.00 ms")
    assert timeline.facts()["Events"] == "2"
    timeline.host.get_by_role("textbox", name="Search").fill("generator")
    expect(timeline.title).to_have_text("1 match")
    # Its input can be clicked, and stays in the step.
    timeline.click(4)
    expect(timeline.title).to_have_text("generator")
    assert timeline.facts()["Step"] == "None recorded, runs during 1"
    expect(chosen).to_have_value("2")
    timeline.host.get_by_role("textbox", name="Search").fill("")
    # Time outside steps is one figure.
    chosen.select_option("Outside steps · 52.0 ms")
    expect(timeline.title).to_have_text("Outside steps")
    assert timeline.facts()["Length"] == "52.0 ms"
    expect(timeline.host.get_by_role("button", name="Outside steps · 52.0 ms")).to_be_visible()


@pytest.mark.thorough
def test_of_several_devices_the_busiest_counts(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(4.0, 3.0), (4.0, 3.0), (6.5, 6.0)]
    timeline = exported(training(steps, gpus=2).to_html(tmp_path / "steps.html")).wait()
    bars = bars_of(timeline)
    bars.focus()
    timeline.page.keyboard.press("End")
    expect(bars).to_have_attribute(
        "aria-valuetext", "step 2, 6.50 ms, 1.63 times the median, busiest GPU 6.00 ms, 2.00 times the median"
    )
    # However much the device computed, it can be seen that the step was slow as well.
    outer, inner = (
        bars.locator("i")
        .nth(2)
        .locator("b, u")
        .evaluate_all("(parts) => parts.map((part) => part.clientHeight)")
    )
    assert 0 < inner < outer


@pytest.mark.thorough
def test_more_steps_than_room(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(2.0, 1.0 if step != 731 else 1.9) for step in range(1000)]
    timeline = exported(training(steps).to_html(tmp_path / "steps.html")).wait()
    bars = bars_of(timeline)
    assert bars.locator("i").count() < 500
    (place,) = marked(timeline, "data-busy")
    # The last bar is in the picture, and so are all others.
    edge, end = (
        box["x"] + box["width"] for box in (bars.bounding_box(), bars.locator("i").last.bounding_box()) if box
    )
    assert end <= edge
    bars.locator("i").nth(place).click()
    expect(timeline.title).to_have_text("Step 731")


@pytest.mark.thorough
def test_without_kernels_nothing_is_said_of_devices(exported: OpenExported, tmp_path: Path) -> None:
    trace = real_trace([DATA / "local_mlp_step1.pb"] * 3)
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    bars = bars_of(timeline)
    expect(bars.locator("i")).to_have_count(3)
    expect(bars.locator("u")).to_have_count(0)
    assert marked(timeline, "data-busy") == []
    bars.focus()
    timeline.page.keyboard.press("Home")
    expect(bars).to_have_attribute("aria-valuetext", "step 0, 10.4 ms, 1.00 times the median")


@pytest.mark.thorough
@pytest.mark.parametrize(("steps", "said"), [((-1, 0), "Whole run"), ((-1, 0, 1), "All 2 steps")])
def test_one_step_is_not_said_to_be_several(
    exported: OpenExported, tmp_path: Path, steps: tuple[int, ...], said: str
) -> None:
    count = len(steps)
    columns = {
        "step": steps,
        "start_ns": [MS * at for at in range(count)],
        "duration_ns": [MS] * count,
        "kind": ["op"] * count,
    }
    timeline = exported(Trace(events.build(columns)).to_html(tmp_path / "steps.html")).wait()
    chosen = timeline.host.get_by_role("combobox", name="Step", exact=True)
    expect(chosen.locator("option").first).to_have_text(said)
    expect(bars_of(timeline)).to_have_count(count - 2)
    assert "1 steps" not in timeline.host.inner_text()


@pytest.mark.thorough
@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_the_steps_with_twice_the_work_among_sixty(
    exported: OpenExported, shared: Path, tmp_path: Path
) -> None:
    trace = real_trace(shared / "h200" / "mlp_60steps.tar.xz")
    timeline = exported(trace.to_html(tmp_path / "steps.html")).wait()
    assert marked(timeline, "data-busy") == [13, 33, 53]


def test_backspace_returns_to_the_steps_left(exported: OpenExported, tmp_path: Path) -> None:
    steps = [(4.0, 1.0), (5.0, 1.0), (4.0, 1.0)]
    timeline = exported(training(steps).to_html(tmp_path / "steps.html")).wait()
    # Else the axis is read while it still zooms.
    timeline.page.emulate_media(reduced_motion="reduce")
    axis = timeline.host.get_by_role("img", name="Time axis")
    every = timeline.host.get_by_role("button", name="all 3")
    expect(every).to_have_count(0)
    timeline.lanes.focus()
    whole = axis.get_attribute("aria-label") or ""
    timeline.page.keyboard.press("w")
    expect(axis).not_to_have_attribute("aria-label", whole)
    closer = axis.get_attribute("aria-label") or ""
    bars_of(timeline).locator("i").nth(1).click()
    expect(every).to_be_visible()
    timeline.lanes.focus()
    timeline.page.keyboard.press("Backspace")
    expect(every).to_have_count(0)
    expect(axis).to_have_attribute("aria-label", closer)
    # Showing everything can be taken back as well.
    press_in_view_menu(timeline.root, "Fit")
    expect(axis).not_to_have_attribute("aria-label", closer)
    timeline.lanes.focus()
    timeline.page.keyboard.press("Backspace")
    expect(axis).to_have_attribute("aria-label", closer)
    timeline.page.keyboard.press("Shift+Backspace")
    expect(axis).not_to_have_attribute("aria-label", closer)
