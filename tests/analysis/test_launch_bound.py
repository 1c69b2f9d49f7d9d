"""Late launches against the same found event by event and moment by moment."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.bitmaps import counted
from tfvis_nb import Trace, events
from tfvis_nb.analysis import device_idle, launch_gaps, utilization, why_not
from tfvis_nb.analysis.idle.launch_bound import PARTS, launch_bound, launch_stretches
from tfvis_nb.analysis.idle.launch_gaps import PARTS as GAP_PARTS

TASKS = ("/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1")

Kernel = tuple[int, int, int | None, int, int]
KERNELS = st.lists(
    st.tuples(
        st.integers(10, 40),
        st.integers(0, 6),
        st.one_of(st.none(), st.integers(0, 15)),
        st.integers(0, 2),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=14,
)
Op = tuple[int, int, int, int]
OPS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12), st.integers(0, 2), st.integers(0, 1)), max_size=8
)


def device(number: int) -> tuple[str, str]:
    """The task and the device: two of one task, one of the other."""
    task = TASKS[number // 2]
    return task, f"{task}/device:GPU:{number % 2}"


def trace_of(kernels: list[Kernel], ops: list[Op]) -> Trace:
    rows: list[dict[str, Any]] = []
    for start, length, ahead, where, step in kernels:
        task, name = device(where)
        launch = None if ahead is None else start - ahead
        rows.append(
            {"start_ns": start, "duration_ns": length, "task": task, "device": name, "kind": "kernel"}
            | {"lane": "stream:7", "scheduled_ns": launch, "step": step, "op": f"Op{length}"}
        )
    for start, length, where, step in ops:
        task, name = device(where)
        rows.append(
            {"start_ns": start, "duration_ns": length, "task": task, "device": name, "kind": "op"}
            | {"lane": "ops", "scheduled_ns": None, "step": step, "op": "MatMul"}
        )
    table = pd.DataFrame(rows)
    return Trace(events.order(events.build({str(name): table[name] for name in table}))[0])


def in_steps(trace: Trace) -> pd.DataFrame:
    """The events with the steps that they count to, and from when to when."""
    parts = list(counted(trace))
    frame = trace.events.loc[[event for event, *_ in parts]].assign(step=[step for _, step, _ in parts])
    start = np.array([start for *_, (start, _) in parts], np.int64)
    end = np.array([end for *_, (_, end) in parts], np.int64)
    return frame.assign(start_ns=start, duration_ns=end - start)


def on_each_device(trace: Trace) -> Iterator[tuple[tuple[int, str, str], pd.DataFrame]]:
    frame = in_steps(trace)
    kernels = frame[frame["kind"] == "kernel"]
    for (step, task, name), rows in kernels.groupby(["step", "task", "device"], observed=True):
        where = (int(str(step)), str(task), str(name))
        launch = rows["scheduled_ns"].astype(object).where(rows["scheduled_ns"].notna(), 10**9)
        yield where, rows.assign(order=launch).sort_index().sort_values(["start_ns", "order"], kind="stable")


def slow_gaps(trace: Trace) -> list[tuple[Any, ...]]:
    frame = in_steps(trace)
    ops = frame[frame["kind"] == "op"]
    found: list[tuple[Any, ...]] = []
    for where, rows in on_each_device(trace):
        reached = int(rows["start_ns"].iloc[0])
        for event, row in rows.iterrows():
            start, launch = row["start_ns"], row["scheduled_ns"]
            gap = start - reached
            parts = dict.fromkeys(GAP_PARTS, 0)
            if pd.isna(launch):
                parts["unknown_ns"] = gap
            elif launch < reached:
                parts["queued_ns"] = gap
            else:
                for moment in range(reached, start):
                    launching = (
                        (ops["step"] == where[0])
                        & (ops["task"] == where[1])
                        & (ops["start_ns"] <= moment)
                        & (moment < ops["start_ns"] + ops["duration_ns"])
                    ).any()
                    name = (
                        "latency_ns" if moment >= launch else "launching_ns" if launching else "host_other_ns"
                    )
                    parts[name] += 1
            if gap > 0:
                found.append((*where, reached, gap, *parts.values(), event))
            reached = max(reached, start + row["duration_ns"])
    return found


@given(KERNELS, OPS)
def test_every_gap_has_its_cause(kernels: list[Kernel], ops: list[Op]) -> None:
    trace = trace_of(kernels, ops)
    table = launch_gaps(trace)
    if all(kernel[2] is None for kernel in kernels):
        assert why_not(table).id == "no_launches"
        return
    assert [tuple(row) for row in table.astype(object).to_numpy().tolist()] == slow_gaps(trace)


@given(KERNELS, OPS)
def test_the_parts_of_a_step_add_up_to_it(kernels: list[Kernel], ops: list[Op]) -> None:
    trace = trace_of(kernels, ops)
    table = launch_bound(trace)
    if all(kernel[2] is None for kernel in kernels):
        assert why_not(table).id == "no_launches"
        return
    assert (table[list(PARTS)].sum(axis=1) == table["step_ns"]).all()
    assert (table[list(PARTS)] >= 0).all(axis=None)
    gaps = slow_gaps(trace)
    found = {(row["step"], row["task"], row["device"]): row for row in table.to_dict("records")}
    for where, rows in on_each_device(trace):
        row = found.pop(where)
        group = [dict(zip(("gap", *GAP_PARTS), gap[4:10], strict=True)) for gap in gaps if gap[:3] == where]
        busy = {
            moment
            for start, length in zip(rows["start_ns"], rows["duration_ns"], strict=True)
            for moment in range(start, start + length)
        }
        step = trace.steps.set_index("step").loc[where[0]]
        assert row["step_ns"] == step["duration_ns"]
        assert row["busy_ns"] == len(busy)
        assert row["before_ns"] == rows["start_ns"].min() - step["start_ns"]
        assert row["launches"] == len(rows)
        for part in GAP_PARTS:
            assert row[part] == sum(gap[part] for gap in group)
        late = [gap for gap in group if gap["launching_ns"] + gap["host_other_ns"] + gap["latency_ns"]]
        assert row["late"] == len(late)
        if step["duration_ns"]:
            share = (row["launching_ns"] + row["latency_ns"]) / step["duration_ns"]
            assert row["launch_share"] == pytest.approx(share)
    assert not found


def slow_stretches(gaps: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Of (start, end) of late gaps: all ranges that are mostly late from both ends on, and in no other."""

    def mostly(late: list[tuple[int, int]], start: int, end: int) -> bool:
        return 2 * sum(last - first for first, last in late) > end - start

    good = [
        (first, last)
        for first in range(len(gaps))
        for last in range(first, len(gaps))
        # It is least late right before another late gap, and right after one.
        if all(
            mostly(gaps[first:place], gaps[first][0], gaps[place][0])
            and mostly(gaps[place : last + 1], gaps[place - 1][1], gaps[last][1])
            for place in range(first + 1, last + 1)
        )
    ]
    return {
        (gaps[first][0], gaps[last][1])
        for first, last in good
        if not any((other, end) != (first, last) and other <= first and last <= end for other, end in good)
    }


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_stretches_are_all_ranges_that_are_mostly_late(sizes: list[tuple[int, int]]) -> None:
    now = 10
    kernels: list[Kernel] = [(10, 0, 0, 0, 0)]
    gaps: list[tuple[int, int]] = []
    for gap, busy in sizes:
        gaps.append((now, now + gap))
        now += gap
        kernels.append((now, busy, 0, 0, 0))
        now += busy
    trace = trace_of(kernels, [(0, now, 0, 0)])  # the host launches all the time
    found = launch_stretches(trace)
    ranges = set(zip(found["start_ns"], found["start_ns"] + found["duration_ns"], strict=True))
    assert ranges == slow_stretches(gaps)
    for row in found.to_dict("records"):
        end = row["start_ns"] + row["duration_ns"]
        inside = [(first, last) for first, last in gaps if row["start_ns"] <= first and last <= end]
        late = sum(last - first for first, last in inside)
        assert (row["late"], row["launch_wait_ns"]) == (len(inside), late)
        assert row["share"] == pytest.approx(late / row["duration_ns"])
        assert row["share"] > 0.5
        waited: dict[str, int] = {}
        for first, last in inside:
            op = next(f"Op{kernel[1]}" for kernel in kernels[1:] if kernel[0] == last)
            waited[op] = waited.get(op, 0) + last - first
        assert [waited[op] for op in row["ops"].split(", ")] == sorted(waited.values(), reverse=True)[:3]


