"""How near instructions come to the limits of their device: by hand, in groups, of unknown devices."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.real_traces import real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import hlo_ops, roofline, why_not
from tfvis_nb.analysis.hardware.peak_rates import PER_CYCLE, peak_rate, type_of
from tfvis_nb.analysis.hardware.roofline import BY, By
from tfvis_nb.core.metadata import table_of
from tfvis_nb.display.tabs import tab

TPU = "/device:TPU:0"


def trace_of(*ops: tuple[str, int, int | None, int | None], **hardware: object) -> Trace:
    """Instructions of one program one after the other: their name, duration, operations and bytes."""
    names, durations, flops, moved = zip(*ops, strict=True)
    count = len(ops)
    starts = [sum(durations[:number]) for number in range(count)]
    columns = {
        "start_ns": starts,
        "duration_ns": list(durations),
        "kind": ["kernel"] * count,
        "op": list(names),
    }
    table = events.build(columns | {"device": [TPU] * count, "lane": ["XLA Ops"] * count})
    of_program = {"program": ["jit_f(3)"] * count, "hlo_op": list(names)}
    work = {"flops": pa.array(flops, pa.int64()), "bytes_accessed": pa.array(moved, pa.int64())}
    known = table_of("devices", [{"task": "", "device": TPU, **hardware}])
    return Trace(table, nested=pa.table(of_program | work), metadata={"devices": known})


KNOWN = {"peak_flops": 10**12, "memory_bandwidth": 10**11}
"""A thousand operations and a hundred bytes in a ns."""


def test_what_limits_an_instruction_and_its_least_time() -> None:
    trace = trace_of(("dot", 100, 50_000, 100), ("add", 200, 100, 5_000), **KNOWN)
    table = trace.roofline.set_index("hlo_op")
    assert table["bound"].to_dict() == {"add": "memory", "dot": "compute"}
    assert table["ideal_ns"].to_dict() == {"add": 50, "dot": 50}
    assert table["efficiency"].to_dict() == {"add": 0.25, "dot": 0.5}
    assert table["intensity"].to_dict() == {"add": 0.02, "dot": 500}
    assert table["flop_rate"]["dot"] == 5e11
    assert table["byte_rate"]["add"] == 2.5e10


def test_waiting_for_a_copy_has_no_efficiency() -> None:
    """The copy took place before, while others ran."""
    table = trace_of(("copy-start", 1, 0, 5_000), ("copy-done", 1, 0, 5_000), **KNOWN).roofline
    assert table[["hlo_op", "ideal_ns"]].to_numpy().tolist() == [["copy-done", 50]]
    assert table["efficiency"].isna().all()


def test_a_tpu_has_no_kernels() -> None:
    assert why_not(trace_of(("dot", 100, 50_000, 100)).kernels).id == "no_kernels"


def test_unknown_rows_are_omitted() -> None:
    trace = trace_of(("dot", 100, 50_000, 100), ("call", 900, None, 7), ("empty", 0, 1, 1), **KNOWN)
    assert trace.roofline["hlo_op"].tolist() == ["dot"]
    nothing = trace_of(("call", 900, None, 7), **KNOWN)
    assert why_not(nothing.roofline).id == "no_hlo_costs"


@pytest.mark.parametrize("by", [by for by in BY if by not in ("name", "op", "kernel")])
def test_groups_add_up(by: By, data: Path) -> None:
    trace = real_trace(data / "cpu_jax.xplane.pb")
    each, grouped = (
        roofline(trace, peak_flops=1e11, memory_bandwidth=1e10),
        roofline(trace, by, peak_flops=1e11, memory_bandwidth=1e10),
    )
    for name in ("count", "self_ns", "flops", "bytes", "ideal_ns"):
        assert grouped[name].sum() == pytest.approx(each[name].sum())
    ops = hlo_ops(trace)
    assert each["flops"].sum() == (ops["flops"] * ops["count"]).sum()


def test_rates_of_a_device_that_is_not_known_are_asked_for(data: Path) -> None:
    trace = real_trace(data / "cpu_jax.xplane.pb")
    (row,) = trace.roofline.to_dict("records")
    assert row["flop_rate"] == pytest.approx(row["flops"] / row["self_ns"] * 1e9)
    assert pd.isna(row["peak_flops"])
    assert pd.isna(row["efficiency"])
    assert row["bound"] == ""
    (given,) = roofline(trace, peak_flops=1e11, memory_bandwidth=1e9).to_dict("records")
    assert given["bound"] == "compute"
    assert given["efficiency"] == pytest.approx(given["flop_rate"] / 1e11)
    odd: Any
    for odd in (0, float("nan"), "1e12", [1]):
        with raises_id(ValueError, "rate_not_positive"):
            roofline(trace, peak_flops=odd)
    with raises_id(ValueError, "not_one_of"):
        roofline(trace, "line")  # type: ignore[arg-type]


def test_one_highest_rate_for_each_type() -> None:
    cycles = {"cores": 1, "clock_hz": 1}
    for capability, rates in PER_CYCLE.items():
        for kind, per_cycle in rates.items():
            assert peak_rate(capability, **cycles, kind=kind) == per_cycle
        assert rates["f16"] > rates["f32"] > rates["f64"]
    assert peak_rate("3.5", **cycles, kind="f32") is None
    assert peak_rate("7.0", **cycles, kind="bf16") is None
    assert type_of("f32[4,8] fusion(bf16[4] x.1, f32[8] y), kind=kLoop") == "bf16"
    assert type_of("(f16[2], u32[]) copy-start(u32[] n)") == "f16"
    assert type_of("") == ""


def test_a_trace_without_compiled_programs_says_so(data: Path) -> None:
    trace = real_trace(data / "local_mlp_step1.pb")
    assert why_not(roofline(trace, "hlo_op")).id == "no_hlo_ops"
    assert why_not(roofline(trace, "kernel")).id == "no_kernels"
    shapeless = real_trace(data / "cpu_tf221_keras_fit.xplane.pb.xz")
    assert why_not(shapeless.roofline).id == "no_op_costs"
    assert trace.roofline["flops"].sum() > 0


@pytest.mark.parametrize("by", ["op", "kernel", "layer", "step"])
def test_the_work_of_ops_counts_once(by: By, data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_mlp.pb.xz")
    each, grouped = trace.roofline, roofline(trace, by)
    for name in ("self_ns", "flops", "bytes"):
        assert grouped[name].sum() == pytest.approx(each[name].sum())
    if by != "kernel":
        assert grouped["count"].sum() == each["count"].sum()


def test_matrix_products_of_a_gpu_by_hand(data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_mlp.pb.xz")
    row = trace.roofline.set_index("name").loc["MatMul"]
    assert row["flops"] == 2 * 256 * 784 * 1024
    assert row["bytes"] == 4 * (256 * 784 + 784 * 1024 + 256 * 1024)
    launched = trace.events[(trace.events["kind"] == "kernel") & (trace.events["name"] == "MatMul")]
    assert row["self_ns"] == launched["duration_ns"].sum()
    assert row["flop_rate"] == pytest.approx(row["flops"] / row["self_ns"] * 1e9)
    known = trace.kernels[trace.kernels["flop_rate"].notna()]
    products = known[known["op"] == "MatMul"]
    rated = (products["flop_rate"] * products["total_ns"]).sum() / 1e9
    assert rated == pytest.approx(roofline(trace, "op").set_index("op")["flops"]["MatMul"])
    assert trace.kernels.loc[trace.kernels["op"] == "ResourceApplyAdam", "flop_rate"].isna().all()


def test_ops_on_threads_have_the_time_of_their_kernels() -> None:
    names = {"name": ["dot", "cuLaunchKernel", "dot", "add"], "kind": ["op", "host", "kernel", "op"]}
    table = events.build(
        names
        | {
            "start_ns": [0, 10, 60, 90],
            "duration_ns": [50, 5, 20, 8],
            "op": ["MatMul", "", "MatMul", "AddV2"],
        }
        | {"device": ["/device:CPU:0"] * 2 + ["/device:GPU:0", "/device:CPU:0"]}
        | {"lane": ["python", "python", "stream:13", "python"]}
        | {"detail": ["shape=(float[8,4];float[4,2])", "", "gemm", "shape=(float[8,2];float[2])"]}
    )
    trace = Trace(table, nested=pa.table({"launch": pa.array([None, 7, 7, None], pa.int64())}))
    found = trace.roofline.set_index("name")
    assert found["self_ns"].to_dict() == {"dot": 20, "add": 8}
    assert found["flops"].to_dict() == {"dot": 128, "add": 16}
    assert trace.kernels["flop_rate"].tolist() == [128 / 20e-9]


def test_the_table_of_instructions_has_the_known_facts(data: Path) -> None:
    def columns(trace: Trace) -> dict[str, list[object]]:
        (block, *_) = tab(trace, "Kernels")["blocks"]
        names = [column["name"] for column in block["columns"]]
        return dict(zip(names, map(list, zip(*block["rows"], strict=True)), strict=True))

    known = columns(trace_of(("dot", 300, 50_000, 100), ("call", 100, None, 7), **KNOWN))
    assert (known["bound"], known["efficiency"]) == (["compute", None], [50 / 300, None])
    assert "efficiency" not in columns(real_trace(data / "cpu_jax.xplane.pb"))
