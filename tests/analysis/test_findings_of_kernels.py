"""Findings of GPU kernels: too few blocks for the GPU, and no Tensor Cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real_traces import real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis import kernels, measurements
from tfvis_nb.core.metadata import table_of

GPU = "/device:GPU:0"
STEP_NS = 1000


def trace_of(*kernels: tuple[int, int, str, str], capability: str = "9.0", cores: int | None = 100) -> Trace:
    """A step of 1000 ns of an op on a GPU, in which kernels run: their start, duration, op and text."""
    rows = [
        (0, STEP_NS, "op", "Loop", ""),
        *((at, long, "kernel", op, text) for at, long, op, text in kernels),
    ]
    names = ("start_ns", "duration_ns", "kind", "op", "detail")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    count = len(rows)
    lanes = {"lane": ["ops", *["Stream #1"] * (count - 1)], "device": [GPU] * count, "step": [0] * count}
    hardware = {"task": "", "device": GPU, "compute_capability": capability, "cores": cores}
    metadata = {"devices": table_of("devices", [hardware])}
    return Trace(events.build(columns | lanes), metadata=metadata)


def gemm(blocks: int, name: str = "ampere_sgemm_32x128_nn") -> str:
    return f"{name} regs:32 grid:{blocks},1,1 block:128,1,1"


def found(trace: Trace, kind: str) -> list[dict[str, object]]:
    table = trace.findings
    return table[table["kind"] == kind].to_dict("records")  # type: ignore[return-value]


def test_small_kernels_lose_the_time_of_the_processors_without_a_block() -> None:
    trace = trace_of(
        (0, 200, "Mul", gemm(25)),
        (300, 200, "Sub", gemm(75)),
        (600, 200, "Add", gemm(100)),
        (900, 50, "Add", "no grid"),
    )
    (finding,) = found(trace, "small kernels")
    # A quarter of the SMs for 200 ns and three quarters for 200 ns: half of 400 ns of 1000 is lost.
    assert finding["share"] == pytest.approx(0.2)
    assert (finding["lost_ns"], finding["level"]) == (200, "problem")
    figures = finding["figures"]
    assert isinstance(figures, dict)
    assert (figures["run_share"], figures["filled"], figures["cores"]) == (0.4, 0.5, 100)
    assert (figures["ops"], figures["op_types"]) == (["Mul", "Sub"], 2)
    assert (finding["events"], finding["event_count"]) == ([1, 2], 2)


def test_time_in_which_other_kernels_run_on_the_gpu_is_not_lost() -> None:
    trace = trace_of((0, 200, "Mul", gemm(50)), (100, 400, "Add", gemm(1000)))
    (finding,) = found(trace, "small kernels")
    assert finding["lost_ns"] == 50


@pytest.mark.parametrize(
    "trace",
    [
        trace_of((0, 200, "Mul", gemm(99, "elementwise"))),
        trace_of((0, 900, "Mul", gemm(100, "elementwise"))),
        trace_of((0, 900, "Mul", gemm(1, "elementwise")), cores=None),
        trace_of((0, 900, "Mul", "elementwise")),
        trace_of((0, 900, "Mul", gemm(10**11, "elementwise"))),
    ],
    ids=["below the threshold", "as many as processors", "of an unknown gpu", "no grid", "no such grid"],
)
def test_kernels_that_are_not_small(trace: Trace) -> None:
    assert not found(trace, "small kernels")


def test_matrix_products_without_tensor_cores() -> None:
    trace = trace_of(
        (0, 100, "MatMul", gemm(100)),
        (200, 300, "Conv2D", gemm(100, "volta_scudnn_128x64_relu_sgemm")),
        (600, 300, "MatMul", gemm(100, "ampere_h16816gemm_128x64_nn")),
        (900, 90, "Mul", gemm(100, "elementwise")),
    )
    (finding,) = found(trace, "tensor cores")
    assert finding["share"] == pytest.approx(0.4)
    assert finding["events"] == [2, 1]
    figures = finding["figures"]
    assert isinstance(figures, dict)
    assert (figures["ops"], figures["device"], figures["capability"]) == (["Conv2D", "MatMul"], GPU, "9.0")


@pytest.mark.parametrize("capability", ["6.1", ""])
def test_gpus_without_tensor_cores_are_not_asked_for_them(capability: str) -> None:
    trace = trace_of((0, 900, "MatMul", gemm(100)), capability=capability)
    assert not found(trace, "tensor cores")
    table = measurements(trace).set_index("id")
    assert table["share"].isna()["tensor_cores"]


@pytest.mark.parametrize(
    "name", ["gpu_tf218_function.xplane.pb.xz", "gpu_tf221_worker0.xplane.pb.xz", "gpu_tf221_mlp.pb.xz"]
)
def test_shares_of_real_profiles_are_sums_of_their_runs(name: str, data: Path) -> None:
    """One compute stream runs one kernel at a time, so that the union of runs is their sum."""
    trace = real_trace(data / name)
    table = measurements(trace).set_index("id")
    known = kernels(trace)["waves"].notna().any()
    assert table["share"].notna()["small_kernels"] == known
    if not known:
        return
    (device,) = trace.devices[trace.devices["cores"].notna()].to_dict("records")
    lost = 0.0
    ran = trace.events[(trace.events["kind"] == "kernel") & (trace.events["step"] >= 0)]
    for text, duration in zip(ran["detail"], ran["duration_ns"], strict=True):
        x, y, z = map(int, text.partition(" grid:")[2].split()[0].split(","))
        if x * y * z < device["cores"]:
            lost += duration * (1 - x * y * z / device["cores"])
    total = trace.steps.loc[trace.steps["step"] >= 0, "duration_ns"].sum()
    assert table["share"]["small_kernels"] == pytest.approx(lost / total, rel=1e-9)
