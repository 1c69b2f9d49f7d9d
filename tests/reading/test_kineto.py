"""PyTorch's traces: clocks, devices, steps, collectives, rows of the profiler. The oracle is plain json."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.texts import figures_of

BASE = 1_727_743_122_000_000_000


def bar(name: str, category: str, ts: float, dur: float, pid: Any = 9, **arguments: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": ts,
        "dur": dur,
        "pid": pid,
        "tid": pid,
        "args": arguments,
    }


def process(pid: Any, label: str, name: str = "python") -> list[dict[str, Any]]:
    return [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}},
        {"ph": "M", "name": "process_labels", "pid": pid, "args": {"labels": label}},
    ]


def read(*events: dict[str, Any], **keys: Any) -> tv.Trace:
    document = {
        "schemaVersion": 1,
        **keys,
        "traceEvents": [*process(9, "CPU"), *process(0, "GPU 0"), *events],
    }
    return tv.read_trace(json.dumps(document).encode())


def column(trace: tv.Trace, name: str) -> dict[str, Any]:
    return dict(zip(trace.events["name"].astype(str), trace.events[name].astype(object), strict=True))


OWN_ROWS = (
    bar("PyTorch Profiler (0)", "Trace", 0.5, 9e8, "Spans"),
    {
        "ph": "i",
        "s": "g",
        "name": "Iteration Start: PyTorch Profiler",
        "pid": "Traces",
        "tid": "x",
        "ts": 0.5,
    },
    {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 9e8},
)


@given(
    base=st.sampled_from([None, 0, BASE]),
    launches=st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), min_size=1, max_size=5),
    runtime=st.sampled_from(
        ["cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "privateuse1_runtime"]
    ),
)
def test_launches_are_on_the_clock_of_kernels(
    base: int | None, launches: list[tuple[int, int]], runtime: str
) -> None:
    events = [
        event
        for number, (call, delay) in enumerate(launches)
        for event in (
            bar("launch", runtime, call, 1, correlation=number),
            bar("gemm", "kernel", call + delay, 2, 0, correlation=number, device=0, stream=7),
        )
    ]
    trace = read(*events, **({} if base is None else {"baseTimeNanoseconds": base}))
    kernels = trace.events[trace.events["kind"] == "kernel"]
    waited = (kernels["start_ns"] - kernels["scheduled_ns"]).tolist()
    assert sorted(waited) == sorted(1000 * delay for _, delay in launches)
    assert trace.utilization["queueing_ns"].max() == sum(waited)


def test_rows_of_the_profiler_itself_are_no_work() -> None:
    work = [
        bar("cudaLaunchKernel", "cuda_runtime", 10, 5, correlation=1),
        bar("gemm", "kernel", 20, 30, 0, correlation=1),
    ]
    trace = read(*work, *OWN_ROWS)
    assert trace.steps["duration_ns"].tolist() == [40_000]
    assert sorted(trace.events["name"]) == ["cudaLaunchKernel", "gemm"]
    assert figures_of(trace.notes, "profiler_rows_left_out") == [{"rows": 3, "name": "PyTorch Profiler (0)"}]


def test_rows_derived_from_others_are_no_work() -> None:
    trace = read(
        *process(3, "NPU", "Ascend Hardware"),
        *process(4, "", "Overlap Analysis"),
        bar("aten::mm", "cpu_op", 5, 30),
        bar("MatMulV2", "", 10, 30, 3),
        bar("Computing", "", 10, 30, 4),
        bar("Free", "", 40, 50, 4),
    )
    assert trace.events["name"].tolist() == ["aten::mm", "MatMulV2"]
    assert figures_of(trace.notes, "profiler_rows_left_out") == [{"rows": 2, "name": "Computing"}]


def test_files_of_pytorch_1_8_have_devices_and_steps() -> None:
    events = [
        bar("ProfilerStep#1", "Operator", 0, 400),
        bar("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "Operator", 0, 100),
        bar("aten::copy_", "Operator", 120, 80),
        bar("cudaMemcpyAsync", "Runtime", 130, 10, correlation=1),
        bar("Memcpy HtoD (Pageable -> Device)", "Memcpy", 150, 100, 0, correlation=1, stream=7),
        bar("gemm", "Kernel", 250, 150, 1, stream=7),
    ]
    trace = tv.read_trace(json.dumps(events).encode())
    table = trace.events.assign(row=trace.events["detail"].astype(str) + trace.events["name"].astype(str))
    device = {row[:6]: device for row, device in zip(table["row"], table["device"].astype(str), strict=True)}
    assert (device["Memcpy"], device["gemmge"]) == ("/device:GPU:0", "/device:GPU:1")
    assert trace.steps["label"].tolist() == ["ProfilerStep#1"]
    assert trace.breakdown["input_ns"].max() == 100_000


@pytest.mark.parametrize(
    ("label", "process_name", "device"),
    [
        ("GPU 3", "python", "/device:GPU:3"),
        ("XPU 1", "python", "/device:XPU:1"),
        ("", "MTIA 17", "/device:MTIA:17"),
        ("HPU 2", "python", "/device:HPU:2"),
        ("NPU", "Ascend Hardware", "/device:NPU:0"),
    ],
)
@pytest.mark.parametrize("category", ["kernel", "mtia_ccp_events", "hpu_op", ""])
def test_devices_follow_processes_and_categories(
    label: str, process_name: str, device: str, category: str
) -> None:
    trace = read(
        *process(77, label, process_name),
        bar("aten::mm", "cpu_op", 5, 30),
        bar("matmul", category, 20, 10, 77, stream=4),
        bar("event_wait" if category != "kernel" else "gemm", category, 40, 10, 77, stream=5),
        bar("train.py(3): step", "python_function", 1, 90, 0),
        bar("call", "mtia_runtime", 2, 9, 77),
    )
    devices = column(trace, "device")
    assert devices.pop("matmul") == device
    assert devices.pop("event_wait" if category != "kernel" else "gemm") == device
    assert set(devices.values()) == {"/device:CPU:0"}
    assert column(trace, "kind")["matmul"] == "kernel"
    assert column(trace, "lane")["matmul"] == "stream:4"
    assert column(trace, "kind").get("event_wait", "sync") == "sync"


def test_copies_of_other_accelerators_have_bytes_and_ends() -> None:
    trace = read(
        *process(17, "MTIA 17"),
        bar("aten::mm", "cpu_op", 5, 3),
        bar("dma_request", "mtia_ccp_events", 20, 10, 17, stream=4, direction="DEVICE_TO_HOST", size=1024),
    )
    (row,) = trace.transfers[["bytes", "source", "destination"]].astype(object).to_numpy().tolist()
    assert row == [1024, "/device:MTIA:17", "/device:CPU:0"]


@given(numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=6, unique=True))
def test_steps_keep_the_numbers_of_their_marks(numbers: list[int]) -> None:
    numbers = sorted(numbers)
    marks = [
        bar(f"ProfilerStep#{number}", "user_annotation", 100 * at, 90) for at, number in enumerate(numbers)
    ]
    trace = read(
        *marks, *(bar("aten::mm", "cpu_op", 100 * at + 5, 9) for at in range(len(numbers))), *OWN_ROWS
    )
    assert trace.steps["label"].tolist() == [f"ProfilerStep#{number}" for number in numbers]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "collective"),
        ("void ncclKernel<1>(int)", "collective"),
        ("rcclGenericKernel", "collective"),
        ("multimem_all_reduce_kernel", "collective"),
        ("void vllm::cross_device_reduce_2stage<__half, 8>(int)", "collective"),
        (
            "void flashinfer::trtllm_allreduce::allreduce_fusion_kernel<2>()",
            "collective",
        ),
        ("two_shot_all_reduce_kernel", "collective"),
        ("hcom_allReduce__721_0", "collective"),
        ("void dpsk::ep::internode::dispatch<false, 8>(int)", "collective"),
        ("void deep_ep::intranode::combine<__nv_bfloat16, 8>(int)", "collective"),
        ("reduce_scatter_kernel", "collective"),
        ("triton_poi_fused_all_reduce_wait_tensor_3", "kernel"),
        ("void at::native::reduce_kernel<512, all_reduce>(int)", "kernel"),
        ("ampere_sgemm_128x64_tn", "kernel"),
    ],
)
def test_collectives_are_known_by_their_names(name: str, kind: str) -> None:
    trace = read(bar(name, "kernel", 5, 3, 0, stream=7))
    assert trace.events["kind"].tolist() == [kind]


def test_kernels_without_launches_are_ranked_by_name() -> None:
    trace = read(
        bar("void cutlass::Kernel<gemm<3>>(int)", "kernel", 5, 30, 0, stream=7),
        bar("softmax_2", "kernel", 50, 3, 0, stream=8),
    )
    assert column(trace, "op") == {
        "void cutlass::Kernel<gemm<3>>(int)": "cutlass::Kernel",
        "softmax_2": "softmax",
    }
    assert sorted(trace.events["lane"].astype(str)) == ["stream:7", "stream:8"]


def test_rows_without_a_time_are_left_out() -> None:
    good = [bar(f"op {number}", "cpu_op", 1000 + 10 * number, 5) for number in range(3)]
    bad = [bar(f"lost {number}", "cpu_op", 0, 0) for number in range(4)]
    trace = read(*bad, *good, baseTimeNanoseconds=BASE)
    assert trace.events["name"].tolist() == ["op 0", "op 1", "op 2"]
    assert trace.steps["duration_ns"].tolist() == [25_000]
    assert figures_of(trace.notes, "unusable_bars_left_out") == [{"bars": 4}]


@given(
    arguments=st.dictionaries(
        st.sampled_from(["stream", "size", "direction", "device", "other"]),
        st.integers(0, 99) | st.text(),
        max_size=5,
    ),
    category=st.sampled_from(
        ["cpu_op", "cuda_runtime", "cuda_sync", "kernel", "gpu_memcpy", "user_annotation"]
    ),
)
def test_no_argument_is_lost(arguments: dict[str, Any], category: str) -> None:
    trace = read(bar("work", category, 5, 3, 0, **arguments))
    shown = " ".join(map(str, trace.events.iloc[0].tolist()))
    assert all(str(value).strip() in shown for value in arguments.values())
