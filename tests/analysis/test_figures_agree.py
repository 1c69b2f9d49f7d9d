"""Figures under one name are equal, wherever they are shown."""

from typing import Any

import pandas as pd
import pytest
from bokeh.models.annotations import Span

from tests.real_traces import DATA, real_trace
from tests.wire_reader import read_drawn
from tfvis_nb import Trace, events
from tfvis_nb.analysis import slow_steps
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.steps.slow_steps import median_step
from tfvis_nb.core.format import format_percent
from tfvis_nb.display.tabs import tab
from tfvis_nb.display.wire.bars import bar_bytes

SAMPLES = ("cpu_tf215_input.xplane.pb.xz", "gpu_tf221_dist.pb.xz", "gpu_tf221_mlp.pb.xz")


@pytest.fixture(scope="module", params=SAMPLES)
def trace(request: pytest.FixtureRequest) -> Trace:
    return real_trace(DATA / request.param)


def rows(trace: Trace, name: str, title: str) -> pd.DataFrame:
    """Return a table of a tab."""
    (found,) = (block for block in tab(trace, name)["blocks"] if block["title"] == title)
    return pd.DataFrame(found["rows"], columns=[column["name"] for column in found["columns"]])


def test_a_cpu_that_waits_for_input_is_idle() -> None:
    trace = real_trace(DATA / "cpu_tf215_input.xplane.pb.xz")
    waits = int(trace.breakdown.query("device == ''")["input_ns"].sum())
    gaps = trace.idle_gaps
    # A gap also ends with the pipeline's own work on the batch.
    works = int(trace.breakdown.query("device == ''")["preprocessing_ns"].sum())
    assert 0 < waits <= gaps.loc[gaps["cause"] == "input", "duration_ns"].sum() <= waits + works
    assert trace.utilization["idle_ns"].sum() >= waits


def test_gain_of_a_finding_is_in_the_what_if_tab(trace: Trace) -> None:
    shown = rows(trace, "What if", "Steps without an activity").set_index("activity")
    of_kind = {"input": "Input", "communication": "Communication", "launches": "Launch"}
    found = trace.findings[trace.findings["kind"].isin(list(of_kind)) & trace.findings["gain"].notna()]
    assert len(found)
    for kind, gain in zip(found["kind"], found["gain"], strict=True):
        row = shown.loc[of_kind[kind]]
        assert row["saved_share"] == gain
        name = of_kind[kind].lower()
        times = trace.what_if(activities={name: 0}).times.set_index("step")
        assert (times["recorded_ns"] - times["predicted_ns"] == times["saved_ns"]).all()
        assert row["saved_ns"] == times["saved_ns"].to_dict()[median_step(trace)]


def test_overview_has_the_share_of_the_finding() -> None:
    trace = real_trace(DATA / "cpu_tf215_input.xplane.pb.xz")
    (found,) = trace.findings[trace.findings["kind"] == "input"].to_dict("records")
    share = found["share"] - found["figures"]["lock"]["share"]
    (task,) = trace.overview["step_time"]["tasks"]
    assert task["parts"]["input_ns"] / task["step_ns"] == pytest.approx(share)
    activities = rows(trace, "Breakdown", "Total over steps").set_index("part")
    assert activities.loc["Input", "share"] == pytest.approx(share)
    said = f"input {format_percent(share)}"
    assert said in str(trace.overview)


def test_the_critical_path_leaves_out_a_first_step_set_apart() -> None:
    columns = {"start_ns": [0, 900, 1000, 1100], "duration_ns": [900, 90, 90, 90], "kind": ["op"] * 4}
    trace = Trace(events.build(columns | {"step": [0, 1, 2, 3], "op": ["MatMul"] * 4}))
    assert [*other_steps(trace).breakdown["step"].unique()] == [1, 2, 3]
    (block,) = (
        block
        for block in tab(trace, "Critical path")["blocks"]
        if block["title"] == "Critical path by activity"
    )
    assert [column["label"] for column in block["columns"]][1] == "Time, after the first step"
    assert rows(trace, "Critical path", "Critical path by activity")["duration_ns"].sum() == 270


def test_a_saving_of_communication_names_all_tasks() -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    (found,) = trace.findings.query("kind == 'communication'").to_dict("records")
    assert "Without any communication the step would be about" in found["text"]
    assert "that of all tasks" in found["how"]


