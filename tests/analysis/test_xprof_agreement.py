"""Figures of steps, kernels and ops, compared with XProf.

XProf's figures are in ``xprof_figures.json``, which ``benchmarks/xprof_figures.py`` writes.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from tests.real_traces import DATA, SHARED, outside_sample, real_trace
from tests.support import xspace_oracle
from tfvis_nb import Trace
from tfvis_nb.analysis.hardware.peak_rates import peak_rate

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

RECORDED = json.loads((Path(__file__).parent / "xprof_figures.json").read_text(encoding="utf-8"))
PROFILES: dict[str, dict[str, Any]] = RECORDED["profiles"]

NANOSECOND = 2e-6
"""In milliseconds: XProf counts picoseconds, here both ends of an event are cut to nanoseconds."""


def path_of(name: str) -> Path:
    folder, _, file = name.partition("/")
    return (DATA if folder == "data" else SHARED) / file


def sampled(names: list[str]) -> list[ParameterSet]:
    """Return parameters; all outside the sample are thorough."""
    return [
        pytest.param(name, marks=[pytest.mark.thorough] if outside_sample(path_of(name)) else [])
        for name in names
    ]


HERE = [name for name in PROFILES if path_of(name).is_file()]
ON_CPU = [name for name in HERE if "cpu" in name and PROFILES[name]["steps"]]
JAX_ON_CPU = [name for name in ON_CPU if "jax" in name]
# XProf takes a step of Keras apart into three, and gives copies of JAX to the step before theirs.
ON_GPU = [name for name in HERE if "cpu" not in name and "keras" not in name and "jax" not in name]
# XProf names what JAX ran by the source in its HLO.
WITH_OPS = [name for name in HERE if "jax" not in name]


# Of others XProf left kernels out.
WITH_KERNELS = [
    name for name in HERE if PROFILES[name]["kernels"]["longest"] and PROFILES[name]["kernels"]["all"]
]


RESERVED = "gemm_fusion_dot_12"
"""Four of its blocks fit in an SM only without the 1 KiB of each that the driver keeps, as profiles say."""


@lru_cache(maxsize=1)
def read(name: str) -> Trace:
    return real_trace(path_of(name))


def steps_of(name: str) -> list[tuple[dict[str, Any], int]]:
    """Return XProf's figures of each step, and the step's number here, matched by number or name."""
    numbers = {label: step for step, label in read(name).step_labels.items()}
    return [
        (row, numbers.get(row["stepnum"]) or int(row["stepnum"].split()[-1]))
        for row in PROFILES[name]["steps"]
    ]


@pytest.mark.parametrize("name", sampled(ON_GPU))
def test_a_step_on_a_gpu(name: str) -> None:
    """Its step is from the first to the last event of a GPU, its device compute all that ran there."""
    gpus = read(name).utilization
    gpus = gpus[gpus["hta_kernel_ns"].notna()]
    assert PROFILES[name]["steps"]
    for said, step in steps_of(name):
        # Of several GPUs it takes the one whose step is the longest.
        ours = gpus[gpus["step"] == step].sort_values("hta_kernel_ns").iloc[-1]
        length, busy = behind(name, ours) if step == gpus["step"].max() else (0, 0)
        assert said["stepTimeMs"] == pytest.approx((ours["hta_kernel_ns"] + length) / 1e6, abs=NANOSECOND)
        assert said["deviceComputeTimeMs"] == pytest.approx((ours["busy_ns"] + busy) / 1e6, rel=1e-5)
        assert said["otherTimeMs"] == pytest.approx(said["stepTimeMs"] - said["deviceComputeTimeMs"])


def behind(name: str, step: pd.Series) -> tuple[int, int]:
    """Return by how much the last step is longer and busier with copies behind it, which XProf gives it."""
    events = read(name).events
    group = events[events["device"] == step["device"]]
    end = group["start_ns"] + group["duration_ns"]
    until = int(end[group["step"] == step["step"]].max())
    copies = group[(group["step"] < 0) & (group["start_ns"] >= until)]
    if copies.empty:
        return 0, 0
    return int(end[copies.index].max()) - until, int(copies["duration_ns"].sum())


@pytest.mark.parametrize("name", sampled([name for name in ON_CPU if name not in JAX_ON_CPU]))
def test_a_step_on_cpus_alone(name: str) -> None:
    whole = read(name).breakdown
    whole = whole[whole["device"] == ""].set_index("step")
    for said, step in steps_of(name):
        ours = whole.loc[step]
        assert said["stepTimeMs"] == pytest.approx(ours["step_ns"] / 1e6, abs=NANOSECOND)
        for part, names in {
            "infeedTimeMs": ("input_ns", "h2d_ns"),
            "hostComputeTimeMs": ("host_compute_ns", "runtime_ns", "compile_ns"),
            "outfeedTimeMs": ("d2h_ns",),
            "kernelLaunchTimeMs": ("launch_ns",),
            "deviceCollectivesTimeMs": ("communication_ns",),
        }.items():
            assert said[part] == pytest.approx(ours[list(names)].sum() / 1e6, rel=1e-5), part
        rest = ours[["idle_ns", "preprocessing_ns"]].sum() / 1e6
        assert said["otherTimeMs"] == pytest.approx(rest, abs=1e-5 * said["stepTimeMs"])


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", sampled(JAX_ON_CPU))
def test_a_step_of_jax_on_a_cpu(name: str) -> None:
    """XProf has the Python thread, and from when another takes up the work to the next event on Python's.

    It does not count the thunks to the step, but the time at which their thread takes up the work. For an
    event without length it sees the end before the start (``CmpEventBoundaries`` in ``event_span.cc``), and
    takes it to last until something else ends.
    """
    trace = read(name)
    events, steps = trace.events, trace.steps.set_index("step")
    python = events["lane"] == events.loc[events["name"] == "train", "lane"].iloc[0]
    rows = xspace_oracle.read(xspace_oracle.load(path_of(name)), threadpool=True)
    taken_up = [row["start_ns"] for row in rows if row["_name"] == "ThreadpoolListener::StartRegion"]
    for said, step in steps_of(name):
        start, end = (
            int(steps[column].to_numpy()[steps.index == step][0]) for column in ("start_ns", "end_ns")
        )
        assert said["stepTimeMs"] == pytest.approx((end - start) / 1e6, abs=NANOSECOND)
        group = events[python & (events["step"] == step) & (events["name"] != "train")]
        spans = merged(group["start_ns"].to_numpy(), (group["start_ns"] + group["duration_ns"]).to_numpy())
        ends = [next((last for _, last in spans if last >= moment), moment) for moment in taken_up]
        lasting = [pair for pair in zip(taken_up, ends, strict=True) if start <= pair[0] < end]
        starts, stops = np.array([*spans, *lasting]).T
        busy = sum(last - first for first, last in merged(starts, stops))
        assert said["hostComputeTimeMs"] == pytest.approx(busy / 1e6, abs=NANOSECOND * len(group))
        assert said["otherTimeMs"] == pytest.approx((end - start - busy) / 1e6, abs=NANOSECOND * len(group))


def merged(start: np.ndarray, end: np.ndarray) -> list[tuple[int, int]]:
    """Return the union of intervals, in order."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(zip(start.tolist(), end.tolist(), strict=True)):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


