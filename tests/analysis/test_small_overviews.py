"""Overviews of traces with a few events each: steps, percentiles, headlines, and how they are shown."""

import html
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from IPython.core.formatters import HTMLFormatter

from tests.analysis.test_findings_of_kernels import gemm, trace_of
from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace, analysis, events
from tfvis_nb.analysis import compare
from tfvis_nb.analysis.overview.headline import headline
from tfvis_nb.analysis.overview.lines import overview_lines
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.core.format import format_percent, unbroken
from tfvis_nb.core.metadata import PYTHON_SAMPLES, table_of
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.display.overview.card import card
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text


def _steps(durations: list[int], first: str = "op") -> Trace:
    ends = np.cumsum(durations)
    columns = {
        "start_ns": (ends - durations).tolist(),
        "duration_ns": durations,
        "kind": [first, *["op"] * (len(durations) - 1)],
        "op": ["MatMul"] * len(durations),
        "device": ["/device:CPU:0"] * len(durations),
        "step": list(range(len(durations))),
    }
    return Trace(events.build(columns))


def test_a_slow_first_step_is_told_apart() -> None:
    trace = _steps([900, 100, 100, 100])
    assert trace.overview["first_step"] == {
        "step": 0,
        "first_ns": 900,
        "median_ns": 100,
        "others": 3,
        "share": 800 / 1200,
    }
    assert trace.overview["steps"]["median_ns"] == 100
    assert "first_step" not in set(trace.findings["id"])
    assert "9.00 times the median of the others" in str(trace.overview)
    assert trace.overview["headline"].endswith("a typical step takes 100 ns.")
    assert _steps([140, 100, 100, 100]).overview["first_step"] is None
    assert _steps([900, 100]).overview["first_step"] is None
    assert _steps([900, 100, 100, 100], first="kernel").overview["first_step"] is None


@pytest.mark.parametrize(
    ("trace", "cause"),
    [
        (_steps([100, 100, 100, 100, 300] * 6), "slow_steps.periodic"),
        (trace_of((0, 900, "Mul", gemm(25))), "small_kernels"),
    ],
)
def test_headline_starts_with_the_first_finding(trace: Trace, cause: str) -> None:
    first = trace.findings.iloc[0]
    assert (first["id"], first["level"]) == (cause, "problem")
    assert trace.overview["headline"].startswith(first["title"])
    assert format_percent(first["share"]) in trace.overview["headline"]


def test_headline_and_step_time_are_those_of_a_comparison() -> None:
    trace = _steps([900, 100, 100, 130, 120, 160, 110])
    overview = trace.overview
    assert compare(trace, trace).attrs["step_time"].a == overview["steps"]["typical_ns"] == 115
    assert overview["headline"].endswith("a typical step takes 115 ns.")
    assert overview_lines(overview)[0].value == "115 ns typical after the first step, 7 steps"
    assert overview["steps"]["median_ns"] == 110
    few = _steps([100, 120])
    assert compare(few, few).attrs["step_time"].a == few.overview["steps"]["typical_ns"] == 110
    # Of a few, the mean would leave out no slow one.
    assert _steps([100, 110, 900]).overview["steps"]["typical_ns"] == 110


def test_the_card_has_the_step_time_of_the_overview() -> None:
    base, trace = _steps([900, 90, 80, 120]), _steps([900, 100, 110, 150])
    took, since = (card(trace, against)["step_time"] for against in (None, base))
    assert took
    assert since
    figure = "120\N{NO-BREAK SPACE}ns"
    assert took[1][0].startswith(f"{figure} ")
    assert since[1] == [unbroken(f"{figure}; {Text('no_clear_difference')}")]


def test_steps_of_two_lengths_have_no_typical_one() -> None:
    trace = _steps([900, 889, 790, 7, 3, 2])
    steps = trace.overview["steps"]
    assert (steps["typical_ns"], steps["alike"]) == (7, False)
    assert trace.overview["headline"].endswith("the median step takes 7 ns.")
    assert overview_lines(trace.overview)[0].value == "7 ns median after the first step, 6 steps"
    # A comparison tests the means, which it does not call typical.
    other = _steps([900, 890, 795, 8, 3, 2])
    said = comparison_headline(trace, other)[0]
    assert said.figures["what"] == Text("comparison_steps", which="average", kind="")
    changed = overview_lines(analysis.overview(other, against=trace))[0].value
    assert changed.startswith("8 ns median after the first step, 6 steps; ")


def test_round_of_the_loop_is_shown_with_time_between_steps() -> None:
    # The longest step is the last one, which no interval includes.
    assert "Round of the loop" not in str(_steps([100, 120, 180]).overview)


def test_an_overview_without_accelerators_has_cpus() -> None:
    columns = {"start_ns": [0, 60, 100, 160], "duration_ns": [60, 40] * 2, "kind": ["op"] * 4}
    columns |= {"op": ["IteratorGetNext", "MatMul"] * 2, "name": ["next", "mul"] * 2, "step": [0, 0, 1, 1]}
    columns |= {"device": ["/device:CPU:0"] * 4, "detail": ["", "mul = MatMul(next)"] * 2}
    overview = Trace(events.build(columns)).overview
    (device,) = overview["devices"]
    assert (device["busy_share"], device["cause"], device["cause_share"]) == (0.4, "input", 0.6)
    lines = {line.term: line.value for line in overview_lines(overview)}
    assert lines["CPU:0 busy"] == "40.0 % of step time, idle 60.0 % while waiting for input"