def steps_of(*durations: int) -> Trace:
    """Return a trace of steps that each run one op, in us, one after the other."""
    took = [1000 * each for each in durations]
    columns = {"start_ns": [sum(took[:step]) for step in range(len(took))], "duration_ns": took}
    kinds = {"kind": ["op"] * len(took), "op": ["MatMul"] * len(took), "step": range(len(took))}
    return Trace(events.build(columns | kinds))


@pytest.mark.parametrize(
    ("durations", "median"),
    [((28, 12, 10, 11, 13), 11), ((28, 12, 10, 11, 13, 14), 12), ((10, 14, 12, 13), 12), ((18, 13, 10), 10)],
)
def test_median_step_is_the_same_everywhere(durations: tuple[int, ...], median: int) -> None:
    trace, ns = steps_of(*durations), 1000 * median
    facts, table = trace.overview, slow_steps(trace)
    assert facts["steps"]["median_ns"] == ns
    assert facts["first_step"] is None or facts["first_step"]["median_ns"] == ns
    assert (table["duration_ns"] - table["excess_ns"] == ns).all()
    first = durations[0] / median
    assert table["ratio"].iloc[0] == first
    assert rows(trace, "Steps", "Step by step").set_index("step").loc[0, "ratio"] == first
    (asked,) = (block for block in tab(trace, "What if")["blocks"] if block["kind"] == "what_if")
    assert asked["now"]["recorded_ns"] == ns
    number = durations.index(median)
    assert asked["now"]["step"] == f"Median step, {number}"
    assert set(table["median_step"]) == {number}
    lines: Any = trace.charts.steps().select({"type": Span})
    (line,) = lines
    assert line.location == median


def test_steps_are_compared_with_their_kind_everywhere() -> None:
    trace = steps_of(30, 10, 31, 18, 33, 10)
    trace.step_labels.update({step: f"{'test' if step % 2 else 'train'} {step}" for step in range(6)})
    table = slow_steps(trace)
    assert table["slow"].tolist() == [step == 3 for step in range(6)]
    assert rows(trace, "Steps", "Step by step")["ratio"].tolist() == table["ratio"].tolist()
    header, _ = read_drawn(bar_bytes(trace))
    assert [step.get("kind") for step in header["steps"]] == [None, 1] * 3


def test_a_step_after_one_set_apart_counts_for_the_median() -> None:
    trace = steps_of(100, 20, 10, 12)
    assert trace.overview["steps"]["median_ns"] == 12_000
    assert set(slow_steps(other_steps(trace))["median_step"]) == {3}


def test_median_of_a_kind_leaves_out_its_slow_first_step() -> None:
    durations = (28, 12, 10, 11, 13, 5, 4, 3)
    trace = steps_of(*durations)
    labels = {step: f"{'train' if step < 5 else 'test'} {step}" for step in range(len(durations))}
    trace = Trace(trace.events, step_labels=labels)
    facts = trace.overview
    assert [kind["median_ns"] for kind in facts["kinds"]] == [11_000, 4_000]
    assert facts["steps"]["median_ns"] == facts["first_step"]["median_ns"] == 11_000


def test_utilization_chart_has_the_shares_of_the_overview() -> None:
    columns = {
        "start_ns": [0, 0, 1000, 1000, 1100, 1100, 1200, 1200],
        "duration_ns": [900, 90, 90, 60] + [90, 60] * 2,
        "kind": ["op", "kernel"] * 4,
        "device": ["/device:CPU:0", "/device:GPU:0"] * 4,
        "step": [0, 0, 1, 1, 2, 2, 3, 3],
    }
    trace = Trace(events.build(columns))
    (device,) = trace.overview["devices"]
    chart: Any = trace.charts.utilization()
    (source, *_) = {bars.data_source.name: bars.data_source for bars in chart.renderers}.values()
    shares = dict(zip(source.data["row"], source.data["busy"], strict=True))
    assert shares["GPU:0"] == pytest.approx(100 * device["busy_share"]) == pytest.approx(100 * 2 / 3)
    assert chart.title.text == "Device utilization (% of step time after the first step)"


def test_parts_of_a_step_are_named_main_activities() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    assert "by main activity" in str(trace.overview)