@pytest.mark.parametrize("name", sampled(HERE))
def test_kernels(name: str) -> None:
    said = PROFILES[name]["kernels"]
    events = read(name).events
    kernels = events[events["kind"] == "kernel"]
    if said["all"]:
        assert said["occurrences"] == len(kernels)
        assert said["total_us"] == pytest.approx(kernels["duration_ns"].sum() / 1e3)
    else:
        assert said["occurrences"] < len(kernels)
        assert said["total_us"] < kernels["duration_ns"].sum() / 1e3


@pytest.mark.parametrize("name", sampled(WITH_KERNELS))
def test_kernels_by_name(name: str) -> None:
    """The kernels that took most time, over all their ops and launches."""
    said = PROFILES[name]["kernels"]
    table = read(name).kernels
    for row in said["longest"]:
        ours = table[table["name"] == row["name"]]
        assert ours["count"].sum() == row["occurrences"]
        rounding = NANOSECOND * row["occurrences"] * 1000
        assert ours["total_ns"].sum() / 1e3 == pytest.approx(row["total_us"], abs=rounding)
        assert ours["min_ns"].min() / 1e3 == pytest.approx(row["min_us"], abs=0.002)
        assert ours["max_ns"].max() / 1e3 == pytest.approx(row["max_us"], abs=0.002)
        for kernel in ours.itertuples():
            shared = kernel.static_shared_bytes + kernel.dynamic_shared_bytes
            if shared is pd.NA:  # Only their sum is recorded, before TensorFlow 2.5.
                assert " shm:0 " in read(name).events["detail"][kernel.longest]
                shared = 0
            launch = f"{kernel.registers} {shared} {kernel.block} {kernel.grid} "
            (occupancy,) = (
                float(one.removeprefix(launch)) for one in row["launches"] if one.startswith(launch)
            )
            if kernel.name == RESERVED:
                assert (occupancy, kernel.occupancy) == (25, 3 * 128 / 2048)
            elif occupancy:  # TensorFlow 2.18 has 0 for more shared memory than a kernel has by default.
                assert kernel.occupancy == pytest.approx(occupancy / 100)
        # XProf knows fewer kernels and, by names of nodes instead of types, fewer ops.
        assert (ours["tensor_cores"] == True).any() or not row["tensor_cores"]  # noqa: E712 - may be missing
        assert (ours["eligible"] == True).any() or not row["eligible"]  # noqa: E712


