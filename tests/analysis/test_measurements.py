"""Everything that findings look for is measured, whether it is reported or not."""

from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, SHARED, real_trace
from tfvis_nb import events
from tfvis_nb.analysis import measurements, why_not
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.core.format import unbroken
from tfvis_nb.display.tabs import tab

LAUNCH_BOUND = RULES["launch_bound"].thresholds
LAUNCHES = 500


def _launched(count: int, busy: int, gap: int) -> tv.Trace:
    """A step of kernels; the host launches each one a gap after the previous one ended."""
    start = np.arange(count) * (busy + gap)
    node = [f"node{number}" for number in range(count)]
    columns = {
        "start_ns": np.concatenate([start - gap, start]),
        "duration_ns": [gap] * count + [busy] * count,
        "kind": ["op"] * count + ["kernel"] * count,
        "lane": ["ops"] * count + ["stream:1"] * count,
        "scheduled_ns": [None] * count + (start - 1).tolist(),
        "name": node * 2,
        "op": ["MatMul"] * 2 * count,
        "device": ["/device:GPU:0"] * 2 * count,
    }
    return tv.Trace(events.order(events.build(columns))[0])


def _measured(trace: tv.Trace, rule: str) -> dict[str, Any]:
    """The figures of a rule in a trace of whose steps nothing is found."""
    assert not set(trace.findings["kind"]) - {"outside steps", "first step", "host compute"}
    figures: dict[str, Any] = measurements(trace).set_index("id")["figures"].loc[rule]
    return figures


def test_a_device_waiting_for_launches_is_found() -> None:
    table = _launched(LAUNCHES, 60, 40).findings
    assert table["id"].tolist() == ["launch_bound"]
    assert table["figures"][0]["busy_share"] == 0.6
    assert table["share"].tolist() == [0.4]


@pytest.mark.parametrize("count", [LAUNCHES, 50])
def test_launches_are_reported_with_what_tracing_may_cost(count: int) -> None:
    found = _launched(count, 10_000, 10_000).findings
    assert found["id"].tolist() == ["launch_bound"]
    assert found["figures"][0]["tracing_share"] == LAUNCH_BOUND["TRACING_NS"].value / 20_000
    assert "25.0 % of step time" in found["how"][0]


def test_below_the_thresholds_the_figures_are_known() -> None:
    trace = _launched(LAUNCHES, 90, 10)
    figures = _measured(trace, "launch_bound")
    assert (figures["busy_share"], figures["share"]) == (0.9, 0.1)
    assert (figures["cause"], figures["cause_share"]) == ("late launch", 0.1)
    assert _measured(trace, "input_bound")["share"] == 0
    assert _measured(trace, "idle_device")["share"] == pytest.approx(0.1)
    block, _ = tab(trace, "Overview")["blocks"]
    assert block["measured"] == [unbroken(text) for text in measurements(trace)["text"]]


def test_machine_without_gpu_lacks_no_kernels() -> None:
    trace = real_trace(DATA / "local_mlp_step1.pb")
    block, _ = tab(trace, "Overview")["blocks"]
    assert len(block["measured"]) > 5
    assert not [text for text in block["measured"] if "GPU kernels" in text or "of a GPU" in text]


