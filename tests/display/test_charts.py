"""Charts: what they draw is what the analyses say, and nothing of a trace is more than text in them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bokeh.embed import json_item
from bokeh.models import BasicTickFormatter, ColumnDataSource, CustomJS, CustomJSTickFormatter, HoverTool
from bokeh.models.annotations import Span, Title
from bokeh.models.renderers import GlyphRenderer
from bokeh.plotting import figure

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.core.palette import COLOURS
from tfvis_nb.display.charts import CannotSayError, Charts
from tfvis_nb.display.charts.bandwidth import PARTS as BANDWIDTH_PARTS
from tfvis_nb.display.charts.breakdown import MOST_STEPS
from tfvis_nb.display.charts.figure import chart_item
from tfvis_nb.display.charts.log_ticks import byte_marks, time_marks
from tfvis_nb.display.charts.ops import MAX_BARS
from tfvis_nb.display.charts.style import ROWS, TIME, shown
from tfvis_nb.display.charts.time_axis import MOST_POINTS
from tfvis_nb.display.tabs import TABS, tab


def _source(made: figure) -> ColumnDataSource:
    return _sources(made)[0]


def _sources(made: figure) -> list[ColumnDataSource]:
    drawn = [renderer.data_source for renderer in made.renderers if isinstance(renderer, GlyphRenderer)]
    return [source for source in drawn if isinstance(source, ColumnDataSource)]


def _lines(made: figure) -> list[np.ndarray]:
    """The lines of bandwidth: where they change (ms), and to what (GB/s)."""
    (time,) = made.tags
    rate = {"GB/s": 1.0, "MB/s": 1e-3, "kB/s": 1e-6, "B/s": 1e-9}[_title(made).split("(")[1].split(",")[0]]
    return [
        np.array([np.asarray(source.data["time"]) * time / 1e6, np.asarray(source.data["rate"]) * rate])
        for source in _sources(made)
    ]


def _title(made: figure) -> str:
    assert isinstance(made.title, Title)
    return str(made.title.text)


def _writes_plain_numbers(made: figure) -> bool:
    (axis,) = made.xaxis
    return isinstance(axis.formatter, BasicTickFormatter) and axis.formatter.use_scientific is False


def _steps(count: int) -> tv.Trace:
    columns = {
        "step": np.arange(count),
        "start_ns": np.arange(count) * 10_000_000,
        "duration_ns": np.full(count, 2_000_000) + np.arange(count) * 1000,
        "kind": ["op"] * count,
        "op": ["MatMul"] * count,
        "device": ["/device:CPU:0"] * count,
    }
    return tv.Trace(events.build(columns))


def test_breakdown_bars_are_the_parts_of_each_step() -> None:
    trace = _steps(5)
    data = _source(trace.charts.breakdown()).data
    whole = trace.breakdown[trace.breakdown["device"].astype(str) == ""]
    for part in PARTS:
        drawn = np.asarray(data.get(part.removesuffix("_ns"), np.zeros(5)))
        assert np.allclose(drawn, whole[part].fillna(0).to_numpy(np.float64) / 1e6)
    assert list(data["step"]) == [0, 1, 2, 3, 4]
    assert np.allclose(data["start_ms"], [0, 10, 20, 30, 40])


def test_bars_of_many_steps_are_means_that_stand_for_all() -> None:
    trace = _steps(3 * MOST_STEPS + 7)
    data = _source(trace.charts.breakdown()).data
    assert len(data["step"]) <= MOST_STEPS
    assert data["row"][0] == "steps 0 to 3, mean"
    assert np.allclose(data["host_compute"][0], (2_000_000 + 1500) / 1e6)
    assert data["row"][-1].startswith("step")


def test_utilisation_is_busy_time_of_all_steps_together() -> None:
    trace = _steps(4)
    table = trace.utilisation
    busy = 100 * table["busy_ns"].sum() / table["step_ns"].sum()
    assert _source(trace.charts.utilisation()).data["busy"][0] == pytest.approx(busy)


def test_op_types_add_up_and_the_rest_shares_one_bar() -> None:
    count = 30
    columns = {
        "start_ns": np.arange(count) * 100,
        "duration_ns": np.arange(1, count + 1) * 1000,
        "lane": [f"thread {number}" for number in range(count)],
        "kind": ["op"] * count,
        "op": [f"Op{number}" for number in range(count)],
        "device": ["/device:CPU:0"] * count,
    }
    data = _source(tv.Trace(events.build(columns)).charts.top_ops()).data
    assert data["row"][0] == "Op29"
    assert data["row"][-1] == "12 others"
    assert float(np.sum(data["self"])) == pytest.approx(sum(range(1, count + 1)))
    assert int(np.sum(data["count"])) == count


@pytest.mark.parametrize("name", ["gpu_tf218_function.xplane.pb.xz", "gpu_tf221_mixed.pb.xz"])
def test_the_chart_of_op_types_has_the_rows_of_the_table(name: str) -> None:
    trace = tv.read_trace(DATA / name)
    data = _source(trace.charts.top_ops()).data
    table = next(block for block in tab(trace, "Ops")["blocks"] if block["title"] == "By op type")
    heads = [column["name"] for column in table["columns"]]
    most = min(MAX_BARS, len(table["rows"]))
    rows = [dict(zip(heads, row, strict=True)) for row in table["rows"][:most]]
    assert list(data["name"])[:most] == [row["op"] for row in rows]
    assert list(data["self"])[:most] == pytest.approx([row["self_ns"] / 1e6 for row in rows])
    assert len(set(data["row"])) == len(data["row"])


def test_what_lies_within_another_is_not_counted_twice() -> None:
    columns = {"start_ns": [0, 1], "duration_ns": [10_000_000, 9_000_000], "lane": ["python3"] * 2}
    table = events.build({**columns, "op": ["Outer", "Inner"], "kind": ["host"] * 2})
    data = _source(tv.Trace(table).charts.top_ops()).data
    assert dict(zip(data["name"], data["self"], strict=True)) == {"Inner": 9.0, "Outer": 1.0}


def test_tasks_that_are_called_the_same_have_bars_of_their_own() -> None:
    columns = {"start_ns": [0, 5], "duration_ns": [3, 3], "kind": ["op"] * 2, "op": ["MatMul"] * 2}
    trace = tv.Trace(events.build({**columns, "task": ["one", "two"], "device": ["/device:CPU:0"] * 2}))
    for made in (trace.charts.breakdown(), trace.charts.utilisation()):
        rows = list(_source(made).data["row"])
        assert len(rows) == len(set(rows)) == 2


def test_what_is_drawn_says_what_its_colour_stands_for() -> None:
    trace = tv.read_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    steps = trace.charts.steps()
    (span,) = list(steps.select(type=Span))
    assert span.tags == ["colour:d2h"]
    bars: Any
    (bars,) = list(steps.select(type=GlyphRenderer))
    assert bars.glyph.tags == ["colour:launch"]
    parts: list[Any] = list(trace.charts.breakdown().select(type=GlyphRenderer))
    colours = {part.glyph.tags[0]: part.glyph.fill_color for part in parts}
    assert colours["colour:device_compute"] == COLOURS["kernel"]
    assert all(part.nonselection_glyph.tags == part.glyph.tags for part in parts)
    rows = _source(trace.charts.top_ops()).data
    assert list(rows["colour"]) == [COLOURS[str(name)] for name in rows["colour_name"]]


@pytest.mark.parametrize(
    ("scale", "unit"), [(1, "ns"), (1000, "\N{MICRO SIGN}s"), (1_000_000, "ms"), (1_000_000_000, "s")]
)
def test_units_are_those_of_the_range(scale: int, unit: str) -> None:
    columns = {
        "step": [0, 1],
        "start_ns": [0, 5 * scale],
        "duration_ns": [3 * scale, 4 * scale],
        "kind": ["op", "memcpy"],
        "op": ["MatMul", "MemcpyH2D"],
        "bytes": [0, 5000],
        "device": ["/device:CPU:0", "/device:GPU:0"],
    }
    charts = tv.Trace(events.build(columns)).charts
    for name, column in (("top_ops", "self"), ("steps", "took"), ("breakdown", "host_compute")):
        made = getattr(charts, name)()
        assert f"({unit})" in _title(made)
        assert 1 <= float(np.max(_source(made).data[column])) < 1000
    moved = charts.bandwidth()
    assert moved.tags == [scale]
    assert moved.xaxis.axis_label == f"{unit} since the first event"
    assert float(np.max(_source(moved).data["time"])) == pytest.approx(9, abs=0.05)


@pytest.mark.parametrize(
    "spread",
    [(4, 4), (1, 1), (1000, 1000), (1.1, 1.9), (3, 40), (2, 900), (0.4, 90_000), (0.001, 5e8)],
)
def test_a_logarithmic_axis_has_marks_on_both_sides_of_what_it_shows(spread: tuple[float, float]) -> None:
    for marks in (time_marks(*spread), byte_marks(max(spread[0], 1), spread[1])):
        places = [place for place, _ in marks]
        assert 2 <= len(places) <= 11
        assert places == sorted(set(places))
        assert places[0] <= max(spread[0], 1) or places[0] <= spread[0]
        assert places[-1] >= spread[1]
        assert len({name for _, name in marks}) == len(marks)
    sizes = {"ns": 1e-3, "\N{MICRO SIGN}s": 1, "ms": 1e3, "s": 1e6}
    for place, name in time_marks(*spread):
        number, unit = name.split()
        assert float(number) * sizes[unit] == pytest.approx(place)
        assert 1 <= float(number) < 1000 or unit in ("ns", "s")


def test_marks_of_transfers_are_where_they_are() -> None:
    made: Any = tv.read_trace(DATA / "gpu_tf221_mlp.pb.xz").charts.transfers()
    data = _source(made).data
    axis = made.xaxis[0]
    assert set(axis.ticker.ticks) == set(axis.major_label_overrides)
    assert min(axis.ticker.ticks) <= np.min(data["us"]) <= np.max(data["us"]) <= max(axis.ticker.ticks)
    assert (made.x_range.start, made.x_range.end) == (min(axis.ticker.ticks), max(axis.ticker.ticks))


def test_steps_and_where_a_tap_leads() -> None:
    made = _steps(3).charts.steps()
    source = _source(made)
    assert source.name == ROWS
    assert list(source.data["took"]) == pytest.approx([2.0, 2.001, 2.002])
    assert list(source.data["end_ms"]) == pytest.approx([2.0, 12.001, 22.002])


def test_memory_follows_the_timeline_and_keeps_its_peak() -> None:
    trace = tv.read_trace(DATA / "gpu_tf221_mlp.pb.xz")
    made = trace.charts.memory()
    assert made.name == TIME
    peak = trace.memory["bytes"].max() / 2**20
    assert "(MiB)" in _title(made)
    assert max(_source(made).data["size"]) == pytest.approx(peak)
    assert len(_source(made).data["time"]) <= MOST_POINTS + 1


@pytest.mark.parametrize("gap_ns", [10_000_000, 30_000_000_000])
def test_numbers_of_the_time_fit_a_step_and_are_no_powers_of_ten(gap_ns: int) -> None:
    columns: dict[str, Any] = {
        "start_ns": np.arange(60) * gap_ns,
        "duration_ns": np.full(60, 3_000_000),
        "step": np.arange(60),
        "kind": ["memcpy"] * 60,
        "op": ["MemcpyH2D"] * 60,
        "bytes": [4096] * 60,
    }
    made = tv.Trace(events.build(columns)).charts.bandwidth()
    unit = "ms" if gap_ns < 10**9 else "s"
    assert made.xaxis.axis_label == f"{unit} since the first event"
    assert _writes_plain_numbers(made)


def test_memory_that_is_never_freed_lasts_to_the_end_of_its_step() -> None:
    columns = {"start_ns": [1000, 9000], "duration_ns": [5000, 1000], "step": [0, 1], "kind": ["op"] * 2}
    records = [{"micros": 2, "bytes": 64}]
    nested = pa.table({"memory": [[{"allocator": "cpu", "records": records}], None]})
    made = tv.Trace(events.build(columns), nested=nested).charts.memory()
    assert _writes_plain_numbers(made)
    time, size = (list(_source(made).data[name]) for name in ("time", "size"))
    assert time == [1.0, 5.0]
    assert size == [64, 64]


def test_transfers_have_their_sizes() -> None:
    trace = tv.read_trace(DATA / "gpu_tf221_mlp.pb.xz")
    made = trace.charts.transfers()
    sizes = sorted(size for source in _sources(made) for size in source.data["bytes"])
    known = trace.transfers
    known = known[(known["bytes"].fillna(0) > 0) & (known["transfer_ns"].fillna(0) > 0)]
    assert sizes == sorted(known["bytes"].tolist())


def _copies(count: int, gap: int) -> tv.Trace:
    """Copies of 4000 bytes, of 1000 ns each, by turns to and from the device."""
    columns: dict[str, Any] = {
        "start_ns": 5000 + np.arange(count) * (1000 + gap),
        "duration_ns": np.full(count, 1000),
        "kind": ["memcpy"] * count,
        "op": ["MemcpyH2D", "MemcpyD2H"] * (count // 2),
        "bytes": [4000] * count,
    }
    return tv.Trace(events.build(columns))


def test_bandwidth_follows_the_timeline_and_is_nothing_where_nothing_moves() -> None:
    # Parts of 1 us, of which every second one is half empty.
    trace = _copies(BANDWIDTH_PARTS, 0)
    trace = tv.Trace(trace.events.assign(duration_ns=np.tile([500, 1000], BANDWIDTH_PARTS // 2)))
    made = trace.charts.bandwidth()
    assert made.name == TIME
    assert _title(made) == "Bandwidth over time (GB/s, means over 1.00 \N{MICRO SIGN}s)"
    to_host, to_device = _lines(made)
    assert to_device[:, :3] == pytest.approx(np.array([[0, 0.001, 0.002], [4, 0, 4]]))
    assert to_host[:, :3] == pytest.approx(np.array([[0.001, 0.002, 0.003], [4, 0, 4]]))


def test_bandwidth_of_many_copies_is_drawn_in_parts_and_moves_as_much() -> None:
    count = 20 * BANDWIDTH_PARTS
    moved = 0.0
    for ms, rate in _lines(_copies(count, 500).charts.bandwidth()):
        assert len(ms) <= BANDWIDTH_PARTS + 1
        moved += float(np.sum(rate[:-1] * np.diff(ms))) * 1e6
    assert moved == pytest.approx(4000 * count)


def test_bandwidth_that_stays_the_same_is_one_line() -> None:
    columns = {"start_ns": [0, 50], "duration_ns": [100, 50], "kind": ["memcpy"] * 2, "bytes": [200, 50]}
    columns["op"] = ["MemcpyH2D"] * 2
    (line,) = _lines(tv.Trace(events.build(columns)).charts.bandwidth())
    assert line == pytest.approx(np.array([[0, 5e-5, 1e-4], [2, 3, 0]]))


def test_bandwidth_of_a_real_trace_moves_what_its_transfers_do() -> None:
    trace = tv.read_trace(DATA / "gpu_tf221_mlp.pb.xz")
    known = trace.transfers
    known = known[(known["transfer_ns"].fillna(0) > 0) & known["bytes"].notna()]
    moved = 0.0
    for ms, rate in _lines(trace.charts.bandwidth()):
        moved += float(np.sum(rate[:-1] * np.diff(ms))) * 1e6
    assert moved == pytest.approx(int(known["bytes"].sum()))


def test_bandwidth_cannot_be_said_where_nothing_moved_or_no_size_is_recorded() -> None:
    columns: dict[str, Any] = {"start_ns": [0], "duration_ns": [1], "op": ["MemcpyH2D"]}
    nothing = tv.Trace(events.build({**columns, "kind": ["op"]}))
    assert nothing.charts.why_not("bandwidth").id == "no_transfers"
    without = tv.Trace(events.build({**columns, "kind": ["memcpy"]}))
    assert without.charts.why_not("bandwidth").id == "no_transfer_rates"
    with pytest.raises(CannotSayError, match="no transfer or copy has both"):
        without.charts.bandwidth()


def test_what_cannot_be_said_is_said_in_words() -> None:
    trace = tv.Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))
    assert trace.charts.why_not("memory").id == "no_allocations"
    with pytest.raises(CannotSayError, match="not available: the trace has no allocation records"):
        trace.charts.memory()
    with pytest.raises(CannotSayError, match="only one step"):
        trace.charts.steps()
    empty = tv.Trace(events.build({}, rows=0))
    assert all(empty.charts.why_not(name).id == "no_events" for name in Charts.NAMES)
    with raises_id(ValueError, "no_such_chart", name="memry"):
        trace.charts.why_not("memry")


def test_no_chart_is_made_empty_of_what_lasts_no_time(caplog: pytest.LogCaptureFixture) -> None:
    columns = {"start_ns": [0], "duration_ns": [0], "kind": ["op"], "device": ["/device:CPU:0"]}
    trace = tv.Trace(events.build(columns))
    for chart in ("breakdown", "utilisation"):
        assert trace.charts.why_not(chart).id == "no_step_length"
    for name in TABS:
        tab(trace, name)
    assert "MISSING_RENDERERS" not in caplog.text


@pytest.mark.parametrize("name", ["$$a$$", "\\(x\\)", "\\[y\\]", "$$$$$$"])
def test_no_text_of_a_trace_is_taken_for_a_formula(name: str) -> None:
    # BokehJS would fetch MathJax for it.
    text = shown(name)
    assert "$$" not in text
    assert "\\(" not in text
    assert "\\[" not in text


def marked_trace(mark: str) -> tv.Trace:
    """A trace of which every chart can be made, and whose every text has a mark."""
    text = f"{mark}<img src=x>@{{name}}$index{{safe}}"
    count = 8
    kinds = ["op", "kernel", "memcpy", "memcpy", "transfer", "transfer", "op", "op"]
    ops = [f"{text}{number}" for number in range(count)]
    columns: dict[str, Any] = {
        "start_ns": np.arange(count) * 9000,
        "duration_ns": [8000] * count,
        "step": [0] * 4 + [1] * 4,
        "kind": kinds,
        "op": ops,
        "bytes": [4096] * count,
        "task": [f"{text}{number % 2}" for number in range(count)],
        "device": [f"{text}/device:GPU:{number % 2}" for number in range(count)],
    }
    columns |= dict.fromkeys(("name", "lane", "tensor", "detail", "source", "destination"), ops)
    records = [{"micros": 1, "bytes": 64}, {"micros": 5, "bytes": -64}]
    uses = [[{"allocator": f"{text}{number}", "records": records}] for number in range(count)]
    labels = {0: text, 1: text}
    return tv.Trace(events.build(columns), nested=pa.table({"memory": uses}), step_labels=labels, title=text)


TEXTS = {"data", "factors", "title", "label", "name"}
"""Properties of Bokeh's models that it draws as text, or looks things up by. No template is one of them."""


