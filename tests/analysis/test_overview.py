"""The overview agrees with all other views, and states the obvious cause."""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
import pytest

from tests.analysis.test_identities import files
from tests.real_traces import SHARED, each, real_trace
from tfvis_nb import Trace
from tfvis_nb.analysis import device_idle, measurements, op_statistics, outside_steps, why_not
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.findings.finding import LEVELS
from tfvis_nb.analysis.findings.idle_causes import ACROSS_TASKS, cause_names
from tfvis_nb.analysis.findings.rule import capital
from tfvis_nb.analysis.findings.table import OVERLAP
from tfvis_nb.analysis.idle.launch_bound import launch_stretches
from tfvis_nb.analysis.overview.headline import headline
from tfvis_nb.analysis.overview.lines import overview_lines
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.cli.info import lines, summary
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.labels import lane_label
from tfvis_nb.core.palette import LABELS
from tfvis_nb.display.overview.card import card
from tfvis_nb.display.tabs import tab
from tfvis_nb.display.wire.waiting import waiting
from tfvis_nb.texts import id_of

KEYS = ["task", "device"]


@pytest.fixture(scope="module", params=each(files()))
def trace(request: pytest.FixtureRequest) -> Trace:
    """Return each trace; all checks of one run before the next is read."""
    path: Path = request.param
    return real_trace(path)


