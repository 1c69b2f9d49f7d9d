"""Where nothing is found, what was looked at is said in figures, and what the trace does not hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import SHARED
from tfvis_nb import events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.findings.devices import ENOUGH_LAUNCHES, LAUNCH_LIMIT
from tfvis_nb.analysis.findings.findings import findings
from tfvis_nb.analysis.findings.looked_for import looked_for
from tfvis_nb.display.tabs import tab

KINDS = {
    "input",
    "late task",
    "communication",
    "cpu ops",
    "launches",
    "copies",
    "compiling",
    "slow steps",
}


def _launched(count: int, busy: int, gap: int) -> tv.Trace:
    """A step of kernels, each launched when the one before it had ended, a gap later."""
    start = np.arange(count) * (busy + gap)
    table = events.build(
        {
            "start_ns": start,
            "duration_ns": [busy] * count,
            "kind": ["kernel"] * count,
            "op": ["MatMul"] * count,
            "device": ["GPU:0"] * count,
            "lane": ["stream:1"] * count,
            "scheduled_ns": pd.array((start - gap).tolist(), "Int64"),
        }
    )
    return tv.Trace(table)


def test_a_device_that_mostly_waits_for_launches_is_found_though_it_works_longer() -> None:
    table = findings(_launched(ENOUGH_LAUNCHES, 60, 40))
    assert table["kind"].tolist() == ["launches"]
    assert "works 60.0 % of the steps' time and waits 40.0 % for launches" in table["text"][0]
    assert LAUNCH_LIMIT < table["share"][0] < 0.4


def _said(trace: tv.Trace) -> list[str]:
    """The sentences of the dashboard, where nothing is found."""
    assert findings(trace).empty
    (block,) = tab(trace, "Findings")["blocks"]
    return list(block["looked_for"])


def test_below_the_limits_the_figures_are_told() -> None:
    said = _said(_launched(ENOUGH_LAUNCHES, 90, 10))
    assert said[0].startswith(
        "GPU:0 worked 90.0 % of the time and waited 10.0 % for launches (a finding from 25 % on);"
        " most of its idle time, 100 %, has the cause "
    )
    assert "0 % passed waiting for input (a finding from 5 % on)." in said


def test_above_the_limits_it_says_why_it_is_no_finding() -> None:
    seen, _, reason = _said(_launched(ENOUGH_LAUNCHES - 1, 10, 90))[0].partition(" No finding, because ")
    assert seen.startswith(
        "GPU:0 worked 10.0 % of the time and waited 90.0 % for launches;"
        " most of its idle time, 100 %, has the cause "
    )
    assert reason == "a step has only 499 launches (from 500 on): most of that is what tracing costs."
    columns = {"kind": ["op"] * 2, "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    short = tv.Trace(events.build({"start_ns": [0, 100_000], "duration_ns": [100_000] * 2, **columns}))
    assert (
        "50.0 % passed waiting for input. No finding, because that is only 100 µs a step (from 500 µs on)."
        in _said(short)
    )


def test_many_slow_steps_are_no_finding_and_the_first_does_not_count() -> None:
    def said(took: list[int]) -> str:
        count = len(took)
        columns = {"kind": ["op"] * count, "op": ["MatMul"] * count, "step": list(range(count))}
        start = [step * 100 for step in range(count)]
        trace = tv.Trace(events.build({"start_ns": start, "duration_ns": took, **columns}))
        return next(text for text in _said(trace) if " steps were slow " in text)

    counted = "steps were slow or had more to do, 1.5 times the median or more, which cost"
    assert said([10] * 6 + [20] * 4) == (
        f"4 of 10 {counted} 28.6 %. No finding, because it is told only of few steps, up to 20 % of them."
    )
    assert said([50] + [10] * 9) == (
        f"0 of 10 {counted} 0 % (a finding from 0.5 % on); the first one, in which is done what is done"
        " once, does not count."
    )


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_what_is_a_finding_is_not_denied() -> None:
    table = looked_for(tv.read_trace(SHARED / "h200" / "straggler_ps_3gpuworkers_step0.pb")).set_index("kind")
    assert table.loc["late task", "text"] == (
        "others waited 84.8 % of the time for the last to be done (a finding from 25 % on)"
    )


def test_what_the_trace_does_not_hold_is_said() -> None:
    trace = tv.Trace(
        events.build({"start_ns": [0], "duration_ns": [9], "kind": ["op"], "device": ["/device:GPU:0"]})
    )
    table = looked_for(trace).set_index("kind")
    assert set(table.index) == KINDS
    for kind in ("launches", "copies", "cpu ops", "slow steps", "late task"):
        assert table["share"].isna()[kind]
        assert "cannot say " in str(table.loc[kind, "text"])


def test_without_launches_it_says_how_much_the_least_used_accelerator_worked() -> None:
    columns = {"kind": ["kernel"] * 3, "op": ["MatMul"] * 3, "device": ["TPU:0", "TPU:1", "TPU:0"]}
    trace = tv.Trace(events.build({"start_ns": [0, 0, 50], "duration_ns": [50, 20, 50], **columns}))
    text = looked_for(trace).set_index("kind").loc["launches", "text"]
    assert str(text).startswith("TPU:1 worked 20.0 % of the time; ")


def test_a_trace_without_steps_says_so() -> None:
    table = looked_for(
        tv.Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"], "step": [-1]}))
    )
    assert table.empty
    assert "step" in why_not(table)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param(name, said, marks=pytest.mark.collection(name))
        for name, said in (
            ("h200/mlp_step2.pb", "GPU:0 worked 5.9 % of the time and waited 68.3 % for launches"),
            (
                "h200/keras_fit_gpu.xplane.pb",
                "GPU:0 worked 12.6 % of the time and waited 50.6 % for launches",
            ),
            ("third-party/xprof/bert_8gpu_tf24.xplane.pb.xz", "GPU:6 worked 2.2 % of the time"),
            ("h200/mlp_software_trace.pb", "Cannot say how far a GPU waited for launches"),
        )
    ],
)
def test_what_is_said_of_traces_in_which_nothing_is_found(name: str, said: str) -> None:
    (block,) = tab(tv.read_trace(SHARED / name), "Findings")["blocks"]
    assert block["items"] == []
    assert any(text.startswith(said) for text in block["looked_for"])