@given(KERNELS, OPS)
def test_stretches_hold_each_launch_wait_once_per_device(kernels: list[Kernel], ops: list[Op]) -> None:
    trace = trace_of(kernels, ops)
    stretches = launch_stretches(trace)
    if all(kernel[2] is None for kernel in kernels):
        assert why_not(stretches).id == "no_launches"
        return
    assert stretches["launch_wait_ns"].is_monotonic_decreasing
    keys = ["step", "task", "device"]
    idle = trace.idle_gaps[trace.idle_gaps["cause"] == "late launch"]
    waited: dict[tuple[Any, ...], list[int]] = {}
    for *where, start, length, launching, other, latency, _queued, _unknown, _event in launch_gaps(
        trace
    ).itertuples(index=False):
        same = idle[(idle[keys].astype(str) == [str(part) for part in where]).all(axis=1)]
        ends = (same["start_ns"] + same["duration_ns"]).clip(upper=start + length)
        wait = int((ends - same["start_ns"].clip(lower=start)).clip(lower=0).sum())
        if launching + other + latency and 2 * wait > length:
            waited.setdefault(tuple(where), []).append(wait)
    summed = stretches.groupby(keys, observed=True)[["launch_wait_ns", "late"]].sum()
    assert {
        where: tuple(row) for where, row in zip(summed.index, summed.to_numpy().tolist(), strict=True)
    } == {where: (sum(waits), len(waits)) for where, waits in waited.items()}


