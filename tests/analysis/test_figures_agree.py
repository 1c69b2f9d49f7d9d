"""Figures under one name are equal, wherever they are shown."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.core.format import format_percent
from tfvis_nb.display.tabs import tab

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
    assert gaps.loc[gaps["cause"] == "input", "duration_ns"].sum() == waits > 0
    assert trace.utilization["idle_ns"].sum() >= waits


def test_gain_of_a_finding_is_in_the_what_if_tab(trace: Trace) -> None:
    shown = rows(trace, "What if", "Steps without an activity").set_index("activity")
    of_kind = {"input": "Input", "communication": "Communication", "launches": "Launch"}
    found = trace.findings[trace.findings["kind"].isin(list(of_kind)) & trace.findings["gain"].notna()]
    assert len(found)
    steps = other_steps(trace).breakdown["step"].unique()
    for kind, gain in zip(found["kind"], found["gain"], strict=True):
        row = shown.loc[of_kind[kind]]
        assert row["saved_share"] == gain
        name = of_kind[kind].lower()
        times = trace.what_if(activities={name: 0}).times
        assert (times["recorded_ns"] - times["predicted_ns"] == times["saved_ns"]).all()
        whole = times[times["step"].isin(steps)].sum()
        assert row["saved_ns"] == whole["recorded_ns"] - whole["predicted_ns"]


def test_parts_of_step_time_add_up(trace: Trace) -> None:
    table = trace.breakdown
    assert (table[list(PARTS)].sum(axis=1) == table["step_ns"]).all()


def test_overview_has_the_share_of_the_finding() -> None:
    trace = real_trace(DATA / "cpu_tf215_input.xplane.pb.xz")
    (share,) = trace.findings.loc[trace.findings["kind"] == "input", "share"]
    (task,) = trace.overview["step_time"]["tasks"]
    assert task["parts"]["input_ns"] / task["step_ns"] == share
    activities = rows(trace, "Breakdown", "Total over steps").set_index("part")
    assert activities.loc["Input", "share"] == share
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
    assert "Without any communication the step would be up to" in found["text"]
    assert "without that of all tasks" in found["how"]
