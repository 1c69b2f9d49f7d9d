import base64
import html
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest

from tests.hostile_names import HOSTILE, hostile_trace
from tests.real_traces import each, real_trace, step_stats_files
from tests.support.coded_trace import coded
from tfvis_nb import Trace, events, show_dashboard
from tfvis_nb.analysis.findings.table import FindingsTable
from tfvis_nb.core.format import format_percent, unbroken
from tfvis_nb.core.labels import one_line, printable
from tfvis_nb.core.palette import COLOURS
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.display.pages.static_html import overview_html, static_html
from tfvis_nb.display.pictures.still import picture
from tfvis_nb.texts import Text

SVG = "{http://www.w3.org/2000/svg}"
KEPT = {"p", "b", "i", "img", "table", "thead", "tbody", "tr", "th", "td"}


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Elements()
    parser.feed(text)
    return parser.found


def svg_of(text: str) -> ET.Element:
    (source,) = [attributes["src"] for tag, attributes in elements(text) if tag == "img"]
    assert source is not None
    kind, _, data = source.partition(",")
    assert kind == "data:image/svg+xml;base64"
    return ET.fromstring(base64.b64decode(data))


@pytest.mark.parametrize("path", each(step_stats_files()))
def test_it_is_small_and_plain(path: Path) -> None:
    trace = real_trace(path)
    text = static_html(trace)
    assert len(text.encode()) < 20_000
    assert {tag for tag, _ in elements(text)} <= KEPT
    assert one_line(trace) in text.replace("&amp;", "&")
    labels = [node.text for node in svg_of(text).iter(f"{SVG}text")]
    assert len(labels) == min(len(trace.lanes), 24) + 1


def test_hostile_texts_stay_texts() -> None:
    trace = hostile_trace()
    text = static_html(trace)
    assert len(text.encode()) < 20_000
    assert {tag for tag, _ in elements(text)} <= KEPT
    assert {name for _, attributes in elements(text) for name in attributes} <= {"alt", "src", "align"}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\u2028]", text)
    svg = svg_of(text)
    assert {node.tag for node in svg.iter()} <= {f"{SVG}svg", f"{SVG}rect", f"{SVG}path", f"{SVG}text"}
    assert {name for node in svg.iter() for name in node.attrib} <= {
        *("width", "height", "viewBox", "font-family", "font-size", "fill", "x", "y", "d")
    }


def activity(trace: Trace) -> dict[str, list[tuple[float, float, int]]]:
    """Per colour the runs drawn, as left and right end in parts of the whole and height in pixels."""
    runs = {}
    for path in ET.fromstring(picture(trace)).iter(f"{SVG}path"):
        found = re.findall(r"M([\d.]+) \d+v-(\d+)h([\d.]+)v", path.attrib["d"])
        runs[path.attrib["fill"]] = [
            ((float(x) - 200) / 560, (float(x) - 200 + float(w)) / 560, int(h)) for x, h, w in found
        ]
    return runs


def test_the_picture_shows_when_a_lane_was_busy() -> None:
    table = events.build(
        {
            "start_ns": [0, 500, 900],
            "duration_ns": [250, 250, 100],
            "kind": ["op", "kernel", "op"],
            "lane": ["ops", "stream:1", "ops"],
        }
    )
    runs = activity(Trace(table))
    ops, kernels = runs[COLOURS["host_compute"]], runs[COLOURS["device_compute"]]
    assert [(left, right) for left, right, _ in kernels if right - left > 0.01] == [
        pytest.approx((0.5, 0.75))
    ]
    full = [(left, right) for left, right, _ in ops if right - left > 0.01]
    assert full == [pytest.approx((0, 0.25)), pytest.approx((0.9, 1))]


def test_a_single_nanosecond_in_a_second_is_seen() -> None:
    table = events.build(
        {
            "start_ns": [0, 500_000_000, 999_999_999],
            "duration_ns": [1, 0, 1],
            "kind": ["op", "kernel", "op"],
            "lane": ["ops", "stream:1", "ops"],
        }
    )
    runs = activity(Trace(table))
    assert len(runs[COLOURS["host_compute"]]) == 2
    assert [left for left, _, _ in runs[COLOURS["device_compute"]]] == [pytest.approx(0.5)]


def test_busier_is_higher_and_many_at_once_are_full() -> None:
    table = events.build(
        {
            "start_ns": [*range(0, 1000, 10), *[2000] * 5],
            "duration_ns": [5] * 100 + [1000] * 5,
            "kind": ["op"] * 105,
            "lane": ["ops"] * 105,
        }
    )
    runs = activity(Trace(table))[COLOURS["host_compute"]]
    heights = {high for _, _, high in runs}
    wide = [high for left, right, high in runs if left >= 0.66 and right - left > 0.1]
    assert wide == [max(heights)] == [13]


