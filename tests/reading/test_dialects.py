"""Known facts about particular real traces: all rows accounted for, GPU clocks, tasks, transfers."""

import json
import lzma
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.examples import examples
from tests.support.texts import figures_of
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.texts import Text, id_of

PS = "/job:ps/replica:0/task:0"
WORKERS = ("/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1")
GPU_TRACES = [
    f"gpu_{version}_{work}" for version in ("tf221", "tf218") for work in ("mlp", "dist", "two_logical")
]
GPU_TRACES += ["gpu_tf221_mixed"]


def read(folder: Path, name: str) -> tv.Trace:
    return tv.read_trace(folder / f"{name}.pb.xz")


def kernels_with_ops(trace: tv.Trace) -> pd.DataFrame:
    """Return each kernel beside the op that launched it."""
    launches = trace.edges[trace.edges["kind"] == "launch"]
    kernels = trace.events.loc[launches["target"]].reset_index(drop=True)
    ops = trace.events.loc[launches["source"]].reset_index(drop=True).add_prefix("op_")
    pairs = pd.concat([kernels, ops], axis=1)
    return pairs.loc[(pairs["kind"] == "kernel").to_numpy()]


@pytest.mark.parametrize("name", GPU_TRACES)
def test_kernels_are_in_the_step_and_launched_in_their_op(data: Path, name: str) -> None:
    trace = read(data, name)
    kernels = trace.events[trace.events["kind"] == "kernel"]
    ops = trace.events[trace.events["kind"] == "op"]
    assert kernels["start_ns"].min() > ops["start_ns"].min()
    assert kernels["start_ns"].max() < (ops["start_ns"] + ops["duration_ns"]).max() + 1_000_000
    pairs = kernels_with_ops(trace)
    # Unique launches some kernels from a callback, where the tracer does not know the op.
    assert len(pairs) == (kernels["op"] != "").sum() >= 0.8 * len(kernels)
    assert (pairs["device"].astype(str) == pairs["op_device"].astype(str)).all()
    slack = 10_000
    assert (pairs["scheduled_ns"] >= pairs["op_compute_start_ns"] - slack).all()
    assert (pairs["scheduled_ns"] <= pairs["op_compute_end_ns"] + slack).all()
    assert (pairs["scheduled_ns"] <= pairs["start_ns"] + slack).all()


@pytest.mark.parametrize("work", ["mlp", "dist", "two_logical"])
def test_tf218_looks_like_tf221(data: Path, work: str) -> None:
    """The same work with two versions gives the same lanes; the clocks of 2.18 are faulty in the source."""
    counts = []
    for version in ("tf221", "tf218"):
        lanes = read(data, f"gpu_{version}_{work}").lanes
        lanes = lanes[lanes["lane"] != "sync"]
        counts.append(
            {tuple(row) for row in lanes[["task", "device", "lane", "events"]].astype(str).to_numpy()}
        )
    assert counts[0] == counts[1]
    notes = read(data, f"gpu_tf218_{work}").notes
    assert any(id_of(note) == "scheduled_repaired" for note in notes)
    assert any(id_of(note) == "gpu_times_aligned" for note in notes)


@pytest.mark.parametrize("name", GPU_TRACES)
def test_the_offset_of_the_gpu_clock_is_known_to_microseconds(data: Path, name: str) -> None:
    notes = read(data, name).notes
    found = figures_of(notes, "gpu_times_aligned") + figures_of(notes, "gpu_launch_times_aligned")
    assert found
    for figures in found:
        assert figures["certainty_ns"] < 10_000
        assert figures["agree"] == figures["kernels"]