def test_figures_explain_why_nothing_is_reported() -> None:
    columns = {"kind": ["op"] * 2, "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    short = tv.Trace(events.build({"start_ns": [0, 100_000], "duration_ns": [100_000] * 2, **columns}))
    figures = _measured(short, "input_bound")
    assert (figures["share"], figures["mean_ns"]) == (0.5, 100_000)


@pytest.mark.parametrize(
    ("took", "slow", "slow_first"), [([10] * 6 + [20] * 4, 4, False), ([16] + [10] * 9, 0, True)]
)
def test_many_slow_steps_and_a_slow_first_one_are_not_slow_steps(
    took: list[int], slow: int, *, slow_first: bool
) -> None:
    count = len(took)
    columns = {"kind": ["op"] * count, "op": ["MatMul"] * count, "step": list(range(count))}
    start = [step * 100 for step in range(count)]
    trace = tv.Trace(events.build({"start_ns": start, "duration_ns": took, **columns}))
    figures: Any = measurements(trace).set_index("id")["figures"].loc["slow_steps"]
    assert (figures["slow_steps"], figures["steps"], figures["slow_first_step"]) == (slow, count, slow_first)
    found = trace.findings.query("kind == 'slow steps'")["id"].tolist()
    assert found == (["slow_steps.uneven"] if slow else [])
    assert figures["reported"] == bool(found)


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_reported_findings_are_measured_as_reported() -> None:
    trace = real_trace(SHARED / "h200" / "straggler_ps_3gpuworkers_step0.pb")
    figures: Any = measurements(trace).set_index("id")["figures"].loc["straggler"]
    assert figures["reported"]
    assert figures["share"] == figures["shares"]["end"] == trace.findings["share"][0]


def test_missing_data_has_no_share() -> None:
    trace = tv.Trace(
        events.build({"start_ns": [0], "duration_ns": [9], "kind": ["op"], "device": ["/device:GPU:0"]})
    )
    table = measurements(trace).set_index("id")
    assert set(table.index) == set(RULES)
    for rule in ("launch_bound", "idle_device", "copies", "cpu_ops", "slow_steps", "straggler"):
        assert table["share"].isna()[rule]
        assert table["figures"].loc[rule]["reason"]


def test_without_launches_the_least_used_accelerator_is_measured() -> None:
    columns = {"kind": ["kernel"] * 3, "op": ["MatMul"] * 3, "device": ["TPU:0", "TPU:1", "TPU:0"]}
    trace = tv.Trace(events.build({"start_ns": [0, 0, 50], "duration_ns": [50, 20, 50], **columns}))
    figures: Any = measurements(trace).set_index("id")["figures"].loc["launch_bound"]
    assert (figures["device"], figures["busy_share"]) == ("TPU:1", 0.2)


def test_a_trace_without_steps_says_so() -> None:
    table = measurements(
        tv.Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"], "step": [-1]}))
    )
    assert table.empty
    assert why_not(table).id == "no_steps"


@pytest.mark.parametrize(
    ("name", "device", "busy", "waits"),
    [
        pytest.param(name, *known, marks=pytest.mark.collection(name))
        for name, *known in (
            ("h200/mlp_step2.pb", "GPU:0", 0.059, 0.928),
            ("h200/keras_fit_gpu.xplane.pb", "GPU:0", 0.126, 0.563),
            ("h200/mlp_software_trace.pb", None, None, None),
        )
    ],
)
def test_devices_of_traces(name: str, device: str | None, busy: float | None, waits: float | None) -> None:
    figures: Any = measurements(real_trace(SHARED / name)).set_index("id")["figures"].loc["launch_bound"]
    assert figures.get("device", "").rpartition("device:")[2] == (device or "")
    for column, value in (("busy_share", busy), ("share", waits)):
        assert value is None or round(figures[column], 3) == value


@pytest.mark.parametrize(
    ("took", "kinds", "reason"),
    [
        ([10], ["op"], "one_step"),
        ([10, 10], ["op", "op"], "few_steps"),
        ([90, 10], ["kernel", "op"], "few_steps"),
        ([90, 10, 10], ["kernel", "op", "op"], "kernels_in_first_step"),
    ],
)
def test_first_steps_that_cannot_be_compared(took: list[int], kinds: list[str], reason: str) -> None:
    columns = {
        "start_ns": np.cumsum([0, *took[:-1]]),
        "duration_ns": took,
        "kind": kinds,
        "op": ["Add"] * len(took),
    }
    trace = tv.Trace(events.build(columns | {"step": range(len(took))}))
    row = measurements(trace).set_index("id").loc["first_step"]
    assert row["figures"]["reason"].id == reason
    assert "not available" in row["text"]
