"""The activity of each event in its step."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.activity import ACTIVITIES, NUMBER, activity, during_steps

TASK = "/job:worker/replica:0/task:0"
CPU, GPU = f"{TASK}/device:CPU:0", f"{TASK}/device:GPU:0"


def named(trace: Trace) -> list[str]:
    return [ACTIVITIES[number] for number in activity(trace)]


@pytest.mark.parametrize(
    ("kind", "op", "device", "lane", "expected"),
    [
        ("op", "MatMul", CPU, "ops", "host_compute"),
        ("op", "MatMul", GPU, "ops", "launch"),
        ("op", "IteratorGetNext", CPU, "ops", "input"),
        ("op", "IteratorGetNext", GPU, "ops", "input"),
        ("op", "QueueDequeueManyV2", CPU, "ops", "input"),
        ("op", "_Recv", CPU, "ops", "none"),
        ("op", "_HostRecv", GPU, "ops", "none"),
        ("op", "StatefulPartitionedCall", CPU, "ops", "none"),
        ("op", "While", GPU, "ops", "none"),
        ("op", "PyFunc", CPU, "tf_data_private_threadpool/1", "preprocessing"),
        ("op", "_XlaCompile", CPU, "ops", "compile"),
        ("kernel", "MatMul", GPU, "stream:13", "device_compute"),
        ("kernel", "IteratorGetNext", GPU, "stream:13", "device_compute"),
        ("kernel", "copy-done", "/device:TPU:0", "XLA Ops", "none"),
        ("memset", "Memset", GPU, "memset", "device_compute"),
        ("memcpy", "MemcpyH2D", GPU, "memcpy H2D", "h2d"),
        ("memcpy", "", GPU, "memcpy H2D", "h2d"),
        ("memcpy", "MEMCPYHtoA", GPU, "memcpy", "h2d"),
        ("memcpy", "MEMCPYDtoH", GPU, "memcpy", "d2h"),
        ("memcpy", "MemcpyD2D", GPU, "memcpy D2D", "d2d"),
        ("memcpy", "MemcpyP2P", GPU, "memcpy P2P", "d2d"),
        ("memcpy", "Memcpy", GPU, "memcpy", "d2d"),
        ("transfer", "RecvTensor", CPU, "recv", "communication"),
        ("collective", "CollectiveReduceV2", CPU, "collective", "communication"),
        ("collective", "ncclKernel", GPU, "stream:20", "communication"),
        ("sync", "cuStreamSynchronize", GPU, "sync", "none"),
        ("host", "launch", CPU, "python", "launch"),
        ("host", "cudaLaunchKernel", CPU, "thread 7", "launch"),
        ("host", "cudaDeviceSynchronize", CPU, "thread 7", "runtime"),
        ("host", "ExecutorState::Process", CPU, "tf_Compute/1", "runtime"),
        ("host", "ExecutorState::Process", CPU, "tf_data_private_threadpool/1", "preprocessing"),
        ("host", "EagerLocalExecute", CPU, "python", "none"),
        ("host", "EagerExecute", CPU, "python", "none"),
        ("host", "FunctionRun", CPU, "tf_Compute/1", "none"),
        ("host", "train", CPU, "python", "runtime"),
        ("host", "test A", "process 1", "thread 2", "runtime"),
        ("host", "ProfilerStep", CPU, "thread 7", "none"),
        ("host", "TFE_Py_ExecuteCancelable", CPU, "python", "runtime"),
        ("host", "python", CPU, "python", "runtime"),
        ("host", "IteratorGetNextOp::DoCompute", CPU, "tf_data_iterator_get_next/1", "input"),
        ("host", "Iterator::Root", CPU, "python", "input"),
        ("host", "Iterator::Prefetch", CPU, "python", "preprocessing"),
        ("host", "PrefetchProduce", CPU, "tf_data_iterator_resource/1", "preprocessing"),
        ("host", "tf.function-graph_building", CPU, "python", "compile"),
        ("host", "backend_compile_and_load", CPU, "python", "compile"),
        ("host", "PjRtCApiClient::CompileAndLoad", CPU, "python", "compile"),
        ("host", "TaskDispatcher::dispatch", CPU, "tf_xla-cpu-codegen/1", "compile"),
        ("host", "PjRtCApiCompiler::BufferFromHostBuffer", CPU, "python", "runtime"),
        ("host", "XLA Modules", "/device:TPU:0", "XLA Modules", "none"),
    ],
)
def test_one_event(kind: str, op: str, device: str, lane: str, expected: str) -> None:
    columns = {"kind": [kind], "op": [op], "device": [device], "lane": [lane], "task": [TASK]}
    assert named(Trace(events.build({"start_ns": [0], "duration_ns": [1], **columns}))) == [expected]


def test_an_executor_launches_only_with_a_device() -> None:
    columns = {
        "kind": ["host", "kernel", "host"],
        "op": ["ExecutorState::Process", "MatMul", "ExecutorState::Process"],
        "device": [CPU, GPU, "/job:ps/replica:0/task:0/device:CPU:0"],
        "task": [TASK, TASK, "/job:ps/replica:0/task:0"],
    }
    table = events.build({"start_ns": range(3), "duration_ns": [1] * 3, **columns})
    assert named(Trace(table)) == ["launch", "device_compute", "runtime"]


def test_repeated_rows_of_host_threads_have_no_activity() -> None:
    columns = {
        "kind": ["op", "host", "host", "host"],
        "op": ["MatMul", "MatMul", "MatMul", "Session"],
        "lane": ["ops", "thread/7", "thread/7", "thread/7"],
        "task": [TASK, TASK, "/job:ps/replica:0/task:0", TASK],
    }
    table = events.build({"start_ns": range(4), "duration_ns": [1] * 4, **columns})
    assert named(Trace(table)) == ["host_compute", "none", "runtime", "runtime"]


def test_a_token_of_synchronised_workers_is_no_input() -> None:
    table = events.build(
        {
            "start_ns": [0, 1, 2],
            "duration_ns": [1] * 3,
            "kind": ["op"] * 3,
            "op": ["QueueDequeueV2"] * 3,
            "name": ["sync_token_q_Dequeue", "opt/sync_token_q_Dequeue", "batch/sync_token_q_Dequeue_like"],
        }
    )
    assert named(Trace(table)) == ["none", "none", "input"]


def test_markers_of_steps_are_no_activity() -> None:
    columns = {"kind": ["host"] * 4, "name": ["my step", "my step 2", "other", "my step"]}
    table = events.build({"start_ns": range(4), "duration_ns": [1] * 4, "step": [0, 0, 0, -1], **columns})
    assert named(Trace(table, step_labels={0: "my step 7"})) == ["none", "runtime", "runtime", "runtime"]


def test_the_overhead_of_an_eager_op_is_not_waiting_for_input() -> None:
    columns = {
        "kind": ["op", "host"],
        "op": ["IteratorGetNext", "IteratorGetNextOp::DoCompute"],
        "detail": ["EagerLocalExecute: IteratorGetNext", ""],
    }
    table = events.build({"start_ns": [0, 5], "duration_ns": [10, 5], **columns})
    assert named(Trace(table)) == ["runtime", "input"]
    assert named(Trace(table.iloc[:1])) == ["input"]


STEP = st.tuples(st.integers(0, 30), st.integers(1, 20))
LOOSE = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30)), max_size=5)


@given(st.lists(STEP, max_size=4, unique_by=lambda step: step[0]), LOOSE)
def test_pipeline_work_counts_to_the_last_started_step(
    steps: list[tuple[int, int]], loose: list[tuple[int, int]]
) -> None:
    steps = sorted(steps)
    rows = [(start, length, number, "op", "MatMul") for number, (start, length) in enumerate(steps)]
    rows += [(start, length, -1, "host", "Iterator::Root") for start, length in loose]
    columns = ("start_ns", "duration_ns", "step", "kind", "op")
    trace = Trace(
        events.order(events.build(dict(zip(columns, zip(*rows, strict=True), strict=True)), rows=len(rows)))[
            0
        ]
        if rows
        else events.build({}, rows=0)
    )
    expected = set()
    for event, row in enumerate(trace.events.to_dict("records")):
        for moment in range(row["start_ns"], row["start_ns"] + row["duration_ns"]):
            begun = [number for number, (start, _) in enumerate(steps) if start <= moment]
            if row["step"] >= 0:
                expected.add((event, row["step"], moment))
            elif begun and moment < sum(steps[begun[-1]]):
                expected.add((event, begun[-1], moment))
    found = [
        (event, step, moment)
        for event, step, start, end in zip(*(column.tolist() for column in during_steps(trace)), strict=True)
        for moment in range(start, end)
    ]
    assert len(found) == len(set(found))
    assert set(found) == expected


@pytest.mark.parametrize("name", ["cpu_tf221_keras_fit.xplane.pb.xz", "gpu_tf218_function.xplane.pb.xz"])
def test_a_step_has_no_activity_twice_by_its_markers(name: str) -> None:
    trace = real_trace(DATA / name)
    label = trace.events["name"].isin({text.rsplit(" ", 1)[0] for text in trace.step_labels.values()})
    marked = (label & (trace.events["kind"] == "host") & (trace.events["step"] >= 0)).to_numpy()
    assert marked.sum() >= len(trace.step_labels)
    assert set(activity(trace)[marked]) == {NUMBER["none"]}


@pytest.mark.collection("h200/input_bound_tf2_gpu.xplane.pb")
def test_waits_for_input_on_other_threads_count_to_their_step(shared: Path) -> None:
    trace = real_trace(shared / "h200/input_bound_tf2_gpu.xplane.pb")
    event, step, start, end = during_steps(trace)
    waiting = (trace.events["op"] == "IteratorGetNextOp::DoCompute").to_numpy()[event]
    assert sorted(step[waiting].tolist()) == list(range(8))
    longest = np.zeros(8, np.int64)
    np.maximum.at(longest, step[waiting], (end - start)[waiting])
    assert (longest[1:] > 0.5 * trace.steps["duration_ns"].to_numpy()[2:]).all()
