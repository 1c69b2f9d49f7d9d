"""Findings from counters of the machine: clocks that a GPU lowers."""

from typing import Any

import numpy as np
import pytest

from tfvis_nb import Trace, events
from tfvis_nb.analysis import gate_metrics, measurements
from tfvis_nb.core.counters import build

MS = 1_000_000
GPU = "/device:GPU:0"


def trace_of(*series: tuple[str, str, list[int], Any], steps: int = 10, device: str = GPU) -> Trace:
    """Make a trace of steps of 100 ms each; a series has a counter, a name, times in ms and values."""
    columns = {
        "start_ns": [100 * MS * step for step in range(steps)],
        "duration_ns": [100 * MS] * steps,
        "step": list(range(steps)),
        "kind": ["kernel"] * steps,
        "device": [device] * steps,
    }
    rows = [
        (counter, name, at * MS, value)
        for counter, name, times, values in series
        for at, value in zip(times, np.broadcast_to(values, len(times)).tolist(), strict=True)
    ]
    names = ("counter", "series", "time_ns", "value")
    recorded = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    recorded["device"] = [device] * len(rows)
    return Trace(events.build(columns), recorded_counters=build(recorded))


def throttled(reason: str, first: int, last: int, clock: float = 990) -> Trace:
    """Make a trace of a GPU that is throttled from one step to another."""
    times = [*range(0, 1001, 50)]
    on = np.array([100 * first <= at < 100 * (last + 1) for at in times], float)
    return trace_of(
        ("throttled", "", times, on),
        ("throttled", reason, times, on),
        ("SM clock", "", times, np.where(on, clock, 1980)),
        ("SM clock", "maximum", times, 1980),
    )


@pytest.mark.parametrize(
    ("reason", "first", "last", "which", "level"),
    [
        ("power cap", 7, 9, "in steps 7 to 9: power cap", "observation"),
        ("heat", 0, 9, "in all steps: heat", "problem"),
        ("hardware slowdown", 4, 4, "in step 4: hardware slowdown", "minor"),
    ],
)
def test_throttled_steps_are_named_with_the_reason(
    reason: str, first: int, last: int, which: str, level: str
) -> None:
    trace = throttled(reason, first, last)
    (finding,) = trace.findings[trace.findings["id"] == "throttled"].to_dict("records")
    assert finding["title"] == f"GPU:0 is throttled {which}"
    assert finding["level"] == level
    assert finding["figures"]["throttled_share"] == pytest.approx((last - first + 1) / 10)
    assert finding["share"] == pytest.approx((last - first + 1) / 20)
    assert finding["figures"]["clock_mhz"] == pytest.approx(990)
    table = measurements(trace).set_index("kind")
    assert table.loc["throttling", "share"] == pytest.approx(finding["share"])


def test_clocks_near_their_maximum_are_no_finding() -> None:
    trace = throttled("power cap", 0, 9, clock=1965)
    assert "throttled" not in set(trace.findings["id"])
    assert "throttling" not in set(measurements(trace).dropna(subset="share").query("share > limit")["kind"])


def test_clocks_that_nothing_recorded_are_unknown() -> None:
    table = measurements(trace_of()).set_index("kind")
    assert table["share"].isna()["throttling"]


def test_steps_have_the_energy_between_their_ends() -> None:
    trace = trace_of(("energy", "", [50, 250, 950], [0, 40, 110]), ("power", "", [50], 200))
    joules = trace.steps["joules"].to_numpy()
    assert np.isnan(joules[[0, 9]]).all()
    assert joules[1:9] == pytest.approx([20, 15, *[10] * 6])
    assert gate_metrics(trace).set_index("metric").loc["step_joules", "value"] == 10
    assert trace.overview["steps"]["joules"] == 10
    assert gate_metrics(trace_of()).set_index("metric")["reason"]["step_joules"].id == "no_energy"
