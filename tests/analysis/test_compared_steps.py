"""Comparisons of several steps: their intervals, step by step, and what chance alone looks like."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.analysis.test_compare import GPU, trace_of
from tests.real_traces import real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare, compare_activities, layers, source_lines, why_not
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.compared_steps import compared_steps
from tfvis_nb.analysis.steps.difference import difference, differences, false_discovery_rates
from tfvis_nb.analysis.steps.op_statistics import GROUPINGS, Grouping, op_statistics
from tfvis_nb.core.stacks import Frame, StackBuilder

STEPS = 60
OPS = ("Conv2D", "MatMul", "Relu", "Add", "Mul", "Mean", "Sum", "Pad")
FIGURES = ("typical_difference_ns", "low_ns", "high_ns", "p_value")


def training(seed: int, *, steps: int = STEPS, first: int = 1, longer: float = 1.0) -> Trace:
    """Steps of a kernel per op, each 5 % around its mean and correlated with the step before by 0.4.

    The first step takes `first` times as long, and its first op in all steps `longer` times.
    """
    chance = np.random.default_rng(seed)
    noise = chance.standard_normal((steps, len(OPS)))
    for step in range(1, steps):
        noise[step] = 0.4 * noise[step - 1] + np.sqrt(1 - 0.4**2) * noise[step]
    took = (1e6 * np.arange(1, len(OPS) + 1)[::-1] * (1 + 0.05 * noise)).astype(np.int64)
    took[0] *= first
    took[:, 0] = took[:, 0] * longer
    start = np.concatenate([[0], np.cumsum(took.ravel())[:-1]])
    columns = {
        "start_ns": start,
        "duration_ns": took.ravel(),
        "kind": ["kernel"] * took.size,
        "device": [GPU] * took.size,
        "op": list(OPS) * steps,
        "step": np.repeat(np.arange(steps), len(OPS)),
    }
    return Trace(events.build(columns))


def some_steps(seed: int) -> Trace:
    """Some events of some ops, in ten steps and outside them."""
    chance = np.random.default_rng(seed)
    rows = [
        {
            "start_ns": int(chance.integers(0, 400)),
            "duration_ns": int(chance.integers(0, 20)),
            "step": int(chance.integers(-1, 10)),
            "kind": str(chance.choice(["op", "kernel", "host"], p=[0.6, 0.37, 0.03])),
            "device": str(chance.choice(["/device:CPU:0", GPU])),
            "lane": str(chance.choice(["ops", "python3"])),
            "name": str(chance.choice(["a/b", "a/c", "d"])),
            "op": str(chance.choice(["MatMul", "While", "Add"])),
        }
        for _ in range(120)
    ]
    return trace_of(rows)


@pytest.mark.parametrize("by", GROUPINGS)
def test_every_row_step_by_step(by: Grouping) -> None:
    sides = [compared_steps(some_steps(seed)) for seed in (1, 2)]
    table = compare(sides[0].trace, sides[1].trace, by)
    keys = list(zip(table[by], table["kind"], table["side"], strict=True))
    times = []
    for side in sides:
        own: list[dict[Any, Any]] = [
            op_statistics(side.trace, by, [step]).set_index([by, "kind", "side"])["self_ns"].to_dict()
            for step in side.recordings[0].tolist()
        ]
        times.append([[0 if pd.isna(of_step.get(key)) else of_step[key] for of_step in own] for key in keys])
    expected = []
    for a, b, known in zip(*times, table["self_difference_ns"].notna(), strict=True):
        row = differences([np.array([a], float)], [np.array([b], float)])
        if not known or row.a[0] == row.b[0] == 0:
            expected.append([np.nan] * 4)
            continue
        expected.append([float(one[0]) for one in (row.b - row.a, row.low, row.high, row.p_value)])
    p_values = false_discovery_rates(np.array(expected)[:, 3])
    assert np.isnan(p_values).any()
    assert np.isfinite(p_values).any()
    for name, values in zip(FIGURES, [*np.array(expected).T[:3], p_values], strict=True):
        assert table[name].tolist() == pytest.approx(values.tolist(), nan_ok=True)
    assert table["shown"].isna().tolist() == np.isnan(p_values).tolist()
    assert table["shown"].fillna(False).tolist() == (p_values < 0.05).tolist()


def test_a_step_of_activities_adds_up() -> None:
    a, b = some_steps(1), some_steps(2)
    table = compare_activities(a, b).set_index("activity")
    for activity in table.index:
        assert f"{activity}_ns" in PARTS
        steps = [
            trace.breakdown.loc[
                (trace.breakdown["device"] == "")
                & trace.breakdown["step"].isin(compared_steps(trace).recordings[0]),
                f"{activity}_ns",
            ].to_numpy(float, na_value=np.nan)
            for trace in (a, b)
        ]
        found = differences([steps[0][None]], [steps[1][None]])
        if found.high[0] - found.low[0] > 0:
            assert table["low_ns"][activity] == pytest.approx(found.low[0])
            assert table["high_ratio"][activity] == pytest.approx(found.ratio_high[0], nan_ok=True)
        else:
            assert pd.isna(table["shown"][activity])
    assert table.attrs["step_time"] == difference(*(compared_steps(trace).durations() for trace in (a, b)))


@pytest.mark.parametrize("pairs", [8, pytest.param(200, marks=pytest.mark.thorough)])
def test_chance_is_rarely_shown_and_a_longer_op_is_found(pairs: int) -> None:
    trace, longer = training(0), training(0, longer=1.1)
    chance = np.random.default_rng(1)
    steps = shown = found = 0
    for _ in range(pairs):
        halves = chance.permutation(STEPS)
        numbers = sorted(halves[:30].tolist()), sorted(halves[30:].tolist())
        null = compare(trace, trace, steps=numbers)
        steps += int(null.attrs["step_time"].shown)
        shown += int(null["shown"].sum())
        planted = compare(trace, longer, steps=numbers).set_index("op")
        found += bool(planted["shown"][OPS[0]]) and bool(planted["low_ratio"][OPS[0]] > 1)
    assert steps <= 0.05 * pairs
    assert shown <= 0.05 * pairs * len(OPS)
    assert found >= 0.95 * pairs


@pytest.mark.thorough
@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_chance_is_rarely_shown_in_a_real_trace(shared: Path) -> None:
    trace = real_trace(shared / "h200" / "mlp_60steps.tar.xz")
    chance = np.random.default_rng(2)
    steps, shares = 0, list[float]()
    for _ in range(200):
        halves = chance.permutation(STEPS)
        table = compare(trace, trace, steps=(halves[:30].tolist(), halves[30:].tolist()))
        steps += int(table.attrs["step_time"].shown)
        shares.append(table["shown"].fillna(False).mean())
    assert steps <= 10
    assert np.mean(shares) <= 0.05


def test_several_recordings_count_together() -> None:
    parts = [training(seed, steps=steps, first=20) for seed, steps in ((1, 9), (2, 8), (3, 12))]
    # All begin at the same time.
    side = compared_steps(parts)
    assert [steps.tolist() for steps in side.recordings] == [
        list(range(1, 9)),
        list(range(10, 17)),
        list(range(18, 29)),
    ]
    assert (side.unit_count, side.trace.events["start_ns"].is_monotonic_increasing) == (29, True)
    other = training(4, steps=10)
    table = compare(iter(parts), [other])
    assert table.attrs["steps"] == (29, 10)
    assert table["self_a_ns"].sum() == sum(part.events["duration_ns"].sum() for part in parts)
    took = [part.steps["duration_ns"].to_numpy()[1:] for part in parts]
    assert table.attrs["step_time"] == difference(took, [other.steps["duration_ns"].to_numpy()])
    # The time from the last step of a recording to the first of the next is no loop.
    loops = [
        [np.diff(part.steps["start_ns"])[first:] for part in own] for own, first in ((parts, 1), ([other], 0))
    ]
    assert table.attrs["loop_time"] == difference(*loops)
    assert compare_activities(parts, other).attrs | {"steps": (29, 10)} == table.attrs
    empty = Trace(events.build({}, rows=0))
    assert compared_steps([empty, parts[0]]).unit_count == 9
    for nothing, error, key in (([], ValueError, "no_traces_to_compare"), ([7], TypeError, "no_trace")):
        strange: Any = nothing
        with raises_id(error, key):
            compare(strange, other)


def test_one_step_has_no_interval() -> None:
    trace = training(0, steps=4)
    for steps in ((0, 1), (0, None), (None, 2)):
        for table in (compare(trace, trace, steps=steps), compare_activities(trace, trace, steps)):
            assert table.attrs["no_interval"].id == "one_step_to_compare"
            assert table[["low_ns", "high_ns", "low_ratio", "shown", "p_value"]].isna().all(axis=None)
            assert np.isnan(table.attrs["step_time"].low)
    assert "no_interval" not in compare(trace, trace).attrs


def test_by_layer_and_by_line() -> None:
    builder = StackBuilder()
    first, second = map(builder.stack, ([Frame("train.py", 4)], [Frame("train.py", 9)]))
    columns: dict[str, Any] = {
        "start_ns": [0, 9, 20, 30],
        "duration_ns": [5, 7, 2, 1],
        "kind": ["op"] * 4,
        "lane": ["ops"] * 4,
        "name": ["net/fc/MatMul", "net/fc/BiasAdd", "net/out/MatMul", "loss"],
    }
    table = events.build(columns)
    nested = pa.table({"stack": pa.array([first, first, second, None], pa.int32())})
    trace = Trace(table, nested=nested, stacks=builder.table())
    by_layer = compare(trace, trace, "layer").groupby("layer")["self_a_ns"].sum()
    assert by_layer.to_dict() == layers(trace).groupby("layer")["host_ns"].sum().to_dict()
    by_line = compare(trace, trace, "line").set_index("line")
    assert by_line["self_b_ns"].to_dict() == {"train.py:4": 12, "train.py:9": 2, "": 1}
    assert source_lines(trace)["host_ns"].tolist() == [12, 2, 1]
    assert why_not(compare(trace, Trace(table), "line")).id == "no_stacks_in_both"
    nothing = Trace(events.build({}, rows=0))
    assert compare(nothing, trace, "layer")["change"].tolist() == ["added"] * 3


@pytest.mark.parametrize("function", [compare, compare_activities])
@pytest.mark.parametrize(
    ("steps", "error", "key"),
    [
        (7, TypeError, "steps_no_pair"),
        ((1, 2, 3), TypeError, "steps_no_pair"),
        (slice(0, 2), TypeError, "steps_no_pair"),
        ("ab", TypeError, "steps_no_pair"),
        ((slice(0, 2), 1), TypeError, "steps_no_list"),
        ((0, "1"), TypeError, "steps_no_list"),
        (([], [1]), ValueError, "steps_empty"),
        ((0, [99]), ValueError, "no_step"),
    ],
)
def test_wrong_steps_are_refused(function: Any, steps: Any, error: type[Exception], key: str) -> None:
    trace = training(0, steps=3)
    with raises_id(error, key):
        function(trace, trace, steps=steps)
