"""Layers and phases by name, and their sums against those of all ops."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA, SAMPLES, each
from tfvis_nb import Trace, events
from tfvis_nb.analysis import layers, op_statistics, why_not

GPU = "/device:GPU:0"


def trace_of(*names: str, kind: str = "op", ops: list[str] | None = None) -> Trace:
    count = len(names)
    columns = {
        "start_ns": [10 * at for at in range(count)],
        "duration_ns": [2**at for at in range(count)],
        "kind": [kind] * count,
        "lane": ["stream:1" if kind == "kernel" else "ops"] * count,
        "name": list(names),
        "op": ops or [""] * count,
    }
    return Trace(events.build(columns, rows=count))


def places(trace: Trace) -> dict[int, tuple[str, str | None]]:
    """Return layer and phase of each event, which its power of two in the sums tells."""
    table = layers(trace)
    found: dict[int, tuple[str, str | None]] = {}
    for row in table.to_dict("records"):
        total = row["host_ns"] + row["device_ns"]
        for event in range(len(trace.events)):
            if total >> event & 1:
                found[event] = (row["layer"], row["phase"] if isinstance(row["phase"], str) else None)
    return found


def test_a_call_that_launches_one_kernel_is_of_its_layer() -> None:
    kinds = ["host", "host", "host", "kernel", "kernel", "kernel"]
    columns = {
        "start_ns": [10 * at for at in range(6)],
        "duration_ns": [2**at for at in range(6)],
        "kind": kinds,
        "lane": ["stream:1" if kind == "kernel" else "thread" for kind in kinds],
        "name": ["cuLaunchKernel", "cuGraphLaunch", "a/b/c", "net/fc/MatMul", "net/a/Add", "net/b/Add"],
    }
    nested = pa.table({"launch": pa.array([1, 2, None, 1, 2, 2], pa.int64())})
    found = places(Trace(events.build(columns), nested=nested))
    assert found[0] == found[3] == ("net/fc", "forward")
    assert found[1] == found[2] == ("", None)


@pytest.mark.parametrize(
    ("name", "layer", "phase"),
    [
        ("model/dense_1/Relu", "model/dense_1", "forward"),
        ("StatefulPartitionedCall/model/dense_1/BiasAdd/ReadVariableOp", "model/dense_1", "forward"),
        ("gradient_tape/model/dense_1/MatMul/MatMul_1", "model/dense_1", "backward"),
        ("gradient_tape/model/conv2d/convolution/Conv2DBackpropFilter", "model/conv2d", "backward"),
        ("replica_1/MatMul", "", None),
        ("replica_1/model/dense_1/Relu", "model/dense_1", "forward"),
        ("gradient_tape/replica_1/model/dense_1/MatMul/MatMul_1", "model/dense_1", "backward"),
        ("gradients/fc1/MatMul_grad/MatMul_1", "fc1", "backward"),
        ("gradients_1/tower/Mixed_0/Branch_1/concat_grad/Slice", "tower/Mixed_0/Branch_1", "backward"),
        ("gradients/AddN", "", "backward"),
        ("adam/AssignAddVariableOp_3", "adam", "optimizer"),
        ("Adam/update_fc1/kernel/ResourceApplyAdam", "fc1", "optimizer"),
        ("Adam/update_w/ResourceApplyAdam/ReadVariableOp", "Adam", "optimizer"),
        ("jit(step)/jit(main)/jvp(Net)/Dense_0/dot_general", "Net/Dense_0", "forward"),
        ("jit(f)/transpose(jvp(Dense_0))/dot_general", "Dense_0", "backward"),
        ("jit(f)/transpose(jvp())/jit(relu)/max", "", "backward"),
        ("jit(f)/while/body/closed_call/Dense_1/add", "Dense_1", "forward"),
        ("Mean", "", None),
        ("", "", None),
    ],
)
def test_names(name: str, layer: str, phase: str | None) -> None:
    assert places(trace_of(name)) == {0: (layer, phase)}


def test_scopes_below_a_node_are_parts_of_it() -> None:
    trace = trace_of("net/loss", "net/loss/Sub", "gradient_tape/net/loss/Mul", "net/scores/Sub")
    assert places(trace) == {
        0: ("net", "forward"),
        1: ("net", "forward"),
        2: ("net", "backward"),
        3: ("net/scores", "forward"),
    }


def test_ops_that_apply_gradients_belong_to_the_optimizer() -> None:
    assert places(trace_of("train/step", ops=["ResourceApplyAdam"])) == {0: ("train", "optimizer")}


def test_recorded_layers_override_names() -> None:
    plain = trace_of("fusion", "fusion", "x/y", kind="kernel")
    nested = pa.table(
        {
            "op_name": pa.array(["jit(f)/jvp(Dense_0)/add", None, None]),
            "phase": pa.array([None, None, "optimizer"]),
        }
    )
    assert places(Trace(plain.events, nested=nested)) == {
        0: ("Dense_0", "forward"),
        1: ("", None),
        2: ("x", "optimizer"),
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["op", "kernel", "memcpy", "host", "sync", "transfer"]),
            st.lists(st.sampled_from(["a", "gradients", "b_grad", "jit(f)", "", "_7"]), max_size=4).map(
                "/".join
            ),
            st.integers(0, 50),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_sums_are_those_of_all_ops(rows: list[tuple[str, str, int]]) -> None:
    columns = {
        "start_ns": list(range(len(rows))),
        "duration_ns": [row[2] for row in rows],
        "kind": [row[0] for row in rows],
        "name": [row[1] for row in rows],
        "device": [GPU] * len(rows),
        "lane": ["python3" if row[0] == "host" else "stream:1" for row in rows],
    }
    check_sums(Trace(events.build(columns, rows=len(rows))))


@pytest.mark.parametrize("path", each(SAMPLES))
def test_sums_of_samples_are_those_of_all_ops(path: Path) -> None:
    try:
        trace = tv.read_trace(path)
    except tv.EmptyTraceError:
        return
    check_sums(trace)


def check_sums(trace: Trace) -> None:
    table, ops = layers(trace), op_statistics(trace)
    for side in ("device", "host"):
        assert table[f"{side}_ns"].sum() == ops.loc[ops["side"] == side, "self_ns"].fillna(0).sum()
    assert not table.duplicated(["layer", "phase"]).any()


def test_outputs_are_added_up() -> None:
    trace = tv.read_trace(DATA / "local_mlp_step1.pb")
    assert trace.nested is not None
    outputs = [one for row in trace.nested["outputs"].to_pylist() for one in row or ()]
    expected = sum(one["allocated_bytes"] or one["requested_bytes"] or 0 for one in outputs)
    assert trace.layers["output_bytes"].sum() == expected > 0
    assert layers(trace_of("a/b"))["output_bytes"].isna().all()


def test_without_events_there_are_no_layers() -> None:
    assert why_not(layers(trace_of())).id == "no_events"
