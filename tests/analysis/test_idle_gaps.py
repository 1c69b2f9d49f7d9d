"""Idle time by cause: causes of gaps made by hand, and that they add up to what devices were idle."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.real_traces import each, real_trace, step_stats_files, xspace_files
from tests.support.examples import examples
from tests.support.made_steps import CPU, GPU, ROW, TASK, any_trace, built, kernel, op, traced_calls
from tfvis_nb import Trace, read_trace
from tfvis_nb.analysis import utilization, why_not
from tfvis_nb.analysis.idle.idle_gaps import CAUSES

KEY = ["step", "task", "device"]


def check_sums(trace: Trace) -> None:
    """Check that causes add up to the idle time of a device, and to the length of a gap."""
    gaps = trace.idle_gaps
    if gaps.empty:
        return
    assert (gaps["duration_ns"] > 0).all()
    assert (gaps["gap_ns"].diff().dropna() <= 0).all()
    by_gap = gaps.groupby("gap")
    assert (by_gap["duration_ns"].sum() == by_gap["gap_ns"].first()).all()
    start = gaps["start_ns"].to_numpy()
    end = start + gaps["duration_ns"].to_numpy()
    same = gaps["gap"].to_numpy()[1:] == gaps["gap"].to_numpy()[:-1]
    assert np.array_equal(start[1:][same], end[:-1][same])
    found = gaps.groupby(KEY, observed=True)["duration_ns"].sum()
    idle = utilization(trace).set_index(KEY)["idle_ns"]
    assert (idle.reindex(found.index) == found).all()
    # An accelerator without gaps was busy all the time, or is unknown.
    others = idle[~idle.index.isin(found.index)].dropna()
    assert (others[["GPU" in device for _, _, device in others.index]] == 0).all()


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(st.lists(ROW, min_size=1, max_size=14))
def test_gaps_of_anything_add_up(rows: list[dict[str, Any]]) -> None:
    check_sums(any_trace(rows))


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(st.lists(ROW, max_size=10), traced_calls())
def test_gaps_before_tracings_add_up(rows: list[dict[str, Any]], traced: list[dict[str, Any]]) -> None:
    check_sums(any_trace([*rows, *traced]))


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(st.lists(ROW, min_size=1, max_size=14))
def test_only_recorded_launches_explain_gaps(rows: list[dict[str, Any]]) -> None:
    trace = any_trace(rows)
    edges = trace.edges
    launched = {*edges["target"][edges["kind"] == "launch"].tolist()}
    kind, known = trace.events["kind"].tolist(), trace.events["scheduled_ns"].notna().tolist()
    gaps = trace.idle_gaps
    for cause, event in zip(gaps["cause"].tolist(), gaps["cause_event"].tolist(), strict=True):
        if event >= 0 and kind[event] in ("kernel", "memcpy"):
            assert event in launched or known[event] or cause not in ("kernel gap", "late launch")


@pytest.mark.parametrize("launch", [None, 25, 5])
def test_copies_without_a_launch_wait_for_something_unknown(launch: int | None) -> None:
    copies: list[dict[str, Any]] = [
        {"name": name, "op": "MemcpyD2D", "start_ns": start, "duration_ns": 10, "kind": "memcpy"}
        | {"lane": "stream:3", "device": GPU, "scheduled_ns": ready}
        for name, start, ready in (("first", 0, None), ("second", 40, launch))
    ]
    causes = {None: ["unknown"], 25: ["late launch"], 5: ["kernel gap"]}[launch]
    assert [cause for _, cause, _ in listed(built(copies))] == causes
    path = built(copies).critical_path
    assert ("kernel_gap" in path["category"].tolist()) == (launch == 5)


@pytest.mark.parametrize("path", each([*step_stats_files(), *xspace_files()]))
def test_gaps_of_real_traces_add_up(path: Path) -> None:
    check_sums(real_trace(path))


def listed(trace: Trace, device: str = GPU) -> list[tuple[int, str, str]]:
    """Return length, cause and event name of each part of a device's gaps, ordered by time."""
    gaps = trace.idle_gaps.sort_values("start_ns")
    gaps = gaps[gaps["device"] == device]
    names = trace.events["name"].iloc[gaps["cause_event"]]
    return [
        (int(length), str(cause), str(name))
        for length, cause, name in zip(gaps["duration_ns"], gaps["cause"], names, strict=True)
    ]