def templates(value: Any) -> list[str]:
    """Every text of a figure but those of `TEXTS`."""
    if isinstance(value, dict):
        return [text for name, part in value.items() if name not in TEXTS for text in templates(part)]
    if isinstance(value, list):
        return [text for part in value for text in templates(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("name", Charts.NAMES)
def test_no_text_of_a_trace_is_in_a_template(name: str) -> None:
    # Bokeh takes what a tooltip is made of as HTML; what a column holds it escapes, unless told otherwise.
    trace = marked_trace("HOSTILE")
    assert trace.charts.why_not(name) == ""
    made = getattr(trace.charts, name)()
    written = json_item(made)
    # A bar of one task says the step alone.
    assert "HOSTILE" in json.dumps(written) or name == "breakdown"
    assert not [text for text in templates(written) if "HOSTILE" in text or "{safe}" in text]
    for tool in made.select({"type": HoverTool}):
        assert all("HOSTILE" not in part for row in tool.tooltips for part in row)
    for label in made.select({"type": Title}):
        assert "HOSTILE" not in str(label.text)


def test_lines_of_one_name_have_legends_of_their_own() -> None:
    columns = {"start_ns": [1000] * 2, "duration_ns": [9000] * 2, "kind": ["op"] * 2}
    # The names of these tasks are shortened to the same.
    columns |= {"task": ["/job:w/task:0", "/job:w/replica:0/task:0"]}
    records = [{"micros": 2, "bytes": 64}, {"micros": 5, "bytes": -64}]
    nested = pa.table({"memory": [[{"allocator": "cpu", "records": records}]] * 2})
    block = tab(tv.Trace(events.build(columns), nested=nested), "Memory")["blocks"][0]
    labels = [entry["label"] for entry in block["legend"]]
    assert len(labels) == len(set(labels)) == 2


def test_ops_that_begin_alike_have_legends_of_their_own() -> None:
    ops = ["Memcpy" + "x" * 60 + end for end in "ab"]
    columns = {"start_ns": [0, 9000], "duration_ns": [5000] * 2, "kind": ["memcpy"] * 2, "op": ops}
    trace = tv.Trace(events.build(columns | {"bytes": [4096] * 2}))
    for block in tab(trace, "Transfers")["blocks"]:
        labels = [entry["label"] for entry in block.get("legend", [])]
        assert len(labels) == len(set(labels))


def test_no_chart_needs_eval() -> None:
    trace = tv.read_trace(DATA / "gpu_tf221_mlp.pb.xz")
    for name in Charts.NAMES:
        if trace.charts.why_not(name):
            continue
        made = getattr(trace.charts, name)()
        assert not list(made.select({"type": CustomJS}))
        assert not list(made.select({"type": CustomJSTickFormatter}))
        assert "CustomJS" not in json.dumps(json_item(made))


@pytest.mark.parametrize("name", Charts.NAMES)
def test_a_dashboard_gets_what_bokeh_writes_of_a_chart(name: str) -> None:
    made = getattr(marked_trace("a").charts, name)()
    item = chart_item(made)
    assert item == json_item(made)
    assert len(item["doc"]["roots"][0]["attributes"]["renderers"]) == len(made.renderers)
