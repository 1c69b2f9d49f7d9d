"""Findings from counters of the machine: clocks that a GPU lowers, and memory that grows."""

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


def memory(levels: Any, counter: str = "resident memory", device: str = "") -> Trace:
    """Make a trace of a step of 100 ms for each level of memory, which is sampled every 50 ms."""
    levels = np.repeat(np.asarray(levels, float), 2)
    times = [50 * (place + 1) for place in range(len(levels))]
    return trace_of((counter, "", times, levels), steps=len(levels) // 2, device=device)


def grown(trace: Trace) -> list[dict[str, Any]]:
    return [row["figures"] for row in trace.findings.to_dict("records") if row["id"] == "growing_memory"]


MB = 10**6
LEAK = 34.0 * MB * np.arange(80)
NOISE = np.random.default_rng(7).uniform(0, 40 * MB, 80)


def test_growing_memory_is_a_finding_with_its_interval() -> None:
    (figures,) = grown(memory(10**9 + LEAK + NOISE))
    assert 30 * MB < figures["low_bytes"] <= figures["step_bytes"] <= figures["high_bytes"] < 38 * MB
    assert figures["step_bytes"] == pytest.approx(34 * MB, rel=0.05)
    assert (figures["first"], figures["last"]) == (10, 79)
    (figures,) = grown(memory(LEAK + NOISE, "allocated", GPU))
    assert (figures["counter"], figures["device"]) == ("allocated", GPU)


@pytest.mark.parametrize("length", [2, 5, 16, 27, 39])
@pytest.mark.parametrize("phase", [0, 0.5, 0.9])
def test_memory_that_is_given_back_is_no_finding(length: int, phase: float) -> None:
    """A sawtooth, as by Python's garbage collector."""
    steps = np.arange(80) + round(phase * length)
    assert not grown(memory(10**9 + 34 * MB * (steps % length) + NOISE))


@pytest.mark.parametrize(
    "levels",
    [
        NOISE,
        np.minimum(LEAK, LEAK[9]),  # warm-up
        np.where(np.arange(80) < 40, 0, 900 * MB),
        LEAK[::-1],
        np.append(LEAK[:79], 0),
        np.append(LEAK[65:75], LEAK[:70]),  # one long tooth, which may end as the one before it
        LEAK / 1000,
    ],
)
def test_memory_that_does_not_grow_on_is_no_finding(levels: Any) -> None:
    trace = memory(10**9 + levels)
    assert not grown(trace)
    table = measurements(trace).set_index("kind")
    assert table["figures"]["growing memory"]["step_bytes"] == 0


def test_growth_of_few_steps_is_unknown() -> None:
    for trace in (memory(LEAK[:15]), trace_of(steps=80)):
        assert not grown(trace)
        assert "reason" in measurements(trace).set_index("kind")["figures"]["growing memory"]


def test_bytes_of_recorded_events_are_no_finding() -> None:
    trace = memory(LEAK / 100)
    assert grown(trace)
    many = Trace(
        trace.events.loc[np.repeat(np.arange(80), 400)].reset_index(drop=True),
        recorded_counters=trace.recorded_counters,
    )
    assert not grown(many)
