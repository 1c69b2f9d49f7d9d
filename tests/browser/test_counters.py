"""Counters as tracks below the lanes of their device, their figures in a range, and recorded arrows."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, expect

import tfvis_nb as tv
from tests.browser.clicked import DRAWN
from tests.browser.timeline import OpenExported, Timeline
from tfvis_nb import Trace, events
from tfvis_nb.analysis import counter_statistics
from tfvis_nb.core.counters import build

# Every arrow is a curve.
COUNT_CURVES = """() => {
    window.curves = 0;
    const { bezierCurveTo } = Path2D.prototype;
    Path2D.prototype.bezierCurveTo = function (...points) {
        window.curves++;
        bezierCurveTo.apply(this, points);
    };
}"""


def name(what: str, text: str, pid: int) -> dict[str, Any]:
    return {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": 1, "args": {"name": text}}


@pytest.fixture(scope="module")
def trace() -> Trace:
    bars = [
        {"ph": "X", "name": f"{kind}{number}", "ts": number * 10, "dur": 8, "pid": pid, "tid": 1}
        for pid, kind in ((1, "call"), (2, "work"))
        for number in range(9)
    ]
    arrow = [
        {"ph": phase, "cat": "a", "name": "n", "id": 1, "ts": ts, "pid": pid, "tid": 1, "bp": "e"}
        for phase, ts, pid in (("s", 3, 1), ("f", 12, 2))
    ]
    values = [
        {"ph": "C", "name": "queue", "ts": ts, "pid": 2, "args": {"size": size, "<b>": -size}}
        for ts, size in ((0, 4), (15, 0), (40, 12))
    ]
    named = [name("process", "host", 1), name("process", "device", 2)]
    heap = {"ph": "C", "name": "heap", "ts": 5, "pid": 1, "args": {"bytes": 2**20}}
    return tv.read_trace(json.dumps([*named, *bars, *arrow, *values, heap]).encode())


@pytest.fixture
def timeline(exported: OpenExported, trace: Trace, tmp_path: Path) -> Timeline:
    start = int(trace.events["start_ns"].iloc[0])
    selection = (start + 10_000, start + 50_000)
    return exported(Path(trace.to_html(tmp_path / "page.html", selection=selection))).wait()


def counter(timeline: Timeline, text: str) -> Locator:
    return timeline.host.get_by_role("group", name=f"Counter {text}")


def test_a_label_says_name_and_extremes(timeline: Timeline) -> None:
    expect(counter(timeline, "queue size, 0 to 12")).to_contain_text("max 12")
    expect(counter(timeline, "queue <b>, \u221212 to 0")).to_be_visible()
    expect(counter(timeline, "heap bytes, 1.00 MiB to 1.00 MiB")).to_be_visible()


def test_the_value_at_the_cursor(timeline: Timeline, trace: Trace) -> None:
    event = int(trace.events.index[trace.events["name"] == "work2"][0])
    timeline.page.mouse.move(*timeline.place(event))
    expect(counter(timeline, "queue size")).to_contain_text("0 of max 12")


def test_a_range_has_the_figures_of_python(timeline: Timeline, trace: Trace) -> None:
    start = int(trace.events["start_ns"].iloc[0])
    found = counter_statistics(trace, (start + 10_000, start + 50_000))
    bodies = timeline.details.locator("table.counters tbody")
    expect(bodies).to_have_count(len(found))
    columns = bodies.first.locator("td").evaluate_all("cells => cells.map(cell => cell.clientWidth)")
    assert columns == pytest.approx([columns[0]] * 3, abs=8)
    own = bodies.filter(has_text="queue size").get_by_role("cell").all_inner_texts()
    queue = found.loc[found["series"] == "size", ["least", "mean", "most"]].to_numpy()[0].tolist()
    assert [float(value) for value in own] == pytest.approx(queue)


def test_a_counter_hides_like_a_lane(timeline: Timeline) -> None:
    label = counter(timeline, "queue size")
    label.hover()
    label.get_by_role("button", name="Hide queue size").click()
    expect(label).to_have_count(0)
    expect(counter(timeline, "queue <b>")).to_be_visible()


def test_a_recorded_arrow_leads_to_its_bar(timeline: Timeline) -> None:
    timeline.find("name:call0")
    timeline.link("Arrows to", "work1").click()
    expect(timeline.title).to_have_text("work1")


def test_a_range_shows_its_arrows_on_request(timeline: Timeline) -> None:
    page = timeline.page
    page.evaluate(COUNT_CURVES)
    button = timeline.details.get_by_role("button", name="Arrows", exact=True)
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.wait_for_function("curves > 0")
    button.click()
    page.evaluate(DRAWN)
    page.evaluate("curves = 0")
    timeline.lanes.press("w")
    page.evaluate(DRAWN)
    assert page.evaluate("curves") == 0


@pytest.mark.thorough
def test_hidden_rows_are_counted(exported: OpenExported, tmp_path: Path) -> None:
    series, times = np.divmod(np.arange(102 * 10_100), 10_100)
    where = pd.DataFrame({"task": "", "device": "d", "counter": "queue", "series": series.astype(str)})
    counters = build({**where, "time_ns": times, "value": times % 7})
    table = events.build({"start_ns": [0], "duration_ns": [10_000], "device": ["d"], "kind": ["op"]})
    trace = Trace(table, recorded_counters=counters)
    timeline = exported(Path(trace.to_html(tmp_path / "page.html"))).wait()
    timeline.page.mouse.move(*timeline.place(0))
    expect(counter(timeline, "queue 0, 0 to 6")).to_contain_text("\u2248")
    timeline.page.mouse.wheel(0, 100_000)
    expect(timeline.host.get_by_role("group", name="2 more counters")).to_be_visible()