def test_input_launches_and_the_device_itself() -> None:
    trace = built(
        [
            op("next", 0, 50, op="IteratorGetNext"),
            op("a", 55, 30, "next", device=GPU),
            op("b", 85, 30, "a", device=GPU),
            kernel("a", 70, 40, 60),
            kernel("b", 113, 20, 90),
            op("after", 115, 40, "b"),
        ]
    )
    assert listed(trace) == [
        (50, "input", "next"),
        (20, "late launch", "a"),
        (3, "kernel gap", "b"),
        (22, "host", "after"),
    ]
    # The kernels end the gaps, and the step ends the last one.
    gaps = trace.idle_gaps.sort_values("start_ns")
    first, second = np.flatnonzero(trace.events["kind"] == "kernel")
    assert gaps["end_event"].tolist() == [first, first, second, -1]


def test_calls_that_trace_end_gaps_when_they_start() -> None:
    host = {"kind": "host", "lane": "python"}
    traced = {"detail": "tf_function_call=traced-nonXla tracing_count=1"}
    trace = built(
        [
            {"name": "train", "op": "train", "start_ns": 0, "duration_ns": 100, **host},
            {"name": "f", "op": "f", "start_ns": 10, "duration_ns": 80, **host, **traced},
            {"name": "", "op": "tf.function-graph_building", "start_ns": 30, "duration_ns": 40, **host},
            {"name": "", "op": "FunctionRun", "start_ns": 80, "duration_ns": 10, **host},
        ]
    )
    assert listed(trace, CPU) == [(10, "host", "train"), (20, "host", "train")]
    assert trace.idle_gaps["end_event"].tolist() == [-1, 1]


def test_receiving_tells_waiting_from_moving() -> None:
    ps = "/job:ps/replica:0/task:0"
    tensor = {"kind": "transfer", "lane": "recv", "op": "RecvTensor", "tensor": "edge_1_w", "device": GPU}
    tensor |= {"source": f"{ps}/device:CPU:0", "destination": GPU}
    trace = built(
        [
            op("w", 0, 40, task=ps, device=f"{ps}/device:CPU:0"),
            {"name": "w", "start_ns": 45, "duration_ns": 30, **tensor},
            op("use", 80, 10, "w_S1", device=GPU),
            kernel("use", 90, 10, 85),
        ]
    )
    assert listed(trace) == [
        (45, "recv wait", "w"),
        (30, "recv transfer", "w"),
        (15, "late launch", "use"),
    ]
    # The ps has no accelerator: its CPU computes.
    assert listed(trace, f"{ps}/device:CPU:0") == [(60, "dependency on another device", "w")]


