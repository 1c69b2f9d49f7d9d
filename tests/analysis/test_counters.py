"""Values over time, checked against sums over every nanosecond."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import counter_statistics, counters, why_not
from tfvis_nb.analysis.input.stage_names import facts_of
from tfvis_nb.core.counters import build

KERAS = "cpu_tf221_keras_fit.xplane.pb.xz"
changes = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(-3, 9)), max_size=12)


def trace_of(values: list[tuple[str, int, int]], length: int = 40) -> Trace:
    names, times, amounts = zip(*values, strict=True) if values else ((), (), ())
    table = events.build({"start_ns": [0], "duration_ns": [length], "kind": ["host"]})
    recorded = build({"counter": list(names), "time_ns": list(times), "value": list(amounts)})
    return Trace(table, recorded_counters=recorded)


@given(values=changes, ends=st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_figures_of_a_range_are_those_of_every_nanosecond(
    values: list[tuple[str, int, int]], ends: tuple[int, int]
) -> None:
    start, end = sorted(ends)
    found = counter_statistics(trace_of(values), (start, end))
    expected = {}
    for name in sorted({name for name, _, _ in values}):
        own = sorted((value[1:] for value in values if value[0] == name), key=lambda value: value[0])
        lasts = [value for at in range(start, end) for value in [v for t, v in own if t <= at][-1:]]
        held = [value for t, value in own if t <= start][-1:]
        some = [*held, *(value for time, value in own if start < time <= end)]
        if some:
            # Values of one time other than the last have no length, but they were there.
            expected[name] = (min(some), np.mean(lasts) if lasts else None, max(some))
    assert found["counter"].tolist() == list(expected)
    for row, (least, mean, most) in zip(found.itertuples(), expected.values(), strict=True):
        assert (row.least, row.most) == (least, most)
        if mean is not None:
            assert row.mean == pytest.approx(mean)


@pytest.mark.parametrize(
    ("ends", "said"),
    [((5, 1), "range_reversed"), (3, "range_no_pair"), ("ab", "range_no_pair"), ((0, 1.5), "range_no_pair")],
)
def test_a_range_is_two_whole_numbers_in_order(ends: Any, said: str) -> None:
    with raises_id(ValueError, said):
        counter_statistics(trace_of([("a", 0, 1)]), ends)


def test_huge_values_stay_finite() -> None:
    found = counter_statistics(trace_of([("a", 0, 10**308), ("a", 20, 10**308)]))
    assert found["mean"].tolist() == [1e308]


def test_nothing_counted_is_said() -> None:
    for analysis in (counters, counter_statistics):
        assert why_not(analysis(trace_of([]))).id == "no_counters"


def test_the_fill_of_buffers_is_what_each_call_found(data: Path) -> None:
    trace = real_trace(data / KERAS)
    expected = [
        (row["start_ns"], int(facts_of(row["detail"]).get("buffered_elements", 0)))
        for _, row in trace.events[trace.events["name"] == "Iterator::Root::Prefetch"].iterrows()
    ]
    found = trace.counters[trace.counters["series"] == "Root::Prefetch"]
    assert len(expected) > 2
    assert list(zip(found["time_ns"], found["value"], strict=True)) == expected
    assert set(found["unit"]) == {"elements"}
