"""Each step against the median one, against the same looked up step by step."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.examples import examples
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare_activities, slow_steps, why_not
from tfvis_nb.analysis.events.activity import ACTIVITIES, activity
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.steps.slow_steps import median_step
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO

CPU, GPU = "/device:CPU:0", "/device:GPU:0"

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "start_ns": st.integers(0, 40),
            "duration_ns": st.integers(0, 20),
            "step": st.integers(-1, 4),
            "kind": st.sampled_from(["op", "kernel", "host"]),
            "device": st.sampled_from([CPU, GPU]),
            "lane": st.sampled_from(["ops", "python3"]),
            "op": st.sampled_from(["MatMul", "Add", "IteratorGetNext"]),
        }
    ),
    min_size=1,
    max_size=14,
)


def trace_of(rows: list[dict[str, Any]]) -> Trace:
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Trace(events.order(events.build(columns))[0])


def own_times(trace: Trace, step: int) -> dict[tuple[str, str], int]:
    """Return the self time of each op type and kind in a step, of what works."""
    own, is_known = self_times_of(trace)
    repeated = locations(trace.events) == LOCATIONS.index("repeated")
    found: dict[tuple[str, str], int] = {}
    rows: list[dict[Any, Any]] = trace.events.to_dict("records")
    for event, row in enumerate(rows):
        works = ACTIVITIES[activity(trace)[event]] not in ("none", "runtime")
        if row["step"] == step and works and is_known[event] and not repeated[event]:
            key = row["op"], row["kind"]
            found[key] = found.get(key, 0) + int(own[event])
    return found


@settings(max_examples=examples(60))
@given(ROWS)
def test_every_step(rows: list[dict[str, Any]]) -> None:
    trace = trace_of(rows)
    table = slow_steps(trace)
    steps = trace.steps[trace.steps["step"] >= 0]
    assert bool(why_not(table)) == (len(steps) < 2)
    if why_not(table):
        return
    durations = dict(zip(steps["step"].tolist(), steps["duration_ns"].tolist(), strict=True))
    first, *others = durations
    usual = sorted(durations[step] for step in others)[(len(others) - 1) // 2]
    is_slow = len(others) > 1 and durations[first] >= SLOW_STEP_RATIO * max(usual, 1)
    counted = others if is_slow else [*durations]
    middle = sorted(counted, key=lambda step: (durations[step], step))[(len(counted) - 1) // 2]
    assert median_step(trace) == middle
    base = own_times(trace, middle)
    found: list[dict[Any, Any]] = table.to_dict("records")
    assert [row["step"] for row in found] == list(durations)
    for row in found:
        step, excess = row["step"], durations[row["step"]] - durations[middle]
        assert (row["median_step"], row["duration_ns"], row["excess_ns"]) == (middle, durations[step], excess)
        assert row["slow"] == (
            durations[middle] > 0 and durations[step] >= SLOW_STEP_RATIO * durations[middle]
        )
        sign = -1 if excess < 0 else 1
        own = own_times(trace, step)
        more = {key: own.get(key, 0) - base.get(key, 0) for key in own.keys() | base.keys()}
        most = max((value * sign for value in more.values()), default=0)
        if most > 0:
            assert row["op_ns"] == sign * most == more[row["op"], row["op_kind"]]
            event = trace.events.loc[row["op_event"]]
            assert (event["op"], event["kind"]) == (row["op"], row["op_kind"])
            assert event["step"] == (step if (row["op"], row["op_kind"]) in own else middle)
        else:
            assert (row["op"], row["op_kind"]) == ("", "")
            assert pd.isna(row["op_ns"])
        parts = compare_activities(trace, trace, (middle, step))
        parts = parts[parts["difference_ns"].notna()]
        largest = max([value * sign for value in parts["difference_ns"].tolist()], default=0)
        if largest > 0:
            named = parts[parts["activity"] == row["activity"]]["difference_ns"]
            assert row["activity_ns"] == sign * largest == named.item()
        else:
            assert row["activity"] == ""


@settings(max_examples=examples(50))
@given(ROWS)
def test_device_work_of_slow_steps(rows: list[dict[str, Any]]) -> None:
    trace = trace_of(rows)
    table = slow_steps(trace)
    kernels = trace.events[trace.events["kind"] == "kernel"]
    if kernels.empty:
        assert table["work_ns"].isna().all()
        assert table["more_work"].isna().all()
        return
    work = []
    for step in table["step"]:
        busy = []
        for device in (CPU, GPU):
            here = kernels[(kernels["step"] == step) & (kernels["device"] == device)]
            moments: set[int] = set()
            for start, duration in zip(here["start_ns"], here["duration_ns"], strict=True):
                moments.update(range(start, start + duration))
            busy.append(len(moments))
        work.append(max(busy))
    assert table["work_ns"].tolist() == work
    middle = sorted(work)[(len(work) - 1) // 2] if work else 0
    if middle:
        assert table["work_ratio"].tolist() == [one / middle for one in work]
        assert table["more_work"].tolist() == [one / middle >= SLOW_STEP_RATIO for one in work]
    else:
        assert table["work_ratio"].isna().all()


@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_the_steps_with_larger_batches(shared: Path) -> None:
    trace = real_trace(shared / "h200" / "mlp_60steps.tar.xz")
    table = slow_steps(trace).set_index("step")
    assert table.index[table["more_work"].to_numpy(bool)].tolist() == [13, 33, 53]
    assert table.index[table["slow"]].tolist() == [13]
    slow = table.loc[13]
    assert slow["ratio"] > 10
    # Its batch is larger than those before, and the host looks for a way to multiply matrices of that size.
    assert (slow["activity"], slow["op"], slow["op_kind"]) == ("launch", "MatMul", "op")
    assert trace.events.loc[slow["op_event"], "duration_ns"] > 0.8 * slow["excess_ns"]
    # The others only have more to copy.
    assert set(table.loc[[33, 53], "op"]) == {"MemcpyH2D"}
    assert set(table.loc[[33, 53], "activity"]) == {"h2d"}
    median = table.loc[7]
    assert slow["median_step"] == 7
    assert (median["excess_ns"], median["activity"], median["op"]) == (0, "", "")


def test_a_step_that_compiles() -> None:
    table = slow_steps(real_trace(DATA / "cpu_jax.xplane.pb"))
    assert len(table) == 3
    assert (table["excess_ns"] == 0).sum() == 1


def test_too_few_steps() -> None:
    assert why_not(slow_steps(Trace(events.build({}, rows=0)))).id == "no_steps"
    columns = {"start_ns": [0, 9], "duration_ns": [5, 5], "kind": ["op"] * 2}
    one = slow_steps(Trace(events.build(columns)))
    assert why_not(one).id == "one_step"
    two = slow_steps(Trace(events.build({**columns, "step": [0, 1]})))
    assert one.dtypes.astype(str).to_dict() == two.dtypes.astype(str).to_dict()
    assert median_step(Trace(events.build({}, rows=0))) is None
