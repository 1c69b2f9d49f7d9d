"""Kernels by name: times, launches, occupancy, waves, Tensor Cores."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.real_traces import real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis import kernels, why_not
from tfvis_nb.analysis.hardware.kernels import LIMITS, occupancy, suggested_block
from tfvis_nb.analysis.hardware.launch_configuration import launch_configuration
from tfvis_nb.analysis.hardware.tensor_cores import could_use_tensor_cores, uses_tensor_cores
from tfvis_nb.core.metadata import table_of

PROFILES = (
    "gpu_tf218_function.xplane.pb.xz",
    "gpu_tf221_worker0.xplane.pb.xz",
    "gpu_tf221_worker1.xplane.pb.xz",
)


def trace_of(detail: str, **hardware: object) -> Trace:
    gpu = "/device:GPU:0"
    columns = {"start_ns": [0], "duration_ns": [5], "kind": ["kernel"], "device": [gpu], "detail": [detail]}
    known = table_of("devices", [{"task": "", "device": gpu, **hardware}])
    return Trace(events.build(columns), metadata={"devices": known})


def test_kernels_by_their_own_names(data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_mlp.pb.xz")
    ran = trace.events[trace.events["kind"] == "kernel"]
    table = kernels(trace)
    assert (table["count"].sum(), table["total_ns"].sum()) == (len(ran), ran["duration_ns"].sum())
    assert table["share"].sum() == pytest.approx(1)
    assert table["total_ns"].is_monotonic_decreasing
    (gemm,) = table[table["name"].str.contains("s1688gemm_64x64_32x6_nn")].to_dict("records")
    assert (gemm["op"], gemm["registers"], gemm["grid"], gemm["block"]) == ("MatMul", 92, "32,2,1", "128,1,1")
    assert trace.events["detail"][gemm["longest"]].startswith(f"{gemm['name']} regs:")
    # PyTorch's facts have other names; a name alone is a name as well.
    torch = kernels(real_trace(data / "kineto_rank0.json.xz"))
    assert torch["registers"].notna().all()
    assert not torch["name"].str.contains("External id=").any()
    assert (torch["block"] != "").all()
    columns = {"kind": ["kernel", "memset"], "name": ["fusion", "Memset"], "detail": ["", ""]}
    bare = kernels(Trace(events.build({"start_ns": [0, 5], "duration_ns": [3, 3], **columns})))
    assert bare[["name", "op", "count", "grid"]].to_dict("records") == [
        {"name": "fusion", "op": "", "count": 1, "grid": ""}
    ]


@pytest.mark.parametrize("name", PROFILES)
def test_occupancy_is_that_of_the_profile(name: str, data: Path) -> None:
    """CUDA's own calculation, but for what TensorFlow 2.18 writes as 0. The GPUs are of 9.0."""
    texts = real_trace(data / name).events["detail"].dropna().unique().tolist()
    said = [(launch, launch.occupancy) for launch in map(launch_configuration, texts) if launch.occupancy]
    assert len(said) > 10
    for launch, share in said:
        assert launch.registers is not None
        full = occupancy(
            "9.0",
            launch.registers,
            (launch.static_shared or 0) + (launch.dynamic_shared or 0),
            launch.threads,
        )
        assert full is not None
        assert full.share == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(
    ("launch", "blocks", "limited_by"),
    [
        ({"registers": 32, "shared_bytes": 0, "threads": 1024}, 2, "threads"),
        ({"registers": 16, "shared_bytes": 0, "threads": 32}, 32, "blocks"),
        ({"registers": 255, "shared_bytes": 0, "threads": 256}, 1, "registers"),
        # 228 KiB; each block takes 1 KiB for itself.
        ({"registers": 32, "shared_bytes": 113 * 1024, "threads": 128}, 2, "shared memory"),
        ({"registers": 32, "shared_bytes": 113 * 1024 + 1, "threads": 128}, 1, "shared memory"),
    ],
)
def test_what_limits_the_blocks_of_an_sm(launch: dict[str, int], blocks: int, limited_by: str) -> None:
    full = occupancy("9.0", **launch)
    assert full is not None
    assert (full.blocks, full.limited_by) == (blocks, limited_by)
    assert full.share == blocks * launch["threads"] / 2048


@pytest.mark.parametrize(
    ("registers", "shared_bytes", "threads"),
    [(193, 73_728, 256), (20, 0, 1024), (213, 81_920, 256), (168, 231_424, 384)],
)
def test_the_suggested_block_is_that_of_the_profiles(registers: int, shared_bytes: int, threads: int) -> None:
    """``occupancy_suggested_block_size`` of kernels of TensorFlow 2.21 on a GPU of 9.0."""
    assert suggested_block("9.0", registers, shared_bytes) == threads
    assert suggested_block("9.0", registers, 10**9) is None


def test_occupancy_is_unknown_for_other_gpus() -> None:
    assert occupancy("99.0", 32, 0, 128) is None
    assert occupancy("", 32, 0, 128) is None
    assert occupancy("9.0", 32, 0, 0) is None
    assert occupancy("9.0", 32, 10**9, 128) is None
    assert occupancy("9.0", 10**11, 0, 128) is None
    known = [occupancy(capability, 32, 0, 256) for capability in LIMITS]
    assert all(one is not None and 0 < one.share <= 1 for one in known)