def rank(number: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    """A rank's part in the collective `sum`."""
    task = TASK.format(number)
    row = {"name": "sum", "op": "CollectiveReduceV2", "kind": "collective", "lane": "collective_ops/1"}
    row |= {"task": task, "device": f"{task}/device:CPU:0"}
    return {**row, "start_ns": start, "duration_ns": end - start, **more}


def test_at_a_collective_waiting_for_a_later_rank_is_no_transfer() -> None:
    thread = {"kind": "host", "lane": "collective_ops/1", "device": CPU}
    first = [
        kernel("k", 0, 10, 0),
        rank(0, 10, 90),
        {"name": "Loop", **thread, "start_ns": 15, "duration_ns": 70},
        {"name": "use", "op": "launch", **thread, "start_ns": 90, "duration_ns": 5, "launch": 1},
        kernel("use", 95, 10, 90, launch=1),
    ]
    launched = (5, "late launch", "use")
    assert listed(built(first)) == [(80, "recv transfer", "Loop"), launched]
    waited = [(50, "recv wait", "sum"), (30, "recv transfer", "Loop"), launched]
    assert listed(built([*first, rank(1, 60, 90)])) == waited
    # Ranks that ended before another began have no common clock.
    assert listed(built([*first, rank(1, 95, 99)]))[0] == (80, "recv transfer", "Loop")


def test_a_rank_waits_only_while_another_is_at_the_collective() -> None:
    other = TASK.format(1)
    horovod = {"op": "HorovodAllreduce", "lane": "collective"}
    trace = built(
        [
            op("slow", 0, 60, task=other, device=f"{other}/device:CPU:0"),
            rank(0, 20, 90, detail="sum = HorovodAllreduce()", **horovod),
            rank(1, 60, 90, detail="sum = HorovodAllreduce(slow)", **horovod),
            op("use", 90, 10, "sum"),
            kernel("use", 100, 10, 95),
        ]
    )
    assert listed(trace) == [
        (20, "dependency on another device", "slow"),
        (40, "recv wait", "sum"),
        (30, "recv transfer", "sum"),
        (5, "host", "use"),
        (5, "late launch", "use"),
    ]
    named = trace.idle_gaps[trace.idle_gaps["cause"] == "recv wait"]["cause_event"]
    assert set(trace.events["task"].iloc[named]) == {TASK.format(0)}


def test_other_devices_and_unknown_gaps() -> None:
    other = TASK.format(0) + "/device:GPU:1"
    trace = built(
        [
            op("a", 10, 20, device=other),
            op("b", 30, 20, "a", device=GPU),
            kernel("a", 20, 60, 15, device=other, lane="stream:2"),
            kernel("b", 85, 15, 40),
        ]
    )
    assert listed(trace) == [
        (5, "late launch", "a"),
        (65, "dependency on another device", "a"),
        (5, "kernel gap", "b"),
    ]
    lost = built([kernel("k", 0, 10, 0), kernel("x", 50, 10, 0, lane="stream:7")])
    assert [cause for _, cause, _ in listed(lost)] == ["unknown"]


def test_a_host_with_a_long_recording_gap_is_not_late() -> None:
    late = 1_000_000
    rows = [
        op("a", 0, 100, device=GPU),
        op("b", late, 50, "a", device=GPU),
        kernel("a", 50, 100, 40),
        kernel("b", late + 30, 10, late + 20),
    ]
    assert listed(built(rows))[1][1:] == ("unknown", "b")
    working = op("c", 100, late - 200, device=CPU)
    assert listed(built([*rows, working]))[1][1:] == ("late launch", "b")


def test_a_device_that_waits_for_its_own_copy() -> None:
    tpu = {"kind": "kernel", "lane": "XLA Ops", "device": TASK.format(0) + "/device:TPU:0"}
    trace = built(
        [
            {**tpu, "name": "fusion.1", "op": "fusion", "start_ns": 0, "duration_ns": 10},
            {**tpu, "name": "copy-done.1", "op": "copy-done", "start_ns": 10, "duration_ns": 70},
            {**tpu, "name": "fusion.2", "op": "fusion", "start_ns": 80, "duration_ns": 10},
        ]
    )
    assert listed(trace, tpu["device"]) == [(70, "copy", "copy-done.1")]


@pytest.mark.collection("third-party/xprof/bert_8gpu_tf24.xplane.pb.xz")
def test_a_woken_thread_did_not_do_the_earlier_work(shared: Path) -> None:
    gaps = real_trace(shared / "third-party/xprof/bert_8gpu_tf24.xplane.pb.xz").idle_gaps
    longest = gaps[gaps["gap_ns"] > 600_000_000]
    sums = longest.groupby(["device", "cause"], observed=True)["duration_ns"].sum()
    for device in longest["device"].unique():
        assert 620_000_000 < sums[device, "unknown"] < 630_000_000


def test_without_rows_of_a_device_nothing_is_said() -> None:
    trace = built([op("a", 0, 10, device=GPU), op("b", 20, 10, "a", device=GPU)])
    assert why_not(trace.idle_gaps).id == "no_device_activity"
    assert why_not(built([op("a", 0, 10, step=-1)]).idle_gaps).id == "no_device_activity"


def test_a_task_on_a_cpu_waits_for_its_ops() -> None:
    trace = built([op("a", 0, 10), op("b", 30, 20, "a", scheduled_ns=10)])
    assert listed(trace, CPU) == [(20, "host", "b")]


def causes(trace: Trace, task: str = "") -> dict[str, float]:
    """The share of each cause in the idle time of a task's devices."""
    gaps = trace.idle_gaps[trace.idle_gaps["task"].str.endswith(task)]
    sums = gaps.groupby("cause", observed=False)["duration_ns"].sum()
    assert set(sums.index) == set(CAUSES)
    return {str(cause): float(share) for cause, share in (sums / sums.sum()).items()}


@pytest.mark.collection("h200/input_bound_tf2_gpu.xplane.pb")
def test_known_to_be_input_bound(shared: Path) -> None:
    trace = real_trace(shared / "h200/input_bound_tf2_gpu.xplane.pb")
    assert causes(trace)["input"] > 0.6
    longest = trace.idle_gaps.iloc[0]
    assert longest["cause"] == "input"
    assert trace.events["op"].iloc[longest["cause_event"]].startswith("Iterator")


@pytest.mark.collection("h200/deep4000.pb.xz")
def test_known_to_be_launch_bound(shared: Path) -> None:
    assert causes(real_trace(shared / "h200/deep4000.pb.xz"))["late launch"] > 0.8


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_everybody_waits_for_the_known_straggler(shared: Path) -> None:
    trace = real_trace(shared / "h200/straggler_ps_3gpuworkers_step0.pb")
    assert causes(trace, "ps/replica:0/task:0")["recv wait"] > 0.9
    for worker in ("worker/replica:0/task:0", "worker/replica:0/task:1"):
        assert causes(trace, worker)["dependency on another device"] > 0.8
    # Whom they wait for is the third worker, which itself receives for most of the step.
    gaps = trace.idle_gaps[trace.idle_gaps["cause"].isin(["recv wait", "dependency on another device"])]
    to = trace.events["task"].iloc[gaps["cause_event"]].astype(str).str.endswith("worker/replica:0/task:2")
    assert gaps["duration_ns"][to.to_numpy()].sum() > 0.9 * gaps["duration_ns"].sum()
    assert causes(trace, "worker/replica:0/task:2")["recv transfer"] > 0.7


@pytest.mark.collection("h200/mwms_straggler_worker0.xplane.pb")
def test_the_faster_worker_waits_at_its_collectives(shared: Path) -> None:
    paths = [shared / f"h200/mwms_straggler_worker{number}.xplane.pb" for number in (0, 1)]
    trace = real_trace(paths)
    gaps = trace.idle_gaps[trace.idle_gaps["cause"] == "recv wait"]
    assert (trace.events["kind"].iloc[gaps["cause_event"]] == "collective").all()
    waited = gaps.groupby(gaps["task"].astype(str).str[-1])["duration_ns"].sum()
    # Nearly all that it waits at them: the device is busy for little of it.
    by_rank = trace.collective_waits.groupby(trace.collective_waits["task"].astype(str).str[-1])[
        "wait_ns"
    ].sum()
    assert list(waited.index) == ["0"]
    assert by_rank["1"] == 0
    assert 0.95 * by_rank["0"] < waited["0"] <= by_rank["0"]
    alone = real_trace(paths[0]).idle_gaps
    assert "recv wait" not in set(alone["cause"].astype(str))
    assert alone["cause"].value_counts()["recv transfer"] > 0


def test_the_mark_of_a_step_explains_no_idle_time() -> None:
    def bar(cat: str, name: str, start: int, length: int, lane: int, **args: int) -> dict[str, Any]:
        place = {"pid": 7, "tid": lane} if cat != "kernel" else {"pid": 0, "tid": 7}
        return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": length, "args": args, **place}

    rows = [
        bar("user_annotation", "ProfilerStep#1", 0, 1_000_000, 1),
        bar("cpu_op", "aten::mm", 100, 900, 2),
        bar("cuda_runtime", "cudaLaunchKernel", 200, 20, 2, correlation=5),
        bar("kernel", "gemm", 300, 50, 0, device=0, stream=7, correlation=5),
    ]
    trace = read_trace(json.dumps({"schemaVersion": 1, "traceEvents": rows}).encode())
    longest = trace.idle_gaps.iloc[0]
    assert (longest["cause"], longest["duration_ns"]) == ("unknown", 999_650_000)
    assert "waiting for other host work" not in trace.overview["headline"]