@pytest.mark.parametrize("version", ["tf221", "tf218"])
def test_distributed_transfers_and_copies(data: Path, version: str) -> None:
    trace = read(data, f"gpu_{version}_dist")
    table = trace.transfers
    received = table[table["kind"] == "transfer"]
    assert len(received) == 16
    assert (received["bytes"] == 4_194_304).all()
    for worker in WORKERS:
        gpu = f"{worker}/device:GPU:0"
        number = worker[-1]
        down = received[received["destination"] == gpu]
        assert set(down["source"]) == {f"{PS}/device:CPU:0"}
        assert down["tensor"].str.match(rf"edge_\d+_worker{number}/MatMul(_\d)?/ReadVariableOp$").all()
        up = received[received["source"] == gpu]
        assert set(up["destination"]) == {f"{PS}/device:CPU:0"}
        assert up["tensor"].str.contains(f"worker{number}/gradients").all()
        assert (len(down), len(up)) == (4, 4)
        copies = trace.events[(trace.events["kind"] == "memcpy") & (trace.events["task"] == worker)]
        assert copies["lane"].astype(str).value_counts().to_dict() == {"memcpy H2D": 4, "memcpy D2H": 4}
        assert copies.loc[copies["op"] == "MemcpyD2H", "tensor"].str.startswith(f"worker{number}/").all()
        assert set(copies["device"]) == {gpu}
        h2d = copies[copies["op"] == "MemcpyH2D"]
        assert set(h2d["source"]) == {f"{worker}/device:CPU:0"}
        assert set(h2d["destination"]) == {gpu}
    assert Text("devices_merged", entries=3) in trace.notes


@pytest.mark.parametrize("version", ["tf221", "tf218"])
def test_towers_of_two_logical_gpus(data: Path, version: str) -> None:
    events = read(data, f"gpu_{version}_two_logical").events
    on_gpu = events[events["kind"].isin(["kernel", "memcpy"])]
    assert len(on_gpu) == 58
    tower = on_gpu["name"].str.extract(r"^tower(\d)/")[0]
    number = on_gpu["device"].astype(str).str.extract(r"GPU:(\d)$")[0]
    assert (tower == number).all()


def test_host_threads_of_tf115_are_never_mixed_with_ops(data: Path) -> None:
    trace = read(data, "cpu_tf115_horovod")
    host = trace.events[trace.events["kind"] == "host"]
    assert len(host) == 42
    assert host["lane"].astype(str).str.fullmatch(r"tf_Compute/\d+").all()
    assert (host["lane"].astype(str).str.extract(r"/(\d+)$")[0].astype(int) == host["thread"]).all()
    assert "GradientDescent/update_embed/table/mul" in set(host["name"])
    ops = trace.events[trace.events["lane"] == "ops"]
    assert set(ops["kind"]) == {"op"}
    collective = trace.events[trace.events["lane"] == "collective"]
    assert set(collective["op"]) == {"HorovodAllreduce", "HorovodAllgather"}
    assert set(collective["kind"]) == {"collective"}


def test_scheduled_times_of_tf115_are_repaired(data: Path) -> None:
    trace = read(data, "cpu_tf115_horovod")
    ops = trace.events[trace.events["kind"].isin(["op", "collective"])]
    waited = ops["start_ns"] - ops["scheduled_ns"]
    assert waited.notna().all()
    assert waited.between(0, 31_000_000).all()


def test_host_threads_of_each_task_and_of_other_steps(data: Path) -> None:
    trace = read(data, "cpu_tf115_dist")
    host = trace.events[trace.events["kind"] == "host"]
    labelled = host["detail"].str.extract(r"device=(/job:\w+/replica:\d+/task:\d+)")[0].dropna()
    assert (labelled == host.loc[labelled.index, "task"].astype(str)).all()
    assert set(host["task"]) == {PS, WORKERS[1]}
    assert Text("host_rows_of_other_steps", rows=14) in trace.notes


@pytest.mark.parametrize(("name", "sizes"), [("cpu_tf18_dist", [4, 40, 40]), ("cpu_tf115_dist", [4, 40, 40])])
def test_transfer_labels_of_old_versions(data: Path, name: str, sizes: list[int]) -> None:
    table = read(data, name).transfers
    assert sorted(table["bytes"].tolist())[:3] == sizes
    assert set(table["source"]) == {f"{PS}/device:CPU:0", f"{WORKERS[1]}/device:CPU:0"}
    assert table["tensor"].str.match(r"edge_\d+_").all()


def test_gpu_rows_of_tf13(data: Path) -> None:
    trace = tv.read_trace(data / "run_meta.v3")
    kernels = trace.events[trace.events["kind"] == "kernel"]
    assert set(kernels["name"]) == {"Conv2D", "Conv2D_1"}
    assert set(kernels["op"]) == {"Conv2D"}
    assert (kernels["start_ns"] - kernels["scheduled_ns"]).between(0, 100_000).all()
    copies = trace.events[trace.events["kind"] == "memcpy"].set_index("op")
    assert copies["bytes"].to_dict() == {"MemcpyH2D": 112, "MemcpyD2H": 384}
    assert copies.loc["MemcpyD2H", "tensor"] == "edge_10_Conv2D_1"
    assert copies.loc["MemcpyD2H", "name"] == "Conv2D_1/_0"
    gpus = {device for device in trace.lanes["device"] if "GPU" in device}
    assert gpus == {"/job:localhost/replica:0/task:0/device:GPU:0"}


