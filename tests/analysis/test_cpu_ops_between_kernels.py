"""CPU ops between kernels, checked against reading labels and outputs one by one."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.real_traces import DATA, SHARED, each, real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import cpu_ops_between_kernels, why_not

TASK = "/job:worker/replica:0/task:0"
CPU, GPU = f"{TASK}/device:CPU:0", f"{TASK}/device:GPU:0"
AMOUNTS = ["to_host", "to_host_bytes", "to_host_ns", "to_device", "to_device_bytes", "to_device_ns"]


def op(start: int, length: int, detail: str, device: str = GPU, outputs: str = "") -> dict[str, Any]:
    name, _, call = detail.partition(" = ")
    row = {"start_ns": start, "duration_ns": length, "kind": "op", "lane": "ops", "device": device}
    return row | {"name": name, "op": call.partition("(")[0], "detail": detail, "outputs": outputs}


def kernel(start: int, length: int, name: str) -> dict[str, Any]:
    row = {"start_ns": start, "duration_ns": length, "kind": "kernel", "lane": "stream:7", "device": GPU}
    return row | {"name": name, "op": name}


def copy(start: int, length: int, name: str, way: str, size: int | None, tensor: str = "") -> dict[str, Any]:
    row = {"start_ns": start, "duration_ns": length, "kind": "memcpy", "device": GPU, "bytes": size}
    places = {"source": GPU, "destination": CPU} if way == "D2H" else {"source": CPU, "destination": GPU}
    return row | places | {"name": name, "op": f"Memcpy{way}", "lane": f"memcpy {way}", "tensor": tensor}


def trace_of(*rows: dict[str, Any]) -> Trace:
    blank: dict[str, Any] = {"step": 0, "task": TASK, "tensor": "", "detail": "", "source": "", "outputs": ""}
    table = pd.DataFrame([blank | {"destination": "", "bytes": None} | row for row in rows])
    columns = {str(name): table[name] for name in table if name != "outputs"}
    built, before = events.order(events.build(columns))
    outputs = [
        [{"allocator": name, "dtype": 21 if name == "variant" else 1} for name in text.split()]
        for text in table["outputs"].iloc[before]
    ]
    kind = pa.list_(pa.struct([("allocator", pa.string()), ("dtype", pa.int32())]))
    return Trace(built, nested=pa.table({"outputs": pa.array(outputs, kind)}))


def found(trace: Trace) -> dict[str, dict[str, Any]]:
    return {
        str(row["name"]): {str(key): value for key, value in row.items()}
        for row in cpu_ops_between_kernels(trace).to_dict("records")
    }


AROUND = (kernel(0, 5, "first"), kernel(100, 5, "last"))


def test_an_op_of_the_cpu_with_its_copies_both_ways() -> None:
    trace = trace_of(
        *AROUND,
        op(1, 4, "a = MatMul()"),
        copy(6, 2, "a/_1", "D2H", 40, "a"),
        op(10, 20, "b = Where(a/_2)", CPU),
        op(31, 5, "c = Unique(a/_2, b)", CPU),
        kernel(14, 6, "other"),
        copy(40, 3, "c/_3", "H2D", 8, "c"),
        op(45, 5, "d = Neg(c/_4)"),
    )
    rows = found(trace)
    assert set(rows) == {"b", "c"}
    assert {row["where"] for row in rows.values()} == {"CPU"}
    assert [rows["b"][name] for name in AMOUNTS] == [1, 40, 2, 0, 0, 0]
    assert [rows["c"][name] for name in AMOUNTS] == [0, 0, 0, 1, 8, 3]
    assert (rows["b"]["total_ns"], rows["b"]["gpu_idle_ns"]) == (20, 14)
    assert list(rows) == ["b", "c"]


def test_an_op_of_the_gpu_that_ran_in_host_memory() -> None:
    trace = trace_of(
        *AROUND,
        op(10, 3, "shape = Shape(x)", GPU, "cpu"),
        op(14, 3, "slice = StridedSlice(shape)", GPU, "gpu_host_bfc cpu"),
        copy(20, 1, "slice/_5", "H2D", 4, "slice"),
        op(30, 3, "cast = Cast(slice/_5)", GPU, "GPU_0_bfc"),
        op(40, 3, "both = Split(cast)", GPU, "cpu GPU_0_bfc"),
        op(50, 3, "handle = TensorListPushBack(cast)", GPU, "variant"),
    )
    rows = found(trace)
    assert {name: row["where"] for name, row in rows.items()} == dict.fromkeys(
        ["shape", "slice"], "host memory"
    )
    assert [rows["slice"][name] for name in AMOUNTS] == [0, 0, 0, 1, 4, 1]


def test_without_recorded_outputs_the_copies_tell() -> None:
    trace = trace_of(
        *AROUND,
        op(10, 3, "taken = Range()"),
        copy(20, 1, "taken/_5", "H2D", None, "taken"),
        copy(25, 1, "other/_6", "D2H", 4, "other"),
        op(30, 3, "brought = Shape(other/_6)"),
        op(40, 3, "neither = Reshape(x)"),
    )
    rows = found(trace)
    assert {name: row["where"] for name, row in rows.items()} == dict.fromkeys(
        ["taken", "brought"], "host memory"
    )
    assert rows["taken"]["to_device_bytes"] == 0


def test_an_op_of_the_gpu_that_reads_back_a_number() -> None:
    trace = trace_of(
        *AROUND,
        op(10, 30, "u = Unique(x)", GPU, "GPU_0_bfc"),
        kernel(15, 5, "u"),
        copy(25, 1, "u", "D2H", 4),
        op(50, 3, "v = Neg(u)", GPU, "GPU_0_bfc"),
        kernel(52, 1, "v"),
    )
    rows = found(trace)
    assert set(rows) == {"u"}
    assert rows["u"]["where"] == "GPU"
    assert [rows["u"][name] for name in AMOUNTS] == [1, 4, 1, 0, 0, 0]
    assert rows["u"]["gpu_idle_ns"] == 24


@pytest.mark.parametrize(
    ("detail", "device"),
    [
        ("x = _Arg()", CPU),
        ("x = _Retval(a)", CPU),
        ("x = Const()", CPU),
        ("x = Identity(a)", GPU),
        ("x = VarHandleOp()", GPU),
        ("x = IteratorGetNext(a)", CPU),
        ("x = While(a)", CPU),
    ],
)
def test_what_computes_nothing_is_left_out(detail: str, device: str) -> None:
    assert found(trace_of(*AROUND, op(10, 5, detail, device, "cpu"))) == {}


def test_but_not_when_it_takes_copies() -> None:
    trace = trace_of(
        *AROUND,
        copy(10, 1, "a/_1", "D2H", 4, "a"),
        op(12, 5, "x = Identity(a/_1)", CPU),
        copy(20, 1, "b/_1", "D2H", 4, "b"),
        op(22, 5, "y = _Retval(b/_1)", CPU),
    )
    assert set(found(trace)) == {"x"}


def test_ops_before_the_first_or_after_the_last_kernel() -> None:
    trace = trace_of(
        kernel(10, 5, "first"),
        kernel(100, 50, "last"),
        op(0, 10, "before = Where()", CPU),
        op(5, 6, "into = Where()", CPU),
        op(99, 1, "yet = Where()", CPU),
        op(100, 1, "after = Where()", CPU),
    )
    assert set(found(trace)) == {"into", "yet"}


def test_other_steps_and_tasks_are_not_amid_its_kernels() -> None:
    elsewhere = {"task": "/job:ps/replica:0/task:0", "device": "/job:ps/replica:0/task:0/device:CPU:0"}
    trace = trace_of(
        *AROUND,
        op(10, 5, "ps = Where()", CPU) | elsewhere,
        op(10, 5, "next = Where()", CPU) | {"step": 1},
        op(10, 5, "here = Where()", CPU),
    )
    assert set(found(trace)) == {"here"}


def test_executions_of_a_node_are_added_up_and_steps_chosen() -> None:
    second = [row | {"step": 1, "start_ns": row["start_ns"] + 1000} for row in AROUND]
    trace = trace_of(
        *AROUND,
        *second,
        op(10, 5, "x = Where()", CPU),
        op(20, 9, "x = Where()", CPU),
        op(1010, 4, "x = Where()", CPU) | {"step": 1},
    )
    both = found(trace)["x"]
    assert (both["count"], both["total_ns"], both["gpu_idle_ns"]) == (3, 18, 18)
    assert trace.events["duration_ns"][both["longest"]] == 9
    assert cpu_ops_between_kernels(trace, steps=[1])[["count", "total_ns"]].to_numpy().tolist() == [[1, 4]]
    with raises_id(ValueError, "no_step", step=2):
        cpu_ops_between_kernels(trace, steps=[2])


def test_idle_time_of_ops_at_once_adds_up_to_that_of_any() -> None:
    late = 1_795_213_909_656_980_317
    rows = [
        *AROUND,
        op(10, 20, "a = Where()", CPU),
        kernel(22, 3, "k"),
        op(15, 10, "b = Where()", CPU),
        op(20, 30, "c = Where()", CPU),
        op(60, 5, "d = Where()", CPU),
        op(60, 5, "e = Where()", CPU) | {"step": 1},
        kernel(50, 2, "k") | {"step": 1},
        kernel(70, 2, "k") | {"step": 1},
    ]
    trace = trace_of(*[row | {"start_ns": row["start_ns"] + late} for row in rows])
    table = found(trace)
    assert {name: row["gpu_idle_ns"] for name, row in table.items()} == {
        "a": 17,
        "b": 7,
        "c": 27,
        "d": 5,
        "e": 5,
    }
    assert {name: row["gpu_idle_exclusive_ns"] for name, row in table.items()} == {
        "a": 17,
        "b": 0,
        "c": 20,
        "d": 5,
        "e": 5,
    }


def by_label(trace: Trace) -> dict[str, list[int]]:
    """Return the number and bytes of each node's copies to the host and the GPU, from the labels."""
    frame = trace.events
    ops = frame[frame["kind"] == "op"]
    launched = set(frame[frame["kind"].isin(["kernel", "memset"])]["name"])
    listed = {
        row["name"]: re.findall(r"[^(), ]+", row["detail"].partition("(")[2]) for _, row in ops.iterrows()
    }
    expected: dict[str, list[int]] = {}
    for _, row in frame[frame["kind"] == "memcpy"].iterrows():
        place = ("MemcpyD2H", "MemcpyH2D").index(str(row["op"])) * 2
        if row["name"] in listed:
            owner = row["name"]
        elif place == 0:
            takers = [name for name, inputs in listed.items() if row["name"] in inputs]
            if not takers:
                continue
            owner = takers[0]
        else:
            owner = row["tensor"]
            if ops.set_index("name").loc[owner, "op"] == "IteratorGetNext" or owner in launched:
                continue
        amounts = expected.setdefault(owner, [0, 0, 0, 0])
        amounts[place] += 1
        amounts[place + 1] += row["bytes"]
    return expected


