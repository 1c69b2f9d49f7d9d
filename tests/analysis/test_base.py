"""Overviews and findings with their differences from a base."""

from typing import Any

import numpy as np
import pytest

from tests.real_traces import DATA, real_trace
from tests.support.made_steps import CPU
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare, compare_findings, overview
from tfvis_nb.analysis.steps.difference_text import change_texts
from tfvis_nb.texts import id_of

STEPS = 10
MS = 1_000_000


def run(input_ms: float, compute_ms: float, steps: int = STEPS, op: str = "MatMul") -> Trace:
    """Return steps that wait for input and then compute, in times that vary by 1 %."""
    noise = 1 + 0.01 * np.random.default_rng(steps).standard_normal(steps)
    parts = np.stack([input_ms * noise, compute_ms * noise], axis=1) * MS
    ends = np.cumsum(parts.ravel()).astype("i8")
    start = np.concatenate([[0], ends[:-1]])
    columns = {"start_ns": start, "duration_ns": ends - start, "kind": ["op"] * (2 * steps)}
    columns |= {"op": ["IteratorGetNext", op] * steps, "step": np.repeat(np.arange(steps), 2)}
    columns |= {"device": [CPU] * (2 * steps), "lane": ["ops"] * (2 * steps)}
    return Trace(events.build(columns))


def test_a_clear_difference_of_steps_has_words_and_an_interval() -> None:
    facts = overview(run(1, 13), run(1, 10))
    assert facts["steps"]["change"].startswith("27 % longer (")
    (task,) = facts["step_time"]["tasks"]
    assert task["changes"] == {"host_compute_ns": "30 % longer", "input_ns": "no clear difference"}
    assert facts["host_change"] == "0 % in the base"


def test_changes_of_ops_are_those_of_a_comparison() -> None:
    trace, base = run(1, 13), run(1, 10)
    table = compare(base, trace)
    texts = dict(zip(table["op"], change_texts(table, "self_a_ns", "self_b_ns", brief=True), strict=True))
    for op in overview(trace, base)["top_ops"]["host"]:
        assert op["change"] == texts[op["op"]]


def test_a_single_step_claims_nothing() -> None:
    facts = overview(run(1, 13, 1), run(1, 10, 1))
    change = facts["steps"]["change"]
    assert id_of(change) == "change_too_few"
    assert change.startswith("+27 %")
    (task,) = facts["step_time"]["tasks"]
    assert task["changes"] == {"host_compute_ns": "+30 %", "input_ns": "no change"}
    assert [op["change"] for op in facts["top_ops"]["host"]] == ["+30 %", "no change"]


def test_single_steps_are_compared_per_step() -> None:
    facts = overview(run(1, 13, 1), run(1, 13, 8))
    assert {op["change"] for op in facts["top_ops"]["host"]} == {"+1.3 %"}


def test_ops_of_one_trace_only_are_added() -> None:
    facts = overview(run(1, 13, op="Conv2D"), run(1, 10))
    assert {op["op"]: op["change"] for op in facts["top_ops"]["host"]}["Conv2D"] == "added"


def test_an_overview_without_a_base_has_no_changes() -> None:
    trace = run(1, 13)
    before = str(trace.overview)
    assert str(overview(trace, run(1, 10))) != before
    assert str(trace.overview) == before
    assert "change" not in trace.overview["steps"]


def test_a_trace_has_no_clear_difference_from_itself() -> None:
    trace = real_trace(DATA / "cpu_tf221_keras_fit.xplane.pb.xz")
    facts = overview(trace, trace)
    assert facts["steps"]["change"] == "no clear difference"
    changes = {text for task in facts["step_time"]["tasks"] for text in task["changes"].values()}
    assert changes <= {"no clear difference", "in too few steps"}
    assert {one["change"] for one in facts["memory"]} <= {"no change"}
    assert set(compare_findings(trace, trace)["change"]) == {"kept"}


def test_busy_shares_have_those_of_the_base() -> None:
    trace, base = (real_trace(DATA / f"gpu_tf{version}_mlp.pb.xz") for version in (221, 218))
    (device,), (before,) = overview(trace, base)["devices"], overview(base)["devices"]
    assert device["device"] == before["device"]
    assert device["change"] == f"{100 * before['busy_share']:.1f} % in the base"
    assert f"({device['change']})" in str(overview(trace, base))


def of_input(a: Trace, b: Trace) -> dict[Any, Any]:
    """Return the compared finding about input."""
    table = compare_findings(a, b)
    (row,) = table[table["id"].str.startswith("input_bound")].to_dict("records")
    return row


def test_findings_of_one_trace_have_the_share_in_the_other() -> None:
    fast, slow = run(0.1, 10), run(4, 10)
    added, removed = of_input(fast, slow), of_input(slow, fast)
    assert added["change"] == "added"
    assert added["share_a"] == pytest.approx(0.1 / 10.1, rel=0.01)
    assert added["share_b"] == pytest.approx(4 / 14, rel=0.01)
    assert removed["change"] == "removed"
    assert (removed["share_a"], removed["share_b"]) == (added["share_b"], added["share_a"])


def test_kept_findings_have_both_shares() -> None:
    kept = of_input(run(4, 10), run(10, 10))
    assert kept["change"] == "kept"
    assert (kept["share_a"], kept["share_b"]) == pytest.approx((4 / 14, 0.5), rel=0.01)


def test_findings_that_a_trace_cannot_have_are_unknown() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    rows = compare_findings(run(0.1, 10), trace).set_index("id")
    assert rows["reason"].map(bool).any()
    assert rows.loc[rows["reason"].map(bool), "share_a"].isna().all()


def test_the_base_is_a_trace() -> None:
    trace = run(1, 10)
    with raises_id(TypeError, "no_trace", function="to_html", given="str"):
        trace.to_html(against="old.pb")
