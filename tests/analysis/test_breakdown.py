"""The breakdown of steps against time counted nanosecond by nanosecond."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, each, real_trace
from tests.support.bitmaps import counted, painted, windows
from tfvis_nb import Trace, events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.events.activity import ACTIVITIES, activity
from tfvis_nb.analysis.steps.breakdown import PARTS, activity_times, breakdown

TASK = "/job:worker/replica:0/task:0"
CPU, GPU = f"{TASK}/device:CPU:0", f"{TASK}/device:GPU:0"

DEVICES = {
    "": ["", "/device:CPU:0", "/device:GPU:0"],
    TASK: [CPU, GPU],
    "/job:ps/replica:0/task:10": ["/job:ps/replica:0/task:10/device:CPU:0"],
}
ROW = st.sampled_from(sorted(DEVICES)).flatmap(
    lambda task: st.fixed_dictionaries(
        {
            "task": st.just(task),
            "device": st.sampled_from(DEVICES[task]),
            "start_ns": st.integers(0, 60),
            "duration_ns": st.integers(0, 20),
            "step": st.integers(-1, 2),
            "kind": st.sampled_from(events.KINDS),
            "op": st.sampled_from(
                ["MatMul", "IteratorGetNext", "launch", "MemcpyH2D", "MemcpyD2H", "FunctionRun"]
            ),
        }
    )
)


def built(rows: list[dict[str, Any]]) -> Trace:
    table = events.build({name: [row[name] for row in rows] for name in rows[0]})
    return Trace(events.order(table)[0])


def expected(trace: Trace) -> dict[tuple[int, str, str], list[int]]:
    """Return for each step, task and device the ns of each activity, none first."""
    layers: dict[tuple[int, str, str], dict[int, list[tuple[int, int]]]] = {}
    task, device = trace.events["task"].tolist(), trace.events["device"].tolist()
    for event, step, interval in counted(trace):
        for where in {"", device[event]}:
            place = layers.setdefault((step, task[event], where), {})
            place.setdefault(int(activity(trace)[event]), []).append(interval)
    window = windows(trace)
    return {
        key: painted(window[key[0]], [found.get(number, []) for number in range(1, len(ACTIVITIES))]).tolist()
        for key, found in layers.items()
    }


def shares(table: pd.DataFrame) -> dict[tuple[int, str, str], list[int]]:
    """Return the same of a breakdown; idle and unknown time count as none."""
    names = [f"{name}_ns" for name in ACTIVITIES[1:]]
    found = {}
    for row in table.to_dict("records"):
        rest = [row[name] for name in ("idle_ns", "unknown_ns") if not pd.isna(row[name])]
        parts = [0 if pd.isna(row[name]) else row[name] for name in names]
        found[row["step"], row["task"], row["device"]] = [sum(rest), *parts]
    return found


@given(st.lists(ROW, min_size=1, max_size=20))
def test_every_nanosecond_is_of_one_activity(rows: list[dict[str, Any]]) -> None:
    trace = built(rows)
    table = breakdown(trace)
    assert shares(table) == expected(trace)
    assert (table[list(PARTS)].sum(axis=1) == table["step_ns"]).all()
    assert bool(why_not(table)) == all(row["step"] < 0 for row in rows)

    times = activity_times(trace)
    for step, task, device in shares(table):
        activities = times[(times["step"] == step) & (times["task"] == task) & (times["device"] == device)]
        end = activities["start_ns"] + activities["duration_ns"]
        assert (activities["start_ns"].to_numpy()[1:] == end.to_numpy()[:-1]).all()
        lengths = activities.groupby("activity", observed=False)["duration_ns"].sum()
        assert lengths.tolist() == shares(table)[step, task, device]


BY_PRIORITY = {
    "device_compute_ns": ("kernel", "MatMul", GPU, "stream:1"),
    "d2h_ns": ("memcpy", "MemcpyD2H", GPU, "memcpy D2H"),
    "d2d_ns": ("memcpy", "MemcpyD2D", GPU, "memcpy D2D"),
    "input_ns": ("op", "IteratorGetNext", CPU, "ops"),
    "communication_ns": ("transfer", "RecvTensor", CPU, "recv"),
    "launch_ns": ("op", "MatMul", GPU, "ops"),
    "h2d_ns": ("memcpy", "MemcpyH2D", GPU, "memcpy H2D"),
    "compile_ns": ("host", "backend_compile", CPU, "python"),
    "host_compute_ns": ("op", "MatMul", CPU, "ops"),
    "runtime_ns": ("host", "TFE_Py_Execute", CPU, "python"),
    "preprocessing_ns": ("host", "Iterator::Prefetch", CPU, "tf_data_iterator_resource/1"),
    "idle_ns": ("host", "FunctionRun", CPU, "python"),
}
"""One event of each activity, in the order of XProf's EventType, network and collectives in one place."""


def test_what_wins_of_what_happens_at_once() -> None:
    """Each lasts 1 ns longer than what wins over it, and so has 1 ns of its own."""
    rows = [
        {
            "start_ns": 0,
            "duration_ns": length,
            "kind": kind,
            "op": op,
            "task": TASK,
            "device": device,
            "lane": lane,
        }
        for length, (kind, op, device, lane) in enumerate(BY_PRIORITY.values(), start=1)
    ]
    whole = breakdown(built(rows)).iloc[0]
    assert whole["step_ns"] == len(BY_PRIORITY)
    assert {name: whole[name] for name in PARTS} == dict.fromkeys(BY_PRIORITY, 1) | {"unknown_ns": 0}
    assert (*BY_PRIORITY, "unknown_ns") == PARTS