MIXED = [DATA / "gpu_tf221_mixed.pb.xz", *sorted(SHARED.glob("h200*/mixed_sparse_embedding_*.pb"))]


@pytest.mark.parametrize("path", each(MIXED))
def test_every_small_copy_of_a_sparse_model(path: Path) -> None:
    trace = real_trace(path)
    rows = found(trace)
    names = ["to_host", "to_host_bytes", "to_device", "to_device_bytes"]
    copied = {name: [row[column] for column in names] for name, row in rows.items()}
    assert {name: amounts for name, amounts in copied.items() if any(amounts)} == by_label(trace)
    # All copies but the input that comes and the loss that goes.
    assert sum(row["to_host"] + row["to_device"] for row in rows.values()) == 15 - 2
    # Placed and run on the GPU, with two inputs from the host.
    assert rows["SparseToDense"]["where"] == "GPU"
    assert [rows["SparseToDense"][name] for name in names] == [2, 20, 1, 16]
    assert rows["strided_slice_2"]["where"] == "host memory"


@pytest.mark.collection("h200/two_logical_gpus_step0.pb")
def test_variables_kept_on_the_cpu(shared: Path) -> None:
    table = cpu_ops_between_kernels(real_trace(shared / "h200/two_logical_gpus_step0.pb"))
    assert set(table["where"]) == {"CPU"}
    assert set(table["op"]) == {"AddV2", "Mul", "AssignSubVariableOp"}
    assert table["to_host_bytes"].sum() == 4 * 4 * 1024 * 1024


@pytest.mark.collection("h200/lstm_while_v2_step0.pb")
def test_copies_of_a_loop_belong_to_their_iteration(shared: Path) -> None:
    table = cpu_ops_between_kernels(real_trace(shared / "h200/lstm_while_v2_step0.pb"))
    assert table[["to_host", "to_device"]].sum().tolist() == [60, 60]
    assert table[table["op"] == "Pack"]["to_device"].tolist() == [30, 30]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("local_mlp_step1.pb", "no_gpu_kernels"),
        ("cpu_tf221_keras_fit.xplane.pb.xz", "no_gpu_kernels"),
        ("gpu_tf218_function.xplane.pb.xz", "no_op_devices"),
    ],
)
def test_unavailable_cases(data: Path, name: str, reason: str) -> None:
    assert why_not(cpu_ops_between_kernels(real_trace(data / name))).id == reason


def test_nothing_to_report_is_no_lack(data: Path) -> None:
    table = cpu_ops_between_kernels(real_trace(data / "gpu_tf221_mlp.pb.xz"))
    assert (len(table), why_not(table)) == (0, "")