def test_waves_of_a_launch() -> None:
    text = "k regs:32 static_shared:0 dynamic_shared:0 grid:300,1,1 block:1024,1,1 occ_pct:50"
    known = kernels(trace_of(text, compute_capability="9.0", cores=100)).iloc[0]
    assert (known["occupancy"], known["limited_by"], known["waves"]) == (1, "threads", 1.5)
    assert known["suggested_block"] == 1024
    without_cores = kernels(trace_of(text, compute_capability="9.0")).iloc[0]
    assert without_cores["occupancy"] == 1
    assert pd.isna(without_cores["waves"])
    unknown = kernels(trace_of(text)).iloc[0]
    assert (unknown["occupancy"], unknown["limited_by"]) == (0.5, "")
    nothing = kernels(trace_of("k", compute_capability="9.0", cores=100)).iloc[0]
    assert nothing[["registers", "occupancy", "waves", "static_shared_bytes", "suggested_block"]].isna().all()


BY_HAND = {
    # Read off the files with TensorFlow's protobuf classes: the kernel and its op; count, total, shortest,
    # longest and 99th percentile in ns; registers, static and dynamic shared memory, grid, block.
    ("gpu_tf221_mlp.pb.xz", "void tensorflow::functor::ApplyAdamKernel", "ResourceApplyAdam"): (
        *(9, 41_000, 1_000, 9_000, 9_000),
        *(32, 0, 0, "132,1,1", "1024,1,1"),
    ),
    ("gpu_tf218_function.xplane.pb.xz", "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhw", "Conv2D"): (
        *(5, 230_625, 45_920, 46_273, 46_273),
        *(240, 0, 65_536, "1,512,2", "128,1,1"),
    ),
    ("gpu_tf221_worker1.xplane.pb.xz", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x12", "MatMul"): (
        *(954, 19_683_411, 20_353, 21_728, 21_408),
        *(168, 0, 231_424, "30,4,1", "384,1,1"),
    ),
    ("gpu_tf221_worker1.xplane.pb.xz", "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_1", "MatMul"): (
        *(960, 29_936_388, 30_848, 32_192, 31_744),
        *(213, 0, 81_920, "48,1,7", "128,1,1"),
    ),
}

# By hand as well: threads of an SM that run at once, what limits them, the blocks of the grid in multiples of
# the blocks that 132 SMs hold, and Tensor Cores. 384 threads have 384 * 168 of the 65,536 registers.
FILLED_BY_HAND = {
    "ResourceApplyAdam": (2048, "", None, False),
    "Conv2D": (2 * 128, "registers", 1024 / (2 * 132), True),
    "30,4,1": (384, "registers", 120 / 132, True),
    "48,1,7": (2 * 128, "registers", 336 / (2 * 132), True),
}


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: f"{case[0].partition('.')[0]} {case[2]}")
def test_a_kernel_of_a_profile_by_hand(case: tuple[str, str, str], data: Path) -> None:
    file, name, op = case
    table = kernels(real_trace(data / file))
    row = table[table["name"].str.startswith(name) & (table["op"] == op)].iloc[0]
    names = ["count", "total_ns", "min_ns", "max_ns", "p99_ns"]
    launch = ["registers", "static_shared_bytes", "dynamic_shared_bytes", "grid", "block"]
    assert tuple(row[[*names, *launch]]) == BY_HAND[case]
    assert row["mean_ns"] == row["total_ns"] / row["count"]
    threads, limited_by, waves, uses = FILLED_BY_HAND.get(op) or FILLED_BY_HAND[row["grid"]]
    assert (row["occupancy"], row["limited_by"], row["tensor_cores"]) == (threads / 2048, limited_by, uses)
    assert pd.isna(row["waves"]) if waves is None else row["waves"] == pytest.approx(waves)


@pytest.mark.parametrize(
    ("kernel", "op", "uses"),
    [
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_tensor16x8x8_execute", "Conv2D", True),
        ("sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_warpgroupsize1x1x1_g1_strided", "Conv2D", True),
        ("sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_ffma_aligna4_execute", "Conv2D", False),
        ("volta_h884gemm_64x64_ldg8_nn", "MatMul", True),
        ("turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu", "Conv2D", True),
        ("volta_sgemm_128x64_nn", "MatMul", False),
        ("AddV2_GPU_DT_FLOAT_DT_FLOAT_kernel", "AddV2", False),
        ("gemm_fusion_dot_7", "gemm_fusion_dot", None),
        ("cudnn::cnn::wgrad2d_grouped_direct_kernel", "Conv2DBackpropFilter", None),
        ("grid_16884_kernel", "AddV2", False),
    ],
)
def test_tensor_cores_by_name(kernel: str, op: str, uses: bool | None) -> None:
    assert uses_tensor_cores(kernel, op) is uses


def test_ops_that_could_use_tensor_cores() -> None:
    assert all(
        map(
            could_use_tensor_cores,
            ("MatMul", "BatchMatMulV2", "_FusedConv2D", "Einsum", "dot_general", "gemm_fusion_dot"),
        )
    )
    assert not any(map(could_use_tensor_cores, ("", "Relu", "MatMulled", "Conv2DTranspose", "BiasAdd")))


def test_a_trace_without_kernels_says_so() -> None:
    assert why_not(kernels(Trace(events.build({}, rows=0)))).id == "no_kernels"


def test_text_of_a_kernel_may_be_anything() -> None:
    huge = "9" * 400
    text = f" regs:{huge} static_shared:1x grid:1,2 block:{huge},1,1 occ_pct:{huge} dynamic_shared:-4"
    launch = launch_configuration(text)
    assert (launch.registers, launch.static_shared, launch.dynamic_shared) == (None, None, None)
    assert (launch.blocks, launch.threads, launch.occupancy) == (0, 0, None)
    assert not re.search(
        "nan|inf", str(kernels(trace_of(text, compute_capability="9.0", cores=1)).iloc[0]["waves"])
    )
