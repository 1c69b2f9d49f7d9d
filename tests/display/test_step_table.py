"""What the front end is told of each step, against counting the nanoseconds one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.wire_reader import read_drawn
from tfvis_nb import events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.wire.drawn import drawn, step_table

KINDS = ("kernel", "kernel", "op", "memcpy", "collective", "host")
Row = tuple[int, int, int, str, str, str]


def trace_of(rows: list[Row]) -> tv.Trace:
    """A trace of rows of step, start, duration, device, lane and kind."""
    names = ("step", "start_ns", "duration_ns", "device", "lane", "kind")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return tv.Trace(events.order(events.build(columns, rows=len(rows)))[0])


def slow_table(rows: list[Row]) -> list[dict[str, object]]:
    origin = min((row[1] for row in rows), default=0)
    table = []
    for step in sorted({row[0] for row in rows}):
        of_step = [row for row in rows if row[0] == step]
        one: dict[str, object] = {
            "step": step,
            "start": min(row[1] for row in of_step) - origin,
            "end": max(row[1] + row[2] for row in of_step) - origin,
            "events": len(of_step),
            "label": "",
        }
        if any(row[5] == "kernel" for row in rows):
            computing: dict[str, set[int]] = {row[3]: set() for row in of_step}
            for _, start, duration, device, _, kind in of_step:
                if kind == "kernel":
                    computing[device].update(range(start, start + duration))
            one["device"] = max(len(moments) for moments in computing.values())
        table.append(one)
    return table


ROWS = st.tuples(
    st.sampled_from([-1, 0, 1, 7]),
    st.integers(10**18, 10**18 + 60),
    st.integers(0, 20),
    st.sampled_from(["/device:CPU:0", "/device:GPU:0", "/device:GPU:1"]),
    st.sampled_from(["stream:1", "stream:2"]),
    st.sampled_from(KINDS),
)


@given(st.lists(ROWS, max_size=25))
def test_every_step_is_described_as_counted(rows: list[Row]) -> None:
    trace = trace_of(rows)
    expected = slow_table(rows)
    header, _ = read_drawn(drawn(trace))
    assert header["steps"] == expected
    assert lay_out(trace, order_lanes(trace.events)).steps == expected


def test_a_step_without_kernels_has_no_device_work() -> None:
    kernel = (0, 5, 10, "/device:GPU:0", "stream:1", "kernel")
    op = (1, 50, 10, "/device:GPU:0", "ops", "op")
    assert [step["device"] for step in slow_table([kernel, op])] == [10, 0]
    header, _ = read_drawn(drawn(trace_of([kernel, op])))
    assert [step["device"] for step in header["steps"]] == [10, 0]


def test_nothing_is_said_of_devices_without_kernels() -> None:
    header, _ = read_drawn(drawn(real_trace([DATA / "local_mlp_step1.pb"] * 2)))
    assert [sorted(step) for step in header["steps"]] == [["end", "events", "label", "start", "step"]] * 2


def test_rows_in_any_order_have_the_same_work() -> None:
    random = np.random.default_rng(3)
    table = events.build(
        {
            "step": np.repeat([0, 1, 2], 200),
            "start_ns": np.arange(600) * 7,
            "duration_ns": random.integers(0, 40, 600),
            "kind": ["kernel"] * 600,
            "device": random.choice(["a", "b", "c"], 600).tolist(),
        }
    )
    ordered, _ = step_table(table, 0, {})
    shuffled, position = step_table(table.take(random.permutation(600)), 0, {})
    assert ordered == shuffled
    assert np.bincount(position).tolist() == [200] * 3


@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_the_steps_with_twice_the_work(shared: Path) -> None:
    trace = real_trace(shared / "h200" / "mlp_60steps.tar.xz")
    header, _ = read_drawn(drawn(trace))
    work = np.array([step["device"] for step in header["steps"]])
    assert np.flatnonzero(work >= SLOW_STEP_RATIO * np.median(work)).tolist() == [13, 33, 53]
