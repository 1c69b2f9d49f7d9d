"""The front end's data about steps, checked by counting nanoseconds one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.bitmaps import counted, windows
from tests.wire_reader import read_drawn
from tfvis_nb import events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.display.wire.header import step_table

KINDS = ("kernel", "memcpy", "memset", "collective", "op", "host")
BUSY = KINDS[:4]
Row = tuple[int, int, int, str, str, str]


def trace_of(rows: list[Row]) -> tv.Trace:
    """A trace of rows of step, start, duration, device, lane and kind."""
    names = ("step", "start_ns", "duration_ns", "device", "lane", "kind")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return tv.Trace(events.order(events.build(columns, rows=len(rows)))[0])


def slow_table(rows: list[Row]) -> list[dict[str, Any]]:
    trace = trace_of(rows)
    origin = min((row[1] for row in rows), default=0)
    spans = windows(trace)
    table: list[dict[str, Any]] = []
    for step in sorted({row[0] for row in rows}):
        of_step = [row for row in rows if row[0] == step]
        whole = min(row[1] for row in of_step), max(row[1] + row[2] for row in of_step)
        start, end = (at - origin for at in spans.get(step, whole))
        beside = [row for row in rows if row[0] == events.NO_STEP != step]
        shown = len(of_step) + sum(_overlaps(row[1] - origin, row[2], start, end) for row in beside)
        table.append({"step": step, "start": start, "end": end, "events": shown, "label": ""})
    of_event = trace.events[["step", "start_ns", "duration_ns", "device", "lane", "kind"]].to_numpy().tolist()
    parts: dict[int, list[Row]] = {}
    for event, step, (first, last) in counted(trace):
        parts.setdefault(step, []).append((step, first, last - first, *of_event[event][3:]))
    if len(table) > 1 and any("GPU" in row[3] for found in parts.values() for row in found):
        for one in table:
            ns = longest_busy(parts.get(one["step"], []))
            if one["step"] != events.NO_STEP and ns is not None:
                one["device"] = ns
    return table


def _overlaps(start: int, length: int, first: int, last: int) -> bool:
    return first < start + length and start < last if length else first <= start <= last


def longest_busy(rows: list[Row]) -> int | None:
    """The busy time of the busiest GPU; None if it only ran ops and no tracer recorded its kernels."""
    on_gpu = [row for row in rows if "GPU" in row[3]]
    traced = any(row[5] in BUSY[:3] for row in rows) or any(row[5] != "op" for row in on_gpu)
    if on_gpu and not traced:
        return None
    busy: dict[str, set[int]] = {row[3]: set() for row in on_gpu}
    for _, start, duration, device, _, kind in on_gpu:
        if kind in BUSY:
            busy[device].update(range(start, start + duration))
    return max((len(each) for each in busy.values()), default=0)


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
    header, _ = read_drawn(bar_bytes(trace))
    assert header["steps"] == expected
    assert lay_out(trace, order_lanes(trace.events)).steps == expected


def test_a_step_whose_gpu_is_not_traced_has_no_busy_time() -> None:
    kernel = (0, 5, 10, "/device:GPU:0", "stream:1", "kernel")
    op = (1, 50, 10, "/device:GPU:0", "ops", "op")
    other = (2, 70, 10, "/device:CPU:0", "ops", "op")
    header, _ = read_drawn(bar_bytes(trace_of([kernel, op, other])))
    assert [step.get("device") for step in header["steps"]] == [10, None, 0]


def test_steps_of_a_cpu_have_no_busy_device() -> None:
    header, _ = read_drawn(bar_bytes(real_trace([DATA / "local_mlp_step1.pb"] * 2)))
    assert [sorted(step) for step in header["steps"]] == [["end", "events", "label", "start", "step"]] * 2


def test_rows_in_any_order_have_the_same_work() -> None:
    random = np.random.default_rng(3)
    table = events.build(
        {
            "step": np.repeat([0, 1, 2], 200),
            "start_ns": np.arange(600) * 7,
            "duration_ns": random.integers(0, 40, 600),
            "kind": ["kernel"] * 600,
            "device": random.choice(["GPU:0", "GPU:1", "CPU:0"], 600).tolist(),
        }
    )
    trace = tv.Trace(events.order(table)[0])
    ordered, _ = step_table(trace, trace.events)
    shuffled, position = step_table(trace, trace.events.take(random.permutation(600)))
    assert ordered == shuffled
    assert np.bincount(position).tolist() == [200] * 3


@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_the_steps_with_twice_the_work(shared: Path) -> None:
    trace = real_trace(shared / "h200" / "mlp_60steps.tar.xz")
    header, _ = read_drawn(bar_bytes(trace))
    work = np.array([step["device"] for step in header["steps"]])
    assert np.flatnonzero(work >= SLOW_STEP_RATIO * np.median(work)).tolist() == [13, 33, 53]
