"""The predicted savings of removing the cause of a finding."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.made_steps import GPU, built, op
from tfvis_nb import Trace, events
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.prediction.gain import MOST_EVENTS, Gain, gain
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.display.tabs.what_if import outcome

SAMPLES = [
    "gpu_tf221_mixed.pb.xz",
    "gpu_tf221_two_logical.pb.xz",
    "cpu_tf215_input.xplane.pb.xz",
    "cpu_tf221_dist_while.pb.xz",
]
GOLDEN = json.loads((DATA / "texts" / "findings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_gain_equals_the_saving_of_a_replay(name: str) -> None:
    trace = real_trace(DATA / name)
    table = trace.findings
    assert not ((table["level"] == "problem") & (table["gain"] < 0.001)).any()
    found = table[table["gain"].notna()]
    assert len(found)
    of_kind = {rule.kind: rule.remedy for rule in RULES.values()}
    steps = other_steps(trace).breakdown["step"].unique()
    for finding in found.to_dict("records"):
        remedy = of_kind[finding["kind"]]
        assert remedy is not None
        times = trace.what_if(**remedy.changes(finding["figures"])).times
        times = times[times["step"].isin(steps)]
        assert finding["gain"] <= times["saved_ns"].sum() / times["recorded_ns"].sum()
        assert 0 <= finding["gain"] <= 1
        predicted = gain(trace, remedy.changes(finding["figures"]), steps)
        assert finding["gain"] == predicted.share
        text, how = remedy.saves(predicted, {})
        assert finding["text"].endswith(text)
        assert finding["how"].endswith(how)


@pytest.mark.parametrize("case", GOLDEN["remedies"], ids=lambda case: f"{case['id']} {case['gain']}")
def test_the_text_of_a_gain(case: dict[str, str | float]) -> None:
    remedy = RULES[str(case["id"])].remedy
    assert remedy is not None
    low, high = (float(case.get(name, "nan")) for name in ("low", "high"))
    figures = {name: case[name] for name in case if name == "loop_share"}
    assert remedy.saves(Gain(float(case["gain"]), low, high), figures) == (case["text"], case.get("how", ""))


def test_every_remedy_has_a_text() -> None:
    assert {case["id"] for case in GOLDEN["remedies"]} == {
        name for name, rule in RULES.items() if rule.remedy
    }


def _waiting(count: int) -> Trace:
    columns = {"start_ns": [0, *range(10**7, 10**7 + count - 1)], "duration_ns": [10**7] + [1] * (count - 1)}
    ops = ["IteratorGetNext"] + ["MatMul"] * (count - 1)
    rows = {"kind": ["op"] * count, "op": ops, "device": ["/device:CPU:0"] * count}
    return Trace(events.build(columns | rows))


def test_traces_larger_than_the_what_if_tab_takes_have_no_gains() -> None:
    small, some, large = (_waiting(count).findings for count in (2, 50_000, MOST_EVENTS + 1))
    assert small["id"].tolist() == some["id"].tolist() == large["id"].tolist() == ["input_bound.one"]
    assert small["gain"].tolist() == [pytest.approx(1, abs=1e-6)]
    assert some["gain"].tolist() == [pytest.approx(1, abs=0.01)]
    assert math.isnan(large["gain"].iloc[0])


def _calls(steps: int, *, linked: bool = True, rest: int = 2 * 10**6, generator: bool = False) -> Trace:
    """Make steps in which a call waits for an op on another thread, which takes 80 to 84 % of a step.

    After it the call itself works for ``rest`` ns. A generator can prepare an element meanwhile, outside of
    the steps.
    """
    rows: list[dict[str, Any]] = []
    for step in range(steps):
        work = 8 * 10**6 + 10**5 * (step % 5)
        at = step * (8 * 10**6 + rest)
        link = {"produced": step} if linked else {}
        for name, lane, start, end, more in (
            ("FunctionRun", "python", 0, work + rest, link),
            (
                "ExecutorState::Process",
                "tf_Compute/1",
                10**6,
                work + 3 * 10**6,
                {"consumed": step} if linked else {},
            ),
            ("PyFunc", "tf_Compute/1", 10**6, work + 10**6, {"kind": "op"}),
        ):
            row = {"kind": "host", "lane": lane, "name": name, "op": name, "step": step}
            rows.append(row | {"start_ns": at + start, "duration_ns": end - start} | more)
        if generator:
            row = {"kind": "op", "lane": "tf_data/1", "name": "next", "step": events.NO_STEP}
            rows.append(row | {"start_ns": at + 10**5, "duration_ns": work + rest - 10**6})
    return built(rows)


def test_an_element_prepared_during_a_call_is_not_awaited_by_it() -> None:
    trace = _calls(6, rest=30 * 10**6, generator=True)
    assert gain(trace, {"ops": {"PyFunc": 0}}, range(6)).reason is None


def test_a_range_comes_from_the_steps_of_the_trace() -> None:
    steps = range(1, 11)
    half = gain(_calls(11), {"ops": {"PyFunc": 0.5}}, steps)
    assert half.low < half.share < half.high
    typical = _calls(11).what_if(ops={"PyFunc": 0.5}).typical
    assert typical.low_ns < typical.predicted_ns < typical.high_ns
    few = _calls(4).what_if(ops={"PyFunc": 0.5}).typical
    assert np.isnan([few.low_ns, few.high_ns]).all()


def test_a_range_holds_a_faster_rest_of_the_step() -> None:
    trace = _calls(11)
    saved = trace.what_if(ops={"PyFunc": 0}).times["saved_share"].iloc[1:]
    whole = gain(trace, {"ops": {"PyFunc": 0}}, range(1, 11))
    assert whole.low == pytest.approx(saved.quantile(0.1))
    assert saved.max() < whole.high < 1


@pytest.mark.parametrize(("factor", "filled"), [(0, 1_600_000), (0.4, 1_600_000), (0.8, 0)])
def test_a_range_starts_at_small_work_without_the_wait_before_it(factor: float, filled: int) -> None:
    """Of an op of 90 ms, small ones of 50 us and one of 10 ms: their thread fills its cache in 1.6 ms."""
    rows = [
        op(name, step * 10**9 + start, length, *needed, op=name, step=step)
        for step in range(5)
        for name, start, length, needed in (
            ("wait", 0, 90_000_000, []),
            ("small", 90_000_000, 50_000, ["wait"]),
            ("large", 90_050_000, 10_000_000, ["small"]),
        )
    ]
    typical = built(rows).what_if(ops={"wait": factor}).typical
    assert typical.predicted_ns == factor * 90_000_000 + 10_050_000
    assert typical.low_ns == pytest.approx(typical.predicted_ns - filled)


def test_the_range_of_the_shown_step_holds_it() -> None:
    rows = [
        op(name, step * 10**9 + start, length, *needed, op=name, step=step)
        for step, wait in enumerate((50, 51, 2, 53, 54))
        for name, start, length, needed in (
            ("wait", 0, wait * 10**6, []),
            ("rest", wait * 10**6, (60 if step == 2 else 10) * 10**6, ["wait"]),
        )
    ]
    shown: Any = outcome(built(rows), {"subject": "ops", "name": "wait", "how": 0})
    assert (shown["step"], shown["predicted_ns"]) == ("Median step, 2", 60 * 10**6)
    assert shown["range"][1] == 60 * 10**6


def test_gains_of_traces_that_lack_the_wait_have_a_reason() -> None:
    assert gain(_calls(6), {"ops": {"PyFunc": 0}}, range(6)).reason is None
    found = gain(_calls(6, linked=False), {"ops": {"PyFunc": 0}}, range(6))
    assert found.reason is not None
    assert found.reason.id == "wait_not_recorded"
    assert math.isnan(found.share)
    sentences = RULES["cpu_ops"].remedy.saves(found, {})  # type: ignore[union-attr]
    assert sentences == ("", f"The savings cannot be predicted: {found.reason}.")


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 40)), min_size=2, max_size=6))
def test_free_launches_save_no_more_than_the_device_idles(work: list[tuple[int, int]]) -> None:
    """Kernels on two streams overlap in a replay, but share the device."""
    rows, at, busy = [], 0, 0
    for number, (launch, length) in enumerate(work):
        rows += [
            {"kind": "op", "lane": "ops", "name": f"n{number}", "start_ns": at, "duration_ns": launch + 1},
            {
                "kind": "kernel",
                "lane": f"stream:{number % 2}",
                "name": f"n{number}",
                "start_ns": at + launch + 1,
                "duration_ns": length,
                "scheduled_ns": at,
            },
        ]
        at, busy = at + launch + 1 + length, busy + length
    trace = built([row | {"device": GPU, "op": "MatMul"} for row in rows])
    found = gain(trace, {"activities": {"launch": 0}}, [0])
    assert not found.share > 1 - busy / at + 1e-9


def test_removed_communication_equals_its_part_of_the_step() -> None:
    tasks = [f"/job:worker/replica:0/task:{number}" for number in range(2)]
    rows = [
        row | {"task": task, "device": f"{task}/device:CPU:0", "step": step}
        for step in range(3)
        for task in tasks
        for row in (
            op("a", step * 1000, 10),
            op("reduce", step * 1000 + 10, 980, "a", kind="collective", op="CollectiveReduceV2"),
            op("b", step * 1000 + 990, 10, "reduce"),
        )
    ]
    table = built(rows).findings.set_index("id")
    assert table.loc["communication", "gain"] == pytest.approx(0.98, abs=0.01)


def _reduced(*needed: str) -> Trace:
    """An op after a reduction, with the ops that it needs."""
    reduce = op("reduce", 10, 50, "a", kind="collective", op="CollectiveReduceV2", lane="collective")
    return built([op("a", 0, 10), reduce, op("b", 60, 10, *needed)])


def test_gains_of_work_that_nothing_awaits_have_a_reason() -> None:
    change = {"activities": {"communication": 0}}
    assert gain(_reduced("reduce"), change, [0]).share == pytest.approx(50 / 70)
    found = gain(_reduced("a"), change, [0])
    assert math.isnan(found.share)
    assert found.reason is not None
    assert found.reason.id == "work_not_awaited"


@pytest.mark.parametrize("needed", ["reduce", "a"])
def test_predictions_are_doubted_as_gains_are(needed: str) -> None:
    trace, change = _reduced(needed), {"activities": {"communication": 0}}
    reason = gain(trace, change, [0]).reason
    found = trace.what_if(**change)  # type: ignore[arg-type]
    assert found.doubt == reason
    assert any("not trusted" in note for note in found.notes) == (needed == "a")
    shown = outcome(trace, {"subject": "activities", "name": "communication", "how": 0})
    assert shown["doubt"] == (reason or "")
