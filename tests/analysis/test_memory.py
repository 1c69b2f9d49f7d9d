"""Memory of real traces: checked by a simple reader, TensorFlow's own figures, and general identities."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, each, real_trace, xspace_files
from tests.support import memory_oracle, oracle, xspace_oracle
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.memory.memory_breakdown import BY, live_buffers, memory_breakdown
from tfvis_nb.analysis.memory.memory_usage import FIGURES, WHERE, memory_peaks
from tfvis_nb.analysis.memory.tensor_lifetimes import ROLES
from tfvis_nb.analysis.metrics import MODULES, definitions

XSPACES = xspace_files()


def curves(trace: tv.Trace) -> dict[memory_oracle.Where, memory_oracle.Curve]:
    found: dict[memory_oracle.Where, memory_oracle.Curve] = {}
    rows = trace.memory[[*WHERE, "time_ns", "bytes"]]
    for step, task, allocator, time, size in rows.itertuples(index=False):
        found.setdefault((step, task, allocator), []).append((time, size))
    return found


def holds(trace: tv.Trace) -> None:
    """Check identities that hold for any recording."""
    buffers, peaks = trace.lifetimes, memory_peaks(trace)
    assert (why_not(trace.memory) == "") == (len(trace.memory) > 0)
    assert set(buffers["role"]) <= set(ROLES)
    assert (buffers["bytes"] > 0).all()
    assert (buffers["lifetime_ns"].fillna(0) >= 0).all()
    assert (buffers["event"] >= 0).all()
    found = curves(trace)
    kept = buffers[buffers["free_ns"].isna()].groupby(list(WHERE), observed=True)["bytes"].sum()
    assert len(peaks) == len(found)
    for peak in peaks.to_dict("records"):
        where = peak["step"], peak["task"], peak["allocator"]
        levels = [level for _, level in found[where]]
        assert min(levels) >= 0
        highest = max(levels)
        assert peak["peak_bytes"] == highest
        assert peak["at_ns"] == next(time for time, level in found[where] if level == highest)
        if peak["step"] < 0:
            continue
        assert peak["alive_bytes"] == peak["peak_bytes"]
        assert levels[-1] == kept.get(where, 0)
        assert pd.isna(peak["in_use_bytes"]) or peak["in_use_bytes"] > 0
        alive = live_buffers(trace, peak["at_ns"], step=where[0], task=where[1], allocator=where[2])
        assert len(alive) == peak["alive"]
        assert alive["bytes"].sum() == peak["peak_bytes"]
        assert alive["bytes"].is_monotonic_decreasing
        assert alive.equals(live_buffers(trace, step=where[0], task=where[1], allocator=where[2]))
    for by in BY:
        table = memory_breakdown(trace, by)
        if by == "line" and trace.stacks is None:
            assert why_not(table)
            continue
        sums = table.groupby(list(WHERE), observed=True)[["bytes", "count", "share"]].sum()
        known = peaks[peaks["alive"].fillna(0) > 0].set_index(list(WHERE))
        assert sums["bytes"].to_dict() == known["alive_bytes"].to_dict()
        assert sums["count"].to_dict() == known["alive"].to_dict()
        assert np.allclose(sums["share"], 1)


@pytest.mark.tensorflow
def test_curves_of_every_step(step_stats_path: Path) -> None:
    rows, _, _ = oracle.read([oracle.load(step_stats_path)])
    trace = tv.read_trace(step_stats_path)
    allocators = {str(name) for name in trace.memory.loc[~trace.memory["estimated"], "allocator"]}
    recorded = {where: curve for where, curve in curves(trace).items() if where[2] in allocators}
    assert recorded == memory_oracle.of_steps(rows)
    holds(trace)


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", each(XSPACES))
def test_curves_of_every_profile(path: Path) -> None:
    trace = real_trace(path)
    got = {(where[0], "", where[2]): curve for where, curve in curves(trace).items()}
    space = xspace_oracle.load(path)
    expected = memory_oracle.of_profile(space)
    for column, stat in (("free_bytes", "bytes_available"), ("fragmentation", "fragmentation")):
        told = [told for curve in memory_oracle.of_profile(space, stat).values() for _, told in curve]
        # An allocator without free bytes would divide by 0.
        assert sorted(trace.memory[column].dropna()) == sorted(each for each in told if each == each)  # noqa: PLR0124
    if expected:
        # The clock of a profile that starts at 0 is moved to the time of the recording.
        first = min(curve[0][0] for curve in expected.values())
        moved = min(curve[0][0] for curve in got.values()) - first
        expected = {
            where: [(time + moved, level) for time, level in curve] for where, curve in expected.items()
        }
    assert got == expected
    holds(trace)


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("name", "allocator", "peak", "theirs"),
    [
        pytest.param("local_mlp_step1.pb", "mklcpu", 1327108, 3193236, id="cpu"),
        pytest.param("gpu_tf221_mlp.pb.xz", "GPU_0_bfc", 10379264, 22020172, id="gpu"),
    ],
)
def test_timeline_py_counts_forwarded_buffers_twice(
    name: str, allocator: str, peak: int, theirs: int
) -> None:
    from tensorflow.python.client.timeline import Timeline

    analysis = Timeline(oracle.load(DATA / name)).analyze_step_stats(show_memory=True)
    maximum = analysis.allocator_maximums[allocator]
    assert maximum.num_bytes == theirs
    trace = real_trace(DATA / name)
    peaks = memory_peaks(trace).set_index("allocator")["peak_bytes"]
    assert peaks[allocator] == peak
    assert live_buffers(trace, allocator=allocator)["bytes"].sum() == peak
    assert live_buffers(trace)["bytes"].sum() == peaks.sum()


def test_tensors_of_a_small_step(data: Path) -> None:
    trace = real_trace(data / "local_mlp_step1.pb")
    table = trace.lifetimes[["name", "role", "bytes", "lifetime_ns"]].head(5).astype(object)
    loss = "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits"
    assert table.to_numpy().tolist() == [
        ["Relu", "output", 524288, 3941000],
        ["logits", "output", 20480, 1867000],
        [loss, "temporary", 2048, 152000],
        [loss, "output", 2048, 1677000],
        ["gradients/Mean_grad/Shape", "output", 4, 37000],
    ]
    aliases = trace.lifetimes.set_index("name")["aliases"]
    assert aliases["gradients/logits_grad/MatMul"] == "gradients/Relu_grad/ReluGrad"
    assert aliases["logits"].split(", ")[0] == f"{loss}:1"
    # The loss is fetched and the bias corrections stay with the optimizer: nothing frees them in the step.
    outlived = trace.lifetimes.loc[trace.lifetimes["free_ns"].isna(), "name"]
    assert outlived.tolist() == ["Mean", "Adam/mul", "Adam/mul_1"]
    by_op = memory_breakdown(trace, "op")[["op", "bytes", "count"]].astype(object)
    assert by_op.to_numpy().tolist() == [["_MklMatMul", 1327104, 2], ["Mean", 4, 1]]
    with raises_id(ValueError, "no_such_grouping", by="ops", hint="; did you mean 'op'?"):
        memory_breakdown(trace, "ops")  # type: ignore[arg-type]


def test_a_step_without_records_is_unavailable(data: Path) -> None:
    trace = real_trace(data / "cpu_jax.xplane.pb")
    tables = [
        trace.memory,
        trace.lifetimes,
        memory_peaks(trace),
        memory_breakdown(trace),
        live_buffers(trace, 0, allocator="cpu"),
    ]
    assert [why_not(table).id == "no_allocations" for table in tables] == [True] * 5
    assert [len(table) for table in tables] == [0] * 5


def test_absurd_sizes_are_left_out_of_sums() -> None:
    largest = 2**63 - 1
    records = [
        {"micros": 1, "bytes": 64},
        *({"micros": 2, "bytes": size} for size in (largest, -largest - 1, 2**61, 2**61, 2**61)),
        {"micros": 5, "bytes": -64},
    ]
    table = events.build({"start_ns": [1000], "duration_ns": [9000], "kind": ["op"]})
    use = {"allocator": "cpu", "in_use_bytes": largest, "records": records}
    trace = tv.Trace(table, nested=pa.table({"memory": [[use]]}))
    assert trace.memory[["time_ns", "bytes"]].to_numpy().tolist() == [[1000, 64], [5000, 0]]
    assert memory_peaks(trace)["in_use_bytes"].isna().all()


def test_an_allocator_that_says_absurd_amounts() -> None:
    columns = {
        "start_ns": [1, 2, 3, 4],
        "duration_ns": [0] * 4,
        "kind": ["host"] * 4,
        "op": ["MemoryAllocation"] * 4,
        "bytes": [8] * 4,
        "detail": ["allocator_name=GPU_0_bfc"] * 4,
    }
    in_use = pa.array([8, 2**63 - 1, -(2**63), 16], pa.int64())
    trace = tv.Trace(events.build(columns), nested=pa.table({"in_use_bytes": in_use}))
    assert trace.memory[["time_ns", "bytes"]].to_numpy().tolist() == [[1, 8], [4, 16]]


def test_each_figure_is_defined() -> None:
    assert {"memory_usage", "memory_breakdown", "tensor_lifetimes"} <= set(MODULES)
    assert set(definitions("memory_usage")) == set(FIGURES)


def test_the_peak_of_a_profile_names_its_step() -> None:
    rows = [
        {"start_ns": 0, "duration_ns": 20, "step": 0, "kind": "op", "op": "MatMul"},
        {"start_ns": 30, "duration_ns": 20, "step": 1, "kind": "op", "op": "MatMul"},
        {"start_ns": 40, "duration_ns": 0, "step": -1, "kind": "host", "op": "MemoryAllocation"},
        {"start_ns": 70, "duration_ns": 0, "step": -1, "kind": "host", "op": "MemoryAllocation"},
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for in_use, step in (([9, 8], [1]), ([8, 9], [pd.NA])):
        nested = pa.table({"in_use_bytes": pa.array([None, None, *in_use], pa.int64())})
        peaks = memory_peaks(Trace(events.build(columns), nested=nested))
        assert peaks["step"].tolist() == [-1]
        assert peaks["at_step"].tolist() == step


@pytest.mark.collection("h200/input_bound_tf2_gpu.xplane.pb")
def test_the_peak_of_a_real_profile_is_in_a_step(shared: Path) -> None:
    peaks = memory_peaks(real_trace(shared / "h200/input_bound_tf2_gpu.xplane.pb"))
    assert peaks.set_index("allocator").loc["GPU_0_bfc", "at_step"] == 1


def test_requested_and_free_bytes_at_a_peak() -> None:
    size = {"allocated_bytes": 256, "requested_bytes": 100, "allocator": "cpu"}
    columns = {"start_ns": [1000], "duration_ns": [9000], "kind": ["op"], "name": ["a"]}
    records = [{"micros": at, "bytes": 256} for at in (1, 2)] + [{"micros": 3, "bytes": 64}]
    nested = {
        "outputs": [[{"slot": 0, **size}, {"slot": 1, **size, "requested_bytes": 156}]],
        "memory": [[{"allocator": "cpu", "records": records}]],
    }
    peak = memory_peaks(Trace(events.build(columns), nested=pa.table(nested))).iloc[0]
    assert (peak["peak_bytes"], peak["requested_share"]) == (576, 0.5)
    assert pd.isna(peak["free_bytes"])
    assert pd.isna(peak["fragmentation"])
    columns = {
        "start_ns": [10, 20],
        "duration_ns": [0, 0],
        "kind": ["host"] * 2,
        "op": ["MemoryAllocation"] * 2,
        "bytes": [1024, 512],
        "detail": ["allocator_name=GPU_0_bfc requested_bytes=1000", "allocator_name=GPU_0_bfc"],
    }
    nested = {
        "address": [4096, 8192],
        "in_use_bytes": [1024, 1536],
        "available_bytes": [9000, 8488],
        "fragmentation": [float("nan"), 0.25],
    }
    trace = Trace(events.build(columns), nested=pa.table(nested))
    assert trace.memory["free_bytes"].tolist() == [9000, 8488]
    assert trace.memory["fragmentation"].isna().tolist() == [True, False]
    peak = memory_peaks(trace).iloc[0]
    assert (peak["free_bytes"], peak["fragmentation"]) == (8488, 0.25)
    assert peak["requested_share"] == 1000 / 1024


def test_absurd_heaps_are_not_known() -> None:
    columns = {"start_ns": [10], "duration_ns": [0], "kind": ["host"], "op": ["MemoryAllocation"]}
    detail = f"allocator_name=GPU_0_bfc requested_bytes={10**17}"
    nested = {
        "in_use_bytes": [1024],
        "available_bytes": [-1],
        "fragmentation": [float("inf")],
        "address": [1],
    }
    trace = Trace(events.build({**columns, "bytes": [256], "detail": [detail]}), nested=pa.table(nested))
    assert trace.memory[["free_bytes", "fragmentation"]].isna().all(axis=None)
    assert trace.lifetimes["requested_bytes"].isna().all()