REAL = [
    "cpu_jax.xplane.pb",
    "cpu_tf115_dist.pb.xz",
    "cpu_tf115_horovod.pb.xz",
    "cpu_tf221_collective.pb.xz",
    "cpu_tf221_dist_while.pb.xz",
    "cpu_tf221_keras_fit.xplane.pb.xz",
    "dist_inproc_ps_2workers_step0.pb",
    "gpu_tf218_function.xplane.pb.xz",
    "gpu_tf221_dist.pb.xz",
    "gpu_tf221_mixed.pb.xz",
    "gpu_tf221_mlp.pb.xz",
    "gpu_tf221_two_logical.pb.xz",
    "gpu_tf221_worker0.xplane.pb.xz",
    "run_meta.v0",
]


@pytest.mark.slow
@pytest.mark.parametrize("path", each(DATA / name for name in REAL))
def test_real_steps_counted_moment_by_moment(path: Path) -> None:
    trace = real_trace(path)
    assert shares(breakdown(trace)) == expected(trace)


def test_rows_are_in_order_and_dtypes_are_those_said() -> None:
    tasks = [f"/job:worker/replica:0/task:{number}" for number in (10, 2)]
    rows = [
        {"start_ns": 0, "duration_ns": 5, "kind": "kernel", "task": task, "device": f"{task}/device:GPU:0"}
        for task in tasks
    ]
    table = breakdown(built(rows))
    assert table["task"].tolist() == [tasks[1]] * 2 + [tasks[0]] * 2
    assert [name.rpartition("/")[2] for name in table["device"]] == ["", "device:GPU:0"] * 2
    types = {
        name: str(table[name].dtype) for name in ("step", "task", "device", "step_ns", "idle_ns", "input_ns")
    }
    assert list(types.values()) == ["int64", "category", "category", "int64", "Int64", "int64"]
    empty = breakdown(Trace(events.build({}, rows=0)))
    assert empty.dtypes.astype(str).to_dict() == table.dtypes.astype(str).to_dict()
    assert why_not(empty).id == "no_steps"
    assert why_not(activity_times(Trace(events.build({}, rows=0)))).id == "no_steps"


def test_the_parts_of_a_gpu_are_unknown_without_its_rows() -> None:
    """SOFTWARE_TRACE records the ops of a GPU, not its kernels."""
    rows = [
        {"start_ns": 0, "duration_ns": 60, "kind": "op", "task": TASK, "device": GPU, "op": "MatMul"},
        {"start_ns": 80, "duration_ns": 20, "kind": "op", "task": TASK, "device": CPU, "op": "MatMul"},
    ]
    table = breakdown(built(rows)).set_index("device")
    for device in ("", GPU):
        assert table.loc[device, ["device_compute_ns", "h2d_ns", "d2h_ns", "d2d_ns", "idle_ns"]].isna().all()
    assert table["launch_ns"].tolist() == [60, 0, 60]
    assert table["unknown_ns"].tolist() == [20, 0, 40]
    assert table["idle_ns"].tolist()[1] == 80
    assert (table[list(PARTS)].sum(axis=1) == 100).all()


@pytest.mark.collection("h200/mlp_software_trace.pb", "h200/mlp_step2.pb")
def test_a_software_trace_says_nothing_of_the_gpu(shared: Path) -> None:
    whole = real_trace(shared / "h200/mlp_software_trace.pb").breakdown.iloc[0]
    assert pd.isna(whole["device_compute_ns"])
    assert whole["unknown_ns"] > 0
    assert real_trace(shared / "h200/mlp_step2.pb").breakdown["unknown_ns"].sum() == 0


@pytest.mark.collection("h200/input_bound_tf2_gpu.xplane.pb")
def test_a_step_that_waits_for_its_input(shared: Path) -> None:
    """Each of its 8 elements a batch takes 4 ms on a tf.data thread of its own."""
    table = real_trace(shared / "h200/input_bound_tf2_gpu.xplane.pb").breakdown
    whole = table[table["device"] == ""].iloc[1:]
    assert (whole["input_ns"] > 0.6 * whole["step_ns"]).all()
    assert (whole["device_compute_ns"] < 0.05 * whole["step_ns"]).all()


@pytest.mark.thorough
@pytest.mark.collection("h200/inception_tf2_60steps_gpu.xplane.pb.xz")
def test_a_step_of_many_small_kernels_is_bound_by_launching_them(shared: Path) -> None:
    table = real_trace(shared / "h200/inception_tf2_60steps_gpu.xplane.pb.xz").breakdown
    whole = table[table["device"] == ""]
    assert len(whole) == 60
    assert (whole["launch_ns"] > 0.7 * whole["step_ns"]).all()


@pytest.mark.collection("h200/jax_train_gpu.xplane.pb")
def test_copies_outside_steps_count_to_the_step_at_their_time(shared: Path) -> None:
    trace = real_trace(shared / "h200/jax_train_gpu.xplane.pb")
    copies = trace.events[trace.events["kind"] == "memcpy"]
    assert len(copies) == 35
    assert set(copies["step"]) == {-1}
    steps = trace.steps[trace.steps["step"] >= 0]
    place = steps["start_ns"].searchsorted(copies["start_ns"], "right") - 1
    within = copies.groupby(steps["step"].to_numpy()[place])["duration_ns"].sum()
    table = trace.breakdown[trace.breakdown["device"] == "/device:GPU:0"]
    assert table["h2d_ns"].tolist() == within.tolist()
    used = trace.utilization[trace.utilization["device"] == "/device:GPU:0"]
    assert (used["busy_ns"].to_numpy() - table["device_compute_ns"].to_numpy() == within.to_numpy()).all()
