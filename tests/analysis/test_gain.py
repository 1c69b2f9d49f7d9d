"""The predicted savings of removing the cause of a finding."""

import json
import math

import pytest

from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.prediction.gain import MOST_EVENTS
from tfvis_nb.analysis.steps.other_steps import other_steps

SAMPLES = [
    "gpu_tf221_mixed.pb.xz",
    "gpu_tf221_two_logical.pb.xz",
    "cpu_tf215_input.xplane.pb.xz",
    "cpu_tf221_dist_while.pb.xz",
]
GOLDEN = json.loads((DATA / "texts" / "findings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_gain_is_what_a_replay_saves(name: str) -> None:
    trace = real_trace(DATA / name)
    found = trace.findings[trace.findings["gain"].notna()]
    assert len(found)
    of_kind = {rule.kind: rule.remedy for rule in RULES.values()}
    steps = other_steps(trace).breakdown["step"].unique()
    for finding in found.to_dict("records"):
        remedy = of_kind[finding["kind"]]
        assert remedy is not None
        times = trace.what_if(**remedy.changes(finding["figures"])).times
        times = times[times["step"].isin(steps)]
        assert finding["gain"] == times["saved_ns"].sum() / times["recorded_ns"].sum()
        assert 0 <= finding["gain"] <= 1
        assert finding["text"].endswith(remedy.saves(finding["gain"]))


@pytest.mark.parametrize("case", GOLDEN["remedies"], ids=lambda case: f"{case['id']} {case['gain']}")
def test_the_text_of_a_gain(case: dict[str, str | float]) -> None:
    remedy = RULES[str(case["id"])].remedy
    assert remedy is not None
    assert remedy.saves(float(case["gain"])) == case["text"]


def test_every_remedy_has_a_text() -> None:
    assert {case["id"] for case in GOLDEN["remedies"]} == {
        name for name, rule in RULES.items() if rule.remedy
    }


def _waiting(count: int) -> Trace:
    columns = {"start_ns": [0, *range(10**7, 10**7 + count - 1)], "duration_ns": [10**7] + [1] * (count - 1)}
    ops = ["IteratorGetNext"] + ["MatMul"] * (count - 1)
    rows = {"kind": ["op"] * count, "op": ops, "device": ["/device:CPU:0"] * count}
    return Trace(events.build(columns | rows))


def test_large_traces_have_no_gains() -> None:
    small, large = (_waiting(count).findings for count in (2, MOST_EVENTS + 1))
    assert small["id"].tolist() == large["id"].tolist() == ["input_bound.one"]
    assert small["gain"].tolist() == [pytest.approx(1, abs=1e-6)]
    assert math.isnan(large["gain"].iloc[0])
