"""Findings of GPU kernels: too few blocks for the GPU, no Tensor Cores, and streams that wait for one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis import kernels, measurements
from tfvis_nb.analysis.hardware.stream_waits import stream_waits
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


def test_collectives_are_no_small_kernels() -> None:
    trace = trace_of((0, 200, "Mul", gemm(25)), (300, 600, "Dispatch", gemm(20)))
    kind = trace.events["kind"].astype(object)
    table = trace.events.assign(
        kind=kind.where(trace.events["op"] != "Dispatch", "collective").astype("category")
    )
    (finding,) = found(Trace(table, metadata=trace.metadata), "small kernels")
    assert finding["share"] == pytest.approx(0.15)
    assert finding["figures"]["ops"] == ["Mul"]  # type: ignore[index]


def test_small_kernels_lose_the_time_of_idle_processors() -> None:
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


def of_streams(*kernels: tuple[str, str, int, int, int | None]) -> Trace:
    """A step of 1000 ns in which a GPU runs kernels: stream, name, start, end and launch."""
    ordered = sorted(kernels, key=lambda kernel: kernel[2])
    lanes, names, starts, ends, launched = map(list, zip(*ordered, strict=True))
    count = len(kernels)
    columns = {
        "start_ns": [0, *starts],
        "duration_ns": [STEP_NS, *(end - start for start, end in zip(starts, ends, strict=True))],
        "scheduled_ns": [None, *launched],
        "kind": ["op", *("collective" if "nccl" in name else "kernel" for name in names)],
        "name": ["Loop", *names],
        "lane": ["ops", *lanes],
        "device": [GPU] * (count + 1),
        "step": [0] * (count + 1),
    }
    return Trace(events.build(columns))


# Stream 2 is free at 100, and its next kernel launched at 150: it waits for 150 ns, until "wall" ends.
WALL = (
    ("stream:1", "before", 0, 100, 0),
    ("stream:2", "before", 20, 100, 10),
    ("stream:1", "wall", 100, 300, 20),
    ("stream:2", "after", 300, 400, 150),
    ("stream:1", "after", 310, 400, 30),
)


def test_a_kernel_that_other_streams_wait_for() -> None:
    (finding,) = found(of_streams(*WALL), "serial kernel")
    assert (finding["share"], finding["lost_ns"], finding["events"]) == (0.15, 150, [3])
    figures = finding["figures"]
    assert isinstance(figures, dict)
    assert (figures["name"], figures["streams"], figures["runs"], figures["waves"]) == ("wall", 2, 1, None)
    # While another kernel also runs, nothing waits for the small kernel.
    (less,) = found(of_streams(*WALL, ("stream:3", "next to it", 200, 280, 0)), "serial kernel")
    assert less["lost_ns"] == 50 + 20


def changed(stream: str, name: str, start: int, end: int, launched: int | None) -> Trace:
    """Return the same with another kernel after the wall."""
    return of_streams(*WALL[:3], (stream, name, start, end, launched), WALL[4])


@pytest.mark.parametrize(
    "trace",
    [
        changed("stream:2", "after", 300, 400, 290),
        changed("stream:2", "after", 320, 400, 150),
        changed("stream:2", "after", 300, 400, None),
        changed("stream:1", "after", 300, 310, 150),
        changed("stream:2", "ncclAllReduce", 300, 400, 150),
        of_streams(*WALL, ("stream:2", "own", 100, 290, 0)),
    ],
    ids=["launched late", "starts after the next", "launch unknown", "own stream", "collective", "not free"],
)
def test_kernels_that_no_stream_waits_for(trace: Trace) -> None:
    assert not found(trace, "serial kernel")


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 20), st.integers(0, 8), st.none() | st.integers(0, 20)),
        min_size=1,
        max_size=10,
    )
)
def test_waits_are_those_of_a_look_at_each_nanosecond(rows: list[tuple[int, int, int, int | None]]) -> None:
    rows = sorted(rows, key=lambda row: (row[1], row[0]))
    kernels = [(f"stream:{lane}", "k", start, start + took, asked) for lane, start, took, asked in rows]
    trace = of_streams(*kernels)
    own = np.flatnonzero(trace.events["kind"] == "kernel")
    waits = stream_waits(trace)
    expected = np.zeros(len(waits), np.int64)
    events = trace.events.iloc[own].assign(end=lambda table: table["start_ns"] + table["duration_ns"])
    for now in range(30):
        running = events[(events["start_ns"] <= now) & (now < events["end"])]
        if len(running) != 1:
            continue
        (one,) = running.itertuples()
        later = events[events["start_ns"] >= one.end]
        coming = later[(later["start_ns"] == later["start_ns"].min()) & (later["lane"] != one.lane)]
        for other in coming.head(1).itertuples():
            ahead = events[(events["lane"] == other.lane) & (events["start_ns"] <= other.start_ns)]
            ahead = ahead[ahead.index < other.Index]
            if pd.notna(other.scheduled_ns) and other.scheduled_ns <= now and (ahead["end"] <= now).all():
                expected[running.index.to_numpy()] += 1
    assert waits.tolist() == expected.tolist()


def test_thousands_of_streams_are_looked_at_once() -> None:
    count = 20_000
    kernels = [(f"stream:{number}", "k", 10 * number, 10 * number + 5, 0) for number in range(count)]
    assert stream_waits(of_streams(*kernels)).sum() == 5 * (count - 1)


@pytest.mark.parametrize("name", ["gpu_tf221_mlp.pb.xz", "kineto_rank0.json.xz"])
def test_streams_of_real_traces_wait_for_no_kernel(name: str, data: Path) -> None:
    """Of one stream it is not known; in PyTorch's the streams of collectives alone wait."""
    (share,) = measurements(real_trace(data / name)).set_index("id").loc[["serial_kernel"], "share"]
    assert share == 0 if "kineto" in name else pd.isna(share)