@pytest.mark.parametrize(
    "name", ["gpu_tf221_mlp.pb.xz", "gpu_tf221_dist.pb.xz", "gpu_tf218_function.xplane.pb.xz"]
)
def test_a_device_is_as_busy_as_utilization_says(name: str) -> None:
    trace = real_trace(DATA / name)
    table = launch_bound(trace)
    assert len(table)
    keys = ["step", "task", "device"]
    both = table.merge(utilization(trace), on=keys, suffixes=("", "_used"))
    assert len(both) == len(table)
    assert (both["busy_ns"] == both["busy_ns_used"]).all()


def test_events_without_a_device_are_not_the_whole_task() -> None:
    columns = {
        "start_ns": [0, 1, 10, 29],
        "duration_ns": [30, 2, 1, 1],
        "kind": ["host", "kernel", "kernel", "kernel"],
        "device": [None, *["/device:GPU:0"] * 3],
        "scheduled_ns": [None, 0, 4, 12],
    }
    found = launch_stretches(Trace(events.build(columns)))
    assert found[["start_ns", "duration_ns", "late"]].to_numpy().tolist() == [[3, 26, 2]]


def test_traces_without_gpus_or_launches_are_unavailable(data: Path) -> None:
    host = real_trace(data / "local_mlp_step1.pb")
    old = real_trace(data / "timeline_tf10_gpu.json")
    for function in (launch_gaps, launch_bound, launch_stretches):
        assert why_not(function(host)).id == "no_gpu_events"
        assert why_not(function(old)).id == "no_launches"
        assert why_not(function(Trace(events.build({}, rows=0)))).id == "no_gpu_events"


@pytest.mark.collection("h200/deep4000.pb.xz")
def test_four_thousand_layers_of_tiny_ops_wait_for_launches(shared: Path) -> None:
    row = launch_bound(real_trace(shared / "h200/deep4000.pb.xz")).loc[0]
    assert row["launch_share"] > 0.6
    assert row["busy_ns"] < 0.1 * row["step_ns"]
    stretch = launch_stretches(real_trace(shared / "h200/deep4000.pb.xz")).loc[0]
    assert stretch["launch_wait_ns"] > 0.7 * row["step_ns"]
    assert stretch["ops"].split(", ")[0] == "MatMul"


@pytest.mark.collection("h200/mwms_straggler_worker0.xplane.pb")
def test_a_worker_that_waits_is_not_launch_bound(shared: Path) -> None:
    table = launch_bound(real_trace(shared / "h200/mwms_straggler_worker0.xplane.pb"))
    assert (table["launch_share"] < 0.05).all()
    assert (table["host_other_ns"] > 0.8 * table["step_ns"]).all()
    both = [shared / f"h200/mwms_straggler_worker{worker}.xplane.pb" for worker in (0, 1)]
    stretches = launch_stretches(real_trace(both))
    late = device_idle(real_trace(both)).set_index("device")["launch_wait_ns"]
    waits = stretches.groupby("device", observed=True)["launch_wait_ns"].sum()
    assert (waits <= late.reindex(waits.index)).all()
    assert (stretches["duration_ns"] < 10_000_000).all()  # collectives last up to 52 ms