def shares(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield everything in an overview that is called a share."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from shares(part, key)
    elif isinstance(value, list):
        for part in value:
            yield from shares(part, name)
    elif name.endswith("share") and value is not None:
        yield name, value


@pytest.mark.slow
def test_no_share_is_more_than_the_whole(trace: Trace) -> None:
    found = [share for _, share in shares(trace.overview.to_dict())]
    found += trace.findings["share"].dropna().tolist()
    found += measurements(trace)["share"].dropna().tolist()
    assert all(0 <= share <= 1 for share in found)


@pytest.mark.slow
def test_the_parts_of_step_time_are_the_steps(trace: Trace) -> None:
    whole = trace.overview["step_time"]
    for task in whole["tasks"]:
        assert sum(task["parts"].values()) == task["step_ns"] <= whole["step_ns"]
    took = trace.steps.query("step >= 0")["duration_ns"].iloc[int(trace.overview["first_step"] is not None) :]
    assert trace.overview["steps"]["median_ns"] == median_low(took.tolist())
    for bar in card(trace)["bars"]:
        assert sum(part["share"] for part in bar["parts"]) == pytest.approx(1)


@pytest.mark.slow
def test_no_event_has_more_self_time_than_all_of_its_step(trace: Trace) -> None:
    own, known = self_times_of(trace)
    # Events of a step of JAX can start before it does.
    ends = trace.events["start_ns"] + trace.events["duration_ns"]
    steps = trace.events.assign(end_ns=ends).groupby("step")
    length = (steps["end_ns"].transform("max") - steps["start_ns"].transform("min")).to_numpy()
    assert (own[known] <= length[known]).all()
    for side in ("device", "host"):
        for op in trace.overview["top_ops"][side]:
            table = op_statistics(trace)
            same = (table["op"] == op["op"]) & (table["side"] == side) & (table["kind"] == op["kind"])
            assert table.loc[same, "self_ns"].tolist() == [op["self_ns"]]


@pytest.mark.slow
def test_a_share_of_the_same_name_is_the_same_everywhere(trace: Trace) -> None:
    steps = other_steps(trace)
    table = device_idle(steps)
    if why_not(table):
        table = device_idle(steps, of_cpus=True)
    busy = steps.utilization.astype(dict.fromkeys(KEYS, object)).dropna(subset=["busy_ns"])
    sums = busy.groupby(KEYS)[["busy_ns", "step_ns"]].sum()
    gaps = steps.idle_gaps.astype(dict.fromkeys([*KEYS, "cause"], object))
    idle = gaps.groupby([*KEYS, "cause"])["duration_ns"].sum()
    by_device = {(row["task"], row["device"]): row for row in trace.overview["devices"]}
    assert len(by_device) == len(table)
    for where, row in by_device.items():
        assert row["busy_share"] == sums["busy_ns"][where] / sums["step_ns"][where]
        if row["cause"]:
            assert row["cause_ns"] == idle[(*where, row["cause"])]
    for row in trace.findings.query("kind in ('launches', 'idle device')").to_dict("records"):
        figures = row["figures"]
        where = figures["task"], figures["device"]
        cause = figures.get("cause", "late launch")
        assert figures["busy_share"] == by_device[where]["busy_share"]
        assert row["share"] == idle[(*where, cause)] / sums["step_ns"][where]
    outside = outside_steps(trace)
    for row in trace.findings.query("kind == 'outside steps'").to_dict("records"):
        assert outside is not None
        if "loop_share" in row["figures"]:
            assert row["figures"]["loop_share"] == trace.overview["outside"]["loop_share"]
            assert row["figures"]["between_ns"] == outside.pauses_ns
            continue
        assert row["lost_ns"] == outside.outside_ns == trace.overview["outside"]["outside_ns"]
        assert row["figures"]["run_share"] == trace.overview["outside"]["run_share"]


@pytest.mark.slow
def test_one_label_has_one_value_wherever_it_stands(trace: Trace) -> None:
    """A cause of idle time in the overview and in the tab of gaps; activities have another label."""
    if why_not(trace.idle_gaps):
        return
    block = tab(trace, "Gaps")["blocks"][0]
    names = [column["name"] for column in block["columns"]]
    table = [dict(zip(names, row, strict=True)) for row in block["rows"]]
    assert not {row["cause"].lower() for row in table} & {label.lower() for label in LABELS.values()}
    for device in trace.overview["devices"]:
        if not device["cause"] or block["total"] > len(table):
            continue
        label = lane_label(device["task"], device["device"], "")
        cause = capital(cause_names(trace)[device["cause"]])
        same = [row["of_steps"] for row in table if (row["device"], row["cause"]) == (label, cause)]
        assert device["cause_share"] in [pytest.approx(share) for share in same]


@pytest.mark.slow
def test_a_stretch_waits_for_launches_as_long_as_the_gaps_in_it(trace: Trace) -> None:
    """The details of its range add up the same gaps."""
    idle = trace.idle_gaps.astype(dict.fromkeys(KEYS, object)).query("cause == 'late launch'")
    for _, row in launch_stretches(trace).head(20).iterrows():
        own = idle[(idle["task"] == row["task"]) & (idle["device"] == row["device"])]
        end = row["start_ns"] + row["duration_ns"]
        within = (own["start_ns"] + own["duration_ns"]).clip(upper=end) - own["start_ns"].clip(
            lower=row["start_ns"]
        )
        assert within.clip(lower=0).sum() == row["launch_wait_ns"] <= row["duration_ns"]


@pytest.mark.slow
def test_causes_of_idle_time_have_the_same_names_everywhere(trace: Trace) -> None:
    header, _ = waiting(trace, np.arange(len(trace.events)))
    names = [name for name, _ in header.get("idle", [])]
    assert names == ([] if trace.idle_gaps.empty else list(cause_names(trace).values()))
    assert not set(names) & {name for name, _ in header.get("path", [])}


@pytest.mark.slow
def test_the_same_words_stand_everywhere(trace: Trace) -> None:
    facts = trace.overview
    assert card(trace)["headline"] in lines(trace, 3)[2]
    assert summary(trace)["overview"]["headline"] == facts["headline"]
    assert html.escape(facts["headline"]) in facts._repr_html_()
    for line in overview_lines(facts):
        assert line.value in repr(facts)
    assert json.loads(json.dumps(facts.to_dict(), allow_nan=False)) == facts.to_dict()


@pytest.mark.slow
def test_a_device_that_is_mostly_idle_has_a_statement(trace: Trace) -> None:
    table = device_idle(other_steps(trace))
    about = trace.findings.query("kind in ('launches', 'idle device')")
    if why_not(table) or not (table["busy_share"] < 0.5).any():
        assert not (about["kind"] == "idle device").any()
        return
    # Devices with the same cause are counted together; one of them stands for all.
    assert sum(figures["devices"] for figures in about["figures"]) >= (table["busy_share"] < 0.5).sum()
    for text, figures in zip(about["text"] + about["how"], about["figures"], strict=True):
        assert format_percent(figures["busy_share"]) in text or figures["devices"] > 1


@pytest.mark.slow
def test_findings_are_ranked_by_level(trace: Trace) -> None:
    table = trace.findings
    assert set(table["level"]) <= set(LEVELS)
    is_problem = (table["level"] == "problem").tolist()
    assert is_problem == sorted(is_problem, reverse=True)
    assert (table.loc[table["share"] < 0.1, "level"] != "problem").all()


@pytest.mark.collection("h200/keras_fit_gpu.xplane.pb")
def test_a_keras_user_is_told_why_the_gpu_is_idle() -> None:
    trace = real_trace(SHARED / "h200" / "keras_fit_gpu.xplane.pb")
    assert trace.overview["headline"] == (
        "GPU busy 12.6 % of step time, idle 56.3 % while waiting for kernel launches."
    )
    assert trace.findings["id"].tolist() == ["launch_bound", "between_steps", "small_kernels"]
    assert trace.findings["level"].tolist() == ["problem", "problem", "minor"]
    assert "Tracing itself adds launch overhead" in trace.overview["certainty"][0]
    assert "steps_per_execution" in trace.findings["advice"][0]
    assert trace.findings["step"][0] > 0  # the first step is not typical


@pytest.mark.collection("h200/mwms_straggler_worker0.xplane.pb", "h200/mwms_straggler_worker1.xplane.pb")
def test_the_headline_names_the_straggler() -> None:
    trace = real_trace([SHARED / "h200" / f"mwms_straggler_worker{worker}.xplane.pb" for worker in (0, 1)])
    first = trace.findings.iloc[0]
    assert (first["id"], first["figures"]["task"]) == ("straggler.collective", "/job:worker/replica:0/task:1")
    headline = trace.overview["headline"]
    assert "Worker 1 is probably late at all 6 collectives" in headline
    assert format_percent(first["share"]) in headline
    assert "tensors" not in headline
    work = first["figures"]["work"]
    assert (work["op"], work["own_op_count"], work["other_op_count"]) == ("MatMul", 3834, 90)
    assert work["own_ns"] > 30 * work["other_ns"]
    assert first["figures"]["clocks_ns"] == trace.overview["clocks"]["within_ns"] == 38630185


@pytest.mark.collection("h200/dist_ps_2gpuworkers_step2.pb")
def test_waits_between_unknown_clocks_are_uncertain() -> None:
    trace = real_trace(SHARED / "h200" / "dist_ps_2gpuworkers_step2.pb")
    assert trace.overview["clocks"] == {"within_ns": None}
    assert "Clocks of tasks" in repr(trace.overview)
    idle = trace.findings[trace.findings["kind"] == "idle device"]
    assert len(idle)
    assert idle["how"].str.contains("clocks of the tasks may differ by an unknown amount").all()
    assert idle["title"].str.contains("probably").all()
    named = cause_names(trace)
    assert {cause for cause in named if "probably" in named[cause]} == {*ACROSS_TASKS}
    devices = [line for line in repr(trace.overview).splitlines() if "GPU:0 busy" in line]
    assert devices
    assert all("probably" in line for line in devices)
    uncertain, evidence, *rest = trace.overview["certainty"]
    assert "clocks of the tasks may differ by an unknown amount" in uncertain
    assert evidence in [str(note) for note in trace.notes if id_of(note) == "clocks_kept"]
    assert not [text for text in rest if "clocks" in text]


@pytest.mark.collection("h200/mixed_sparse_embedding_step2.pb")
def test_advice_fits_a_session_with_ops_of_dynamic_shape() -> None:
    found = real_trace(SHARED / "h200" / "mixed_sparse_embedding_step2.pb").findings
    assert found["id"].tolist() == ["cpu_ops", "launch_bound"]
    assert found["figures"][1]["program"] == "session"
    assert found["figures"][1]["dynamic_ops"] == ["SparseToDense", "Unique"]
    assert not found["advice"].str.contains("jit_compile|steps_per_execution|global_jit_level").any()
    assert OVERLAP in repr(found)  # with the busy time of the GPU they are more than the step


@pytest.mark.collection("third-party/kittibox/timeline_01.json")
def test_tuning_of_convolutions_is_recognised() -> None:
    trace = real_trace(SHARED / "third-party" / "kittibox" / "timeline_01.json")
    first = trace.findings.iloc[0]
    assert first["id"] == "autotuning"
    assert first["share"] > 0.9
    assert set(trace.findings["level"][1:]) == {"observation"}
    assert headline(trace, trace.overview).figures["problem"].id == "headline_tuning"