def test_devices_of_one_label_all_have_their_line() -> None:
    device = "/job:" + "w" * 90 + "/replica:0/task:{}/device:GPU:0"
    columns: dict[str, list[Any]] = {"start_ns": [0, 10], "duration_ns": [10, 20], "kind": ["kernel"] * 2}
    columns |= {"device": [device.format(task) for task in range(2)], "lane": ["stream:1"] * 2}
    columns |= {"task": [name.rpartition("/")[0] for name in columns["device"]]}
    trace = Trace(events.build(columns))
    busy = [line for line in overview_lines(trace.overview) if line.term.endswith("busy")]
    assert len({line.term for line in busy}) < len(busy) == 2
    assert [line[0] for line in card(trace)["lines"]].count(busy[0].term) == 2


def test_a_percentile_needs_steps() -> None:
    few, many = _steps([100] * 19), _steps([*range(1, 20), 1000])
    assert few.overview["steps"]["p95_ns"] is None
    assert many.overview["steps"] == {
        "count": 20,
        "typical_ns": 10,
        "alike": True,
        "median_ns": 10,
        "interval_ns": 10,
        "interval_alike": True,
        "p95_ns": 19,
        "sum_ns": 1190,
        "joules": None,
    }


def test_time_outside_steps_is_a_statement() -> None:
    columns = {"start_ns": [0, 40, 60], "duration_ns": [20, 10, 40], "kind": ["op", "host", "op"]}
    columns |= {"op": ["MatMul", "", "MatMul"], "name": ["a", "setup", "b"], "step": [0, NO_STEP, 1]}
    trace = Trace(events.build(columns))
    found = trace.findings.set_index("id").loc["between_steps"]
    assert np.isnan(found["share"])
    assert (found["lost_ns"], found["start_ns"], found["end_ns"], found["events"]) == (40, 20, 60, [1])
    assert found["figures"]["op"] == {"name": "setup", "self_ns": 10}
    assert trace.overview["outside"]["run_share"] == 0.4


def test_a_trace_without_steps_has_an_overview() -> None:
    empty = Trace(events.build({}, rows=0))
    assert empty.overview["steps"] == {
        "count": 0,
        "typical_ns": None,
        "alike": True,
        "median_ns": None,
        "interval_ns": None,
        "interval_alike": True,
        "p95_ns": None,
        "sum_ns": 0,
        "joules": None,
    }
    assert empty.overview["step_time"] is None
    assert repr(empty.overview) == empty.overview["headline"]


def test_a_notebook_shows_the_full_texts_of_findings() -> None:
    trace = real_trace(DATA / "gpu_tf221_mixed.pb.xz")
    shown = HTMLFormatter()
    text = shown(trace.findings)
    for name in ("title", "text", "advice"):
        assert all(html.escape(unbroken(words)) in text for words in trace.findings[name])
    part = trace.findings[["title", "share"]]
    assert "<table" in shown(part)
    assert "No dominant bottleneck" in shown(_steps([5], first="host").findings)


def test_the_lines_that_take_most_are_named() -> None:
    builder = StackBuilder()
    for line in (7, 3, 9, 5):
        builder.stack([Frame("/home/ann/train.py", line)])
    took = [10_000, 40_000, 30_000, 20_000, 90_000]
    columns = {"start_ns": [0, 10_000, 50_000, 80_000, 100_000], "duration_ns": took, "kind": ["op"] * 5}
    nested = pa.table({"stack": pa.array([0, 1, 2, 3, None], pa.int32())})
    trace = Trace(events.build(columns), nested=nested, stacks=builder.table())
    most = [(each["line"], each["side"], each["self_ns"]) for each in trace.overview["top_lines"]]
    assert most == [(3, "host", 40_000), (9, "host", 30_000), (5, "host", 20_000)]
    (shown,) = [line for line in overview_lines(trace.overview) if line.term == "Top lines, whole trace"]
    assert shown.values[0].startswith("train.py:3 40.0")
    assert Trace(events.build(columns)).overview["top_lines"] == []


def test_names_in_an_overview_stay_text() -> None:
    columns = {"start_ns": [0], "duration_ns": [9], "kind": ["op"], "op": ["<b>x</b>\u202e"]}
    trace = Trace(events.build(columns))
    assert "<b>x" not in trace.overview._repr_html_()
    assert "\u202e" not in repr(trace.overview)


def test_a_nearly_empty_step_has_its_own_headline() -> None:
    columns = {"start_ns": [0, 90], "duration_ns": [9, 10], "kind": ["op"] * 2, "step": [0, 0]}
    trace = Trace(events.build(columns))
    said = headline(trace, trace.overview)
    assert (said.id, said.figures["share"]) == ("headline_host_idle", "81.0 %")
    assert said.figures["why"] == Text("headline_python_samples")
    for line, why in (("train.py", "train.py:7"), (None, str(Text("headline_python_calls")))):
        sample = {"time_ns": 50, "file": line, "line": line and 7}
        sampled = Trace(trace.events, metadata={PYTHON_SAMPLES: table_of(PYTHON_SAMPLES, [sample])})
        assert why in sampled.overview["headline"]


def test_training_and_evaluation_have_times_of_their_own() -> None:
    durations = [10, 40] * 6 + [10, 90]
    trace = _steps(durations)
    trace.step_labels = {step: f"{'test' if step % 2 else 'train'} {step // 2}" for step in range(14)}
    overview = trace.overview
    assert [(one["kind"], one["count"], one["median_ns"]) for one in overview["kinds"]] == [
        ("test", 7, 40),
        ("train", 7, 10),
    ]
    assert overview["steps"]["median_ns"] == 40
    assert overview["headline"].endswith("a typical test step takes 40 ns.")
    lines = {line.term: line.value for line in overview_lines(overview)}
    assert lines["Other steps"] == "10 ns typical, 7 train steps"
    slow = trace.findings.query("kind == 'slow steps'")
    assert [figures["steps"] for figures in slow["figures"]] == [[13]]
    assert _steps(durations).overview["kinds"] == []