@pytest.mark.parametrize("name", [name for name in RECORDED["hlo_ops"] if path_of(name).is_file()])
def test_instructions(name: str) -> None:
    """XProf leaves command buffers out, takes times of TPUs by their own clock, and scales work of GPUs."""
    trace = read(name)
    assert trace.nested is not None
    ran = trace.nested.select(["program", "hlo_op"]).to_pandas()
    clock = trace.events["detail"].str.extract(r" device_duration_ps=(\d+)", expand=False).astype("Int64")
    rounding = clock.fillna(trace.events["duration_ns"].astype("Int64") * 1000)[
        trace.events["lane"] != "Async XLA Ops"
    ]
    took = rounding.groupby([ran["program"], ran["hlo_op"]]).sum()
    ours = trace.hlo_ops.set_index(["program", "hlo_op"])
    for said in RECORDED["hlo_ops"][name]:
        (key,) = (
            one
            for one in ours.index
            if one[0].endswith(f"({said['program_id']})") and one[1] == said["hlo_op_name"]
        )
        row, seconds = ours.loc[key], said["total_time"] / 1e6
        assert (row["count"], row["category"]) == (said["occurrences"], said["category"])
        assert took[key] / 1e6 == pytest.approx(said["total_time"], abs=0.001 * row["count"])
        assert said["total_self_time"] == said["total_time"]
        moved = said["measured_memory_bw"] * 2**30 * seconds / row["count"]
        assert row["bytes_accessed"] == pytest.approx(moved, rel=1e-6)
        if row["cost"] == "XLA":
            worked = said["model_flop_rate"] * 1e9 * seconds / row["count"]
            assert row["flops"] == pytest.approx(worked, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in RECORDED["roofline"] if path_of(name).is_file()])
def test_rooflines(name: str) -> None:
    """The least time of an instruction. XProf has one highest rate for all types, that of 16 bits."""
    trace = read(name)
    said = RECORDED["roofline"][name]
    ours = trace.roofline.set_index(["program", "hlo_op"])
    for row in said["ops"]:
        if row["operation"].startswith("copy-start"):
            continue
        found = ours[ours.index.get_level_values("program").str.endswith(f"({row['hlo_module_id']})")]
        op = found.loc[(slice(None), row["operation"]), :].iloc[0]
        least = row["roofline_efficiency"] * row["total_self_time"] * 1e3
        assert op["ideal_ns"] == pytest.approx(least, rel=1e-5), row
        assert (op["bound"], row["bound_by"]) == ("memory", "HBM")
        assert op["peak_bytes"] == pytest.approx(float(said["peak_hbm_bw"]) * 2**30, rel=1e-5)
    device = trace.devices[trace.devices["memory_bandwidth"].notna()].iloc[0]
    highest = device["peak_flops"]
    if pd.isna(highest):
        clock = {"cores": device["cores"], "clock_hz": device["clock_hz"]}
        highest = peak_rate(device["compute_capability"], **clock, kind="f16")
    assert highest == pytest.approx(float(said["peak_flop_rate"]) * 1e9, rel=1e-5)


@pytest.mark.parametrize("name", [name for name in RECORDED["memory"] if path_of(name).is_file()])
def test_memory_of_programs(name: str) -> None:
    """XProf leaves the tables of temporary tuples out."""
    buffers = read(name).program_memory
    buffers = buffers[buffers["memory_space"] == 0]
    tables = (buffers["kind"] == "temporary") & buffers["shape"].str.startswith("(")
    mebibytes = (buffers["bytes"] / 2**20)[~tables]
    peak = mebibytes.groupby(buffers["program"]).sum()
    by_kind = mebibytes.groupby([buffers["program"], buffers["kind"]]).sum()
    assert len(peak)
    for program, ours in peak.items():
        said = RECORDED["memory"][name][program]
        assert ours == pytest.approx(said["peakHeapMib"], abs=1e-9)
        for kind, key in (("parameter", "entryComputationParametersMib"), ("output", "maybeLiveOutMib")):
            assert by_kind.get((program, kind), 0) == pytest.approx(said[key], abs=1e-9), (program, kind)


@pytest.mark.parametrize("name", sampled(WITH_OPS))
def test_ops(name: str) -> None:
    """The ops that took most time, on the GPUs and on the host."""
    events = read(name).events
    on_gpu = events["device"].astype(str).str.contains("GPU")
    for where, rows in (("device_ops", events[on_gpu]), ("host_ops", events[~on_gpu])):
        total = rows.groupby("name")["duration_ns"].sum()
        for op in PROFILES[name][where]:
            assert op["total_time"] == pytest.approx(total[op["operation"]] / 1e3, rel=1e-5), op


def test_figures_were_recorded_of_each_kind() -> None:
    assert RECORDED["xprof"]
    steps = pd.concat([pd.DataFrame(profile["steps"]) for profile in PROFILES.values()])
    assert (steps["deviceComputeTimeMs"] > 0).sum() > 50
    assert (steps["infeedTimeMs"] > 0).any()
    assert all(profile["kernels"]["occurrences"] for key, profile in PROFILES.items() if "gpu" in key)
    assert all(PROFILES[name]["host_ops"] or PROFILES[name]["device_ops"] for name in WITH_OPS)