def test_many_small_copies(data: Path) -> None:
    events = read(data, "gpu_tf221_mixed").events
    copies = events[events["kind"] == "memcpy"]
    found = {
        name: (op, tensor, size)
        for name, op, tensor, size in zip(
            *(copies[c].tolist() for c in ("name", "op", "tensor", "bytes")), strict=True
        )
    }
    assert found["SparseToDense"] == ("MemcpyH2D", "", 16)
    assert found["Const/_9"] == ("MemcpyD2H", "Const", 16)
    assert copies["lane"].astype(str).value_counts().to_dict() == {"memcpy D2H": 10, "memcpy H2D": 5}


@pytest.mark.collection("h200/lstm_while_v2_step0.pb", "h200/straggler_ps_3gpuworkers_step0.pb")
@pytest.mark.parametrize("name", ["lstm_while_v2_step0", "straggler_ps_3gpuworkers_step0"])
def test_launches_in_loops_and_on_three_workers(shared: Path, name: str) -> None:
    pairs = kernels_with_ops(tv.read_trace(shared / "h200" / f"{name}.pb"))
    late = pairs["scheduled_ns"] - pairs["op_compute_end_ns"]
    early = pairs["op_compute_start_ns"] - pairs["scheduled_ns"]
    outside = np.maximum(late.to_numpy(np.int64), early.to_numpy(np.int64))
    assert len(outside) > 1000
    assert np.quantile(outside, 0.999) <= 10_000


@pytest.mark.collection("h200/deep4000.pb.xz")
def test_every_row_of_a_large_trace_is_accounted_for(shared: Path) -> None:
    trace = tv.read_trace(shared / "h200" / "deep4000.pb.xz")
    assert len(trace.events) == 101_257 - 36_550
    assert trace.notes[0] == Text("aggregate_rows_left_out", rows=36_550)
    assert trace.events["kind"].value_counts().to_dict() == {"kernel": 36_549, "op": 28_157, "memcpy": 1}


@pytest.mark.parametrize("name", ["gpu_tf221_mlp", "gpu_tf221_two_logical", "gpu_tf218_two_logical"])
@settings(max_examples=examples(50))
@given(order=st.randoms(use_true_random=False))
def test_order_of_devices_does_not_change_the_table(name: str, order: random.Random) -> None:
    """TensorFlow up to 1.13 writes ``dev_stats`` in the order of a hash table."""
    recorded = step_of(name)
    devices = [*recorded.dev_stats]
    order.shuffle(devices)
    shuffled = schema.message_class("StepStats")(dev_stats=devices)
    assert rows_of(shuffled) == rows_of(recorded)


@settings(max_examples=examples(50))
@given(order=st.randoms(use_true_random=False))
def test_order_of_devices_does_not_change_a_timeline(order: random.Random) -> None:
    document = json.loads((DATA / "timeline_tf10_gpu.json").read_text())
    want = tv.read_trace(json.dumps(document).encode()).events
    pids = sorted({event["pid"] for event in document["traceEvents"]})
    order.shuffle(pids)
    document["traceEvents"].sort(key=lambda event: pids.index(event["pid"]))
    kernels = want["kind"] == "kernel"
    trace = tv.read_trace(json.dumps(document).encode())
    assert Counter(trace.events["kind"]) == Counter(want["kind"])
    found = trace.events["duration_ns"][trace.events["kind"] == "kernel"]
    assert sorted(found) == sorted(want["duration_ns"][kernels])


@cache
def step_of(name: str) -> Any:
    """Return the StepStats of a recorded RunMetadata."""
    step = schema.message_class("RunMetadata").FromString(
        lzma.decompress((DATA / f"{name}.pb.xz").read_bytes())
    )
    return schema.message_class("StepStats").FromString(step.step_stats.SerializeToString())


def rows_of(step: Any) -> Counter[tuple[object, ...]]:
    table = tv.read_trace(step.SerializeToString()).events.astype(object).fillna("")
    return Counter(table.itertuples(index=False, name=None))
