"""Steps of a loop that never waits for its GPU: the host is ahead, so calls and GPU work overlap."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.bitmaps import windows
from tfvis_nb import Trace, events
from tfvis_nb.analysis import device_idle
from tfvis_nb.analysis.steps.breakdown import PARTS

GPU, CPU = "/device:GPU:0", "/device:CPU:0"
WAIT, MARK = 500, 10_000

LOOP = st.lists(st.tuples(st.integers(1, 20), st.integers(1, 30), st.integers(0, 10)), min_size=1, max_size=8)
"""For each step how long its call takes, how long its work on the GPU, and how long the host pauses."""


def kineto(work_us: int, steps: int) -> str:
    """Return a Kineto trace of marks of 10 ms, each with GPU work in six kernels, one after the other."""
    rows: list[dict[str, Any]] = []
    free = WAIT
    for step in range(steps):
        at = step * MARK
        rows.append({"cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": MARK - 10})
        for kernel in range(6):
            link = {"correlation": step * 6 + kernel + 1}
            launched = at + 100 + kernel * 1500
            rows.append(
                {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": launched, "dur": 10, "args": link}
            )
            free = max(free, launched + 10)
            place = {"pid": 0, "tid": 7, "args": link | {"device": 0, "stream": 7}}
            rows.append({"cat": "kernel", "name": "gemm", "ts": free, "dur": work_us // 6, **place})
            free += work_us // 6
    return json.dumps(
        {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "GPU"}],
            "traceEvents": [{"ph": "X", "pid": 100, "tid": 100} | row for row in rows],
        }
    )


def loop(steps: list[tuple[int, int, int]]) -> Trace:
    """Return steps whose call launches one kernel, which waits for the kernel before it."""
    at, free, rows = 0, 0, []
    for step, (call, work, pause) in enumerate(steps):
        rows.append({"start_ns": at, "duration_ns": call, "kind": "host", "device": CPU, "step": step})
        free = max(free, at)
        rows.append({"start_ns": free, "duration_ns": work, "kind": "kernel", "device": GPU, "step": step})
        at, free = at + call + pause, free + work
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return Trace(events.order(events.build(columns))[0])


def test_a_gpu_behind_the_host_is_busy_in_steps_of_its_work() -> None:
    trace = tv.read_trace(kineto(12_000, 8).encode())
    steps = trace.steps["duration_ns"].tolist()
    assert steps[1:] == [12_000_000] * 7
    found = trace.overview
    assert found["steps"]["median_ns"] == found["steps"]["interval_ns"] == 12_000_000
    assert found["devices"][0]["busy_share"] == pytest.approx(96 / 96.5)
    assert "Round of the loop" not in str(found)


def test_pauses_between_steps_are_in_the_interval_only() -> None:
    columns = {"kind": ["op"] * 3, "step": [0, 1, 2]}
    trace = Trace(events.build({"start_ns": [0, 15, 30], "duration_ns": [10] * 3, **columns}))
    assert trace.overview["steps"] == {
        "count": 3,
        "typical_ns": 10,
        "alike": True,
        "median_ns": 10,
        "interval_ns": 15,
        "interval_alike": True,
        "p95_ns": None,
        "sum_ns": 30,
        "joules": None,
    }
    assert trace.overview["outside"]["between_ns"] == 10
    assert re.search(r"Round of the loop +15 ns typical", str(trace.overview))


def test_the_median_of_two_steps_is_the_shorter() -> None:
    table = events.build({"start_ns": [0, 20], "duration_ns": [10, 40], "kind": ["op"] * 2, "step": [0, 1]})
    assert Trace(table).overview["steps"]["median_ns"] == 10


def test_rows_after_a_call_do_not_lengthen_its_step() -> None:
    rows = [
        ("train", 0, 50, "python", 0),
        ("ExecutorState::Process", 10, 100, "tf_pool/1", 0),
        ("ExecutorDoneCallback", 60, 20, "tf_pool/2", 0),
        ("train", 55, 50, "python", 1),
    ]
    names = ("op", "start_ns", "duration_ns", "lane", "step")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    trace = Trace(events.order(events.build(columns | {"kind": ["host"] * 4, "device": [CPU] * 4}))[0])
    assert trace.steps[["start_ns", "end_ns"]].to_numpy().tolist() == [[0, 50], [55, 105]]
    path = trace.critical_path.groupby("step")["duration_ns"].sum()
    assert path.tolist() == [50, 50]


def test_threads_of_an_unknown_program_are_part_of_its_step() -> None:
    columns = {"kind": ["host"] * 2, "lane": ["main", "worker"]}
    trace = Trace(events.build({"start_ns": [0, 10], "duration_ns": [5, 30], **columns}))
    assert trace.steps["duration_ns"].tolist() == [40]


@given(LOOP)
def test_a_gpu_works_for_one_step_at_a_time(steps: list[tuple[int, int, int]]) -> None:
    trace = loop(steps)
    kernels = trace.events[trace.events["kind"] == "kernel"]
    done = (kernels["start_ns"] + kernels["duration_ns"]).tolist()
    table = trace.steps
    spans = table[["step", "start_ns", "end_ns"]].to_numpy().tolist()
    assert {step: (start, end) for step, start, end in spans} == windows(trace)
    assert all(start >= before for start, before in zip(table["start_ns"][1:], done, strict=False))


@given(LOOP)
def test_busy_and_idle_time_count_each_moment_once(steps: list[tuple[int, int, int]]) -> None:
    trace = loop(steps)
    inside = {at for start, end in windows(trace).values() for at in range(start, end)}
    kernels = trace.events[trace.events["kind"] == "kernel"]
    ran = kernels[["start_ns", "duration_ns"]].to_numpy().tolist()
    busy = {at for start, length in ran for at in range(start, start + length)} & inside
    row = device_idle(trace).iloc[0]
    assert (row["step_ns"], row["busy_ns"], row["idle_ns"]) == (len(inside), len(busy), len(inside - busy))
    parts = trace.breakdown
    assert (parts[list(PARTS)].fillna(0).sum(axis=1) == parts["step_ns"]).all()


def test_steps_of_threads_with_own_gpus_keep_their_times() -> None:
    columns = {"kind": ["kernel"] * 2, "device": [GPU, "/device:GPU:1"], "step": [0, 1]}
    trace = Trace(events.build({"start_ns": [0, 5], "duration_ns": [10, 10], **columns}))
    assert trace.steps["duration_ns"].tolist() == [10, 10]
    assert device_idle(trace)["busy_share"].tolist() == [1, 1]


def test_steps_of_threads_on_a_cpu_keep_their_times() -> None:
    columns = {"kind": ["op"] * 2, "device": [CPU] * 2, "step": [0, 1]}
    trace = Trace(events.build({"start_ns": [0, 5], "duration_ns": [10, 10], **columns}))
    assert trace.steps["duration_ns"].tolist() == [10, 10]