def test_bars_are_as_high_as_their_busy_share() -> None:
    starts = np.repeat(np.arange(0, 1_000_000, 100), 2)
    table = events.build(
        {
            "start_ns": starts,
            "duration_ns": np.tile([12, 10], 10_000),
            "kind": ["op"] * 20_000,
            "lane": ["ops"] * 20_000,
        }
    )
    assert {high for _, _, high in activity(Trace(table))[COLOURS["host_compute"]]} <= {1, 2}


def test_the_table_has_the_longest_ops_first() -> None:
    table = events.build(
        {
            "start_ns": range(12),
            "duration_ns": [10**i for i in range(12)],
            "kind": ["op"] * 12,
            "op": [f"Op{i}" for i in range(12)],
        }
    )
    cells = re.findall(
        r"<td>(Op\d+)</td><td>op</td><td align=\"right\">([^<]*)</td>", static_html(Trace(table))
    )
    assert cells == [(f"Op{i}", "1") for i in range(11, 1, -1)]
    assert "(2 more)" in static_html(Trace(table))


def test_many_lanes_are_cut_with_a_word() -> None:
    table = events.build(
        {
            "start_ns": range(30),
            "duration_ns": [1] * 30,
            "kind": ["op"] * 30,
            "lane": [f"l{i}" for i in range(30)],
        }
    )
    assert "6 more lanes are not drawn" in picture(Trace(table))


def test_an_empty_trace_and_its_notes() -> None:
    text = static_html(Trace(events.build({}, rows=0), notes=["nothing was <recorded>", "a", "b"], title="t"))
    assert "t: 0 events" in text
    assert "nothing was &lt;recorded&gt; <i>(2 more)</i>" in text
    assert "<img" not in text
    ET.fromstring(picture(Trace(events.build({}, rows=0))))


@pytest.mark.slow
def test_a_dashboard_tells_its_findings_where_nothing_runs(data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_mixed.pb.xz")
    (view, _), page = show_dashboard(trace)._repr_mimebundle_(), show_dashboard(trace).to_html()
    assert len(trace.findings)
    for text in (view["text/html"], page.split("<noscript>")[1].split("</noscript>")[0]):
        for row in trace.findings.to_dict("records"):
            assert html.escape(printable(row["title"], 600)) in text
            assert html.escape(unbroken(printable(row["text"], 600))) in text
            share = unbroken(format_percent(row["share"]))
            assert f"({row['level']}, {share} of step time)" in text
        assert text.index("<img") < text.index("Step time") < text.index("<th>op</th>")
        assert {tag for tag, _ in elements(text)} <= KEPT
    assert html.escape(trace.overview["headline"]) in static_html(trace)


def test_findings_of_hostile_names_stay_texts() -> None:
    trace = hostile_trace()
    words = {name: list(HOSTILE) for name in ("title", "text", "advice")}
    words |= {"level": ["problem"] * len(HOSTILE), "kind": ["retracing"] * len(HOSTILE)}
    figures = [{"share": 0.5, "functions": 1, "name": name} for name in HOSTILE]
    trace.findings = FindingsTable({**words, "share": [0.5] * len(HOSTILE), "figures": figures})
    text = overview_html(trace)
    assert {tag for tag, _ in elements(text)} <= KEPT
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\u2028]", text)
    assert len(text) < 30_000
    assert all(html.escape(printable(name, 600)) in text for name in HOSTILE)


def test_no_findings_and_none_that_can_be_told() -> None:
    short = Trace(events.build({"start_ns": [5], "duration_ns": [2], "kind": ["host"], "op": ["MatMul"]}))
    assert "No dominant bottleneck" in overview_html(short)
    assert html.escape(Text("no_steps")) in overview_html(Trace(events.build({}, rows=0)))


def test_a_trace_shows_its_title_and_size() -> None:
    table = events.build(
        {"start_ns": [5, 6], "duration_ns": [2000, 1], "kind": ["op"] * 2, "task": ["a", "b"]}
    )
    trace = Trace(table, title="two\nlines")
    assert repr(trace) == "<Trace two lines: 2 events, 2 tasks, 1 device, 1 step, 2.00 \u00b5s>"
    assert trace._repr_html_() == static_html(trace)


def test_the_lines_of_code_with_the_most_time_are_listed() -> None:
    trace = coded()
    rows = re.findall(r"<tr>(.*?)</tr>", static_html(trace))
    (line,) = [row for row in rows if "Cell [7]:2" in row]
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", line)]
    assert cells == ["Cell [7]:2", "y = f(weights)", "30 ns", "8 ns"]
    assert static_html(Trace(trace.events)).count("<table>") == static_html(trace).count("<table>") - 1


def test_hostile_code_is_shown_literally() -> None:
    builder = StackBuilder()
    stacks = [builder.stack([Frame(text, 1, text, text)]) for text in HOSTILE]
    for text in HOSTILE:
        builder.file(text, text)
    nested = pa.table({"stack": pa.array(stacks, pa.int32())})
    text = static_html(Trace(hostile_trace().events, nested=nested, stacks=builder.table()))
    assert {tag for tag, _ in elements(text)} <= KEPT
    assert len(text.encode()) < 20_000
