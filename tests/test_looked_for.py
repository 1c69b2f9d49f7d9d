"""Where nothing is found, what was looked at is said in figures, and what the trace does not hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import SHARED
from tfvis_nb import events
from tfvis_nb.analysis.answers import why_not
from tfvis_nb.analysis.findings import findings
from tfvis_nb.analysis.findings_of_devices import ENOUGH_LAUNCHES, LAUNCH_LIMIT
from tfvis_nb.analysis.looked_for import looked_for
from tfvis_nb.display.panels import tab

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
    assert "works 60 % of the steps' time and waits 40 % for launches" in table["text"][0]
    assert LAUNCH_LIMIT < table["share"][0] < 0.4


def test_below_the_limits_the_figures_are_told() -> None:
    seldom = _launched(ENOUGH_LAUNCHES, 90, 10)
    few = _launched(ENOUGH_LAUNCHES - 1, 10, 90)
    for trace, said in (
        (seldom, "GPU:0 worked 90 % of the time and waited 10 % for launches (a finding from 25 % "),
        (few, "GPU:0 worked 10 % of the time and waited 90 % for launches (a finding from 25 % "),
    ):
        assert findings(trace).empty
        (block,) = tab(trace, "Findings")["blocks"]
        assert block["looked_for"][0].startswith(said)
        assert "; most of its idle time, 100 %, has the cause " in block["looked_for"][0]
    assert "of steps with at least 500 launches; these have 499" in block["looked_for"][0]


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
    assert str(text).startswith("TPU:1 worked 20 % of the time; ")


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
            ("h200/mlp_step2.pb", "GPU:0 worked 5.9 % of the time and waited 68 % for launches"),
            ("h200/keras_fit_gpu.xplane.pb", "GPU:0 worked 13 % of the time and waited 51 % for launches"),
            ("third-party/xprof/bert_8gpu_tf24.xplane.pb.xz", "GPU:6 worked 2.2 % of the time"),
            ("h200/mlp_software_trace.pb", "Cannot say how far a GPU waited for launches"),
        )
    ],
)
def test_what_is_said_of_traces_in_which_nothing_is_found(name: str, said: str) -> None:
    (block,) = tab(tv.read_trace(SHARED / name), "Findings")["blocks"]
    assert block["items"] == []
    assert any(text.startswith(said) for text in block["looked_for"])
