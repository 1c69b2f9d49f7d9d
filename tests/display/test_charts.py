"""Charts: they draw the results of analyses, and explain what cannot be drawn."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bokeh.models.annotations import LabelSet, Span
from bokeh.models.renderers import GlyphRenderer

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.drawn_charts import chart_title, drawn_source, drawn_sources, writes_plain_numbers
from tests.support.texts import pattern_of, raises_id
from tfvis_nb import events
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.core.palette import COLOURS
from tfvis_nb.display.charts import CannotSayError, Charts
from tfvis_nb.display.charts.breakdown import MOST_STEPS
from tfvis_nb.display.charts.ops import MAX_BARS
from tfvis_nb.display.charts.style import ROWS, TIME
from tfvis_nb.display.charts.time_axis import MOST_POINTS
from tfvis_nb.display.tabs import parts, tab


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
    data = drawn_source(trace.charts.breakdown()).data
    whole = trace.breakdown[trace.breakdown["device"].astype(str) == ""]
    for part in PARTS:
        drawn = np.asarray(data.get(part.removesuffix("_ns"), np.zeros(5)))
        assert np.allclose(drawn, whole[part].fillna(0).to_numpy(np.float64) / 1e6)
    assert list(data["step"]) == [0, 1, 2, 3, 4]
    assert np.allclose(data["start_ms"], [0, 10, 20, 30, 40])


def test_bars_of_many_steps_are_means_that_stand_for_all() -> None:
    trace = _steps(3 * MOST_STEPS + 7)
    data = drawn_source(trace.charts.breakdown()).data
    assert len(data["step"]) <= MOST_STEPS
    assert data["row"][0] == "steps 0 to 3, mean"
    assert np.allclose(data["host_compute"][0], (2_000_000 + 1500) / 1e6)
    assert data["row"][-1].startswith("step")


def test_utilization_is_busy_time_of_all_steps_together() -> None:
    trace = _steps(4)
    table = trace.utilization
    busy = 100 * table["busy_ns"].sum() / table["step_ns"].sum()
    assert drawn_source(trace.charts.utilization()).data["busy"][0] == pytest.approx(busy)


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
    data = drawn_source(tv.Trace(events.build(columns)).charts.top_ops()).data
    assert data["row"][0] == "Op29"
    assert data["row"][-1] == "12 others"
    assert float(np.sum(data["self"])) == pytest.approx(sum(range(1, count + 1)))
    assert int(np.sum(data["count"])) == count


@pytest.mark.parametrize("name", ["gpu_tf218_function.xplane.pb.xz", "gpu_tf221_mixed.pb.xz"])
def test_the_chart_of_op_types_has_the_rows_of_the_table(name: str) -> None:
    trace = real_trace(DATA / name)
    data = drawn_source(trace.charts.top_ops()).data
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
    data = drawn_source(tv.Trace(table).charts.top_ops()).data
    assert dict(zip(data["name"], data["self"], strict=True)) == {"Inner": 9.0, "Outer": 1.0}


def test_tasks_that_are_called_the_same_have_bars_of_their_own() -> None:
    columns = {"start_ns": [0, 5], "duration_ns": [3, 3], "kind": ["op"] * 2, "op": ["MatMul"] * 2}
    trace = tv.Trace(events.build({**columns, "task": ["one", "two"], "device": ["/device:CPU:0"] * 2}))
    for made in (trace.charts.breakdown(), trace.charts.utilization()):
        rows = list(drawn_source(made).data["row"])
        assert len(rows) == len(set(rows)) == 2


def test_legends_name_each_drawn_colour() -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    steps = trace.charts.steps()
    (span,) = list(steps.select(type=Span))
    assert span.tags == ["colour:d2h"]
    bars: Any
    (bars,) = list(steps.select(type=GlyphRenderer))
    assert bars.glyph.tags == ["colour:runtime"]
    parts: list[Any] = list(trace.charts.breakdown().select(type=GlyphRenderer))
    colours = {part.glyph.tags[0]: part.glyph.fill_color for part in parts}
    assert colours["colour:device_compute"] == COLOURS["device_compute"]
    assert all(part.nonselection_glyph.tags == part.glyph.tags for part in parts)
    rows = drawn_source(trace.charts.top_ops()).data
    assert list(rows["colour"]) == [COLOURS[str(name)] for name in rows["colour_name"]]


@pytest.mark.parametrize("base_ns", [1_000_000, 9_000_000])
def test_steps_have_the_median_of_a_base(base_ns: int) -> None:
    starts = np.arange(3) * 10_000_000
    columns = {"step": np.arange(3), "start_ns": starts, "duration_ns": [base_ns] * 3, "kind": ["op"] * 3}
    made: Any = _steps(3).charts.steps(against=tv.Trace(events.build(columns)))
    lines = {span.line_dash[0]: span.location for span in made.select(type=Span)}
    assert sorted(lines.values()) == pytest.approx(sorted([2.001, base_ns / 1e6]))
    assert len(lines) == 2
    # An axis that does not end by itself ends above the base.
    assert made.y_range.end > base_ns / 1e6 if base_ns > 2_000_000 else np.isnan(made.y_range.end)


def test_steps_and_where_a_tap_leads() -> None:
    made = _steps(3).charts.steps()
    source = drawn_source(made)
    assert source.name == ROWS
    assert list(source.data["took"]) == pytest.approx([2.0, 2.001, 2.002])
    assert list(source.data["end_ms"]) == pytest.approx([2.0, 12.001, 22.002])


@pytest.mark.parametrize("count", [3, 40])
def test_a_step_that_would_flatten_the_others_is_cut(count: int) -> None:
    events_table = _steps(count).events
    events_table.loc[0, "duration_ns"] = 9_000_000
    trace = tv.Trace(events_table)
    label: Any
    (label,) = list(trace.charts.steps().select(type=LabelSet))
    assert list(label.source.data["length"]) == ["9.00 ms"]
    for made, whole in ((trace.charts.steps(), "took"), (trace.charts.breakdown(), "host_compute")):
        source = drawn_source(made)
        data: Any = source.data
        drawn = "bar" if whole == "took" else whole
        pieces = np.flatnonzero(np.asarray(data["step"]) == 0)
        # The figures are those of the step; the drawn part is a little longer than the others, with a gap.
        assert [data[whole][piece] for piece in pieces] == pytest.approx([9.0, 9.0])
        first, second = pieces
        assert data[f"{drawn}_from"][first] == 0
        others = max(each for each in data[f"{drawn}_to"] if each != data[f"{drawn}_to"][second])
        assert others <= data[f"{drawn}_to"][second] < 1.5 * others
        assert data[f"{drawn}_to"][first] < data[f"{drawn}_from"][second]


def test_memory_follows_the_timeline_and_keeps_its_peak() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    made = trace.charts.memory()
    assert made.name == TIME
    peak = trace.memory["bytes"].max() / 2**20
    assert "(MiB)" in chart_title(made)
    assert max(drawn_source(made).data["size"]) == pytest.approx(peak)
    assert len(drawn_source(made).data["time"]) <= MOST_POINTS + 1


def test_memory_that_is_never_freed_lasts_to_the_end_of_its_step() -> None:
    columns = {"start_ns": [1000, 9000], "duration_ns": [5000, 1000], "step": [0, 1], "kind": ["op"] * 2}
    records = [{"micros": 2, "bytes": 64}]
    nested = pa.table({"memory": [[{"allocator": "cpu", "records": records}], None]})
    made = tv.Trace(events.build(columns), nested=nested).charts.memory()
    assert writes_plain_numbers(made)
    time, size = (list(drawn_source(made).data[name]) for name in ("time", "size"))
    assert time == [1.0, 5.0]
    assert size == [64, 64]


def test_transfers_have_their_sizes() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    made = trace.charts.transfers()
    sizes = sorted(size for source in drawn_sources(made) for size in source.data["bytes"])
    known = trace.transfers
    known = known[(known["bytes"].fillna(0) > 0) & (known["transfer_ns"].fillna(0) > 0)]
    assert sizes == sorted(known["bytes"].tolist())


def test_what_cannot_be_said_is_said_in_words() -> None:
    trace = tv.Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))
    assert trace.charts.why_not("memory").id == "no_allocations"
    with pytest.raises(CannotSayError, match=pattern_of("no_allocations")):
        trace.charts.memory()
    with pytest.raises(CannotSayError, match=pattern_of("one_step")):
        trace.charts.steps()
    empty = tv.Trace(events.build({}, rows=0))
    assert all(empty.charts.why_not(name).id == "no_events" for name in Charts.NAMES)
    with raises_id(ValueError, "no_such_chart", name="memry"):
        trace.charts.why_not("memry")


def test_no_chart_is_made_empty_of_what_lasts_no_time(caplog: pytest.LogCaptureFixture) -> None:
    columns = {"start_ns": [0], "duration_ns": [0], "kind": ["op"], "device": ["/device:CPU:0"]}
    trace = tv.Trace(events.build(columns))
    for chart in ("breakdown", "utilization"):
        assert trace.charts.why_not(chart).id == "no_step_length"
    for _, name in parts(trace):
        tab(trace, name)
    assert "MISSING_RENDERERS" not in caplog.text
