"""Findings: known causes are there, with figures that the tables bear out, and an idle GPU always has one."""

from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tests.support.h200_traces import read_h200
from tfvis_nb import events
from tfvis_nb.analysis import why_not
from tfvis_nb.display.overview.findings_block import findings_block

KNOWN = [
    (["input_bound_tf2_gpu.xplane.pb"], "input_bound.all", {}),
    (["straggler_ps_3gpuworkers_step0.pb"], "straggler.end", {"task": "/job:worker/replica:0/task:2"}),
    (
        ["mwms_straggler_worker0.xplane.pb", "mwms_straggler_worker1.xplane.pb"],
        "straggler.collective",
        {"task": "/job:worker/replica:0/task:1"},
    ),
    (["deep4000.pb.xz"], "launch_bound", {"late": 22_871, "launches": 36_550}),
    (["mlp_60steps.tar.xz"], "slow_steps.more_work", {"steps": [13, 33, 53]}),
    (["two_logical_gpus_step0.pb"], "copies.variables", {"variables": 8, "variable_bytes": 8 * 2**22}),
    (["mixed_sparse_embedding_step0.pb"], "cpu_ops", {"op_types": 6, "op_types_on_cpu": 0, "copies": 13}),
    (
        ["mixed_sparse_embedding_step2.pb"],
        "cpu_ops",
        {
            "read_by_host": ["Unique", "SparseToDense", "Range"],
            "host_memory": ["Shape", "ExpandDims", "StridedSlice"],
        },
    ),
]


IDLE = ["mlp_step2.pb", "keras_fit_gpu.xplane.pb", "mlp_60steps.tar.xz"]
COMPILING = "jax_train_gpu.xplane.pb"


def _of_collection(names: list[str], *more: object) -> Any:
    """The parameters of a test that needs these files of the large collection."""
    values = (names, *more) if more else names
    return pytest.param(*values, marks=pytest.mark.collection(*(f"h200/{name}" for name in names)))


@pytest.mark.parametrize(("names", "key", "known"), [_of_collection(*case) for case in KNOWN], ids=str)
def test_the_known_cause_is_a_problem(names: list[str], key: str, known: dict[str, Any]) -> None:
    table = read_h200(names).findings
    (row,) = np.flatnonzero(table["id"] == key)
    # Only that the GPU waits for launches, which the same cause brings about, may weigh more.
    assert set(table["id"][:row]) <= {"launch_bound"}
    assert table["level"][row] == "problem"
    assert {name: table["figures"][row][name] for name in known} == known


@pytest.mark.parametrize("name", [_of_collection([name]) for name in IDLE])
def test_a_gpu_that_mostly_waits_for_launches_has_that_first(name: str) -> None:
    first = read_h200([name]).findings.iloc[0]
    assert (first["id"], first["level"]) == ("launch_bound", "problem")
    assert first["share"] > 0.5


@pytest.mark.parametrize("name", [_of_collection([COMPILING])])
def test_compiling_in_the_first_step_is_not_reported(name: str) -> None:
    trace = read_h200([name])
    assert trace.overview["first_step"]["share"] > 0.5
    assert "first_step" not in set(trace.findings["id"])


def _copied(start: int) -> tv.Trace:
    """A GPU op between its kernels, with a copy to the host starting at `start`; the op ends at 50."""
    ops = {"kind": "op", "op": "Unique", "device": "GPU:0", "lane": "ops", "name": "unique", "detail": ""}
    gpu = {**ops, "kind": "kernel", "lane": "stream:1"}
    rows = [
        {**gpu, "start_ns": 0, "duration_ns": 5, "name": "before"},
        {**ops, "start_ns": 5, "duration_ns": 45},
        {**gpu, "start_ns": 10, "duration_ns": 5},
        {
            **gpu,
            "start_ns": start,
            "duration_ns": 5,
            "kind": "memcpy",
            "op": "MemcpyD2H",
            "lane": "memcpy D2H",
        },
        {**gpu, "start_ns": 90, "duration_ns": 10, "name": "after"},
    ]
    table, _ = events.order(events.build({name: [row[name] for row in rows] for name in rows[0]}))
    return tv.Trace(table)


def test_host_reads_are_reported_but_fetches_are_not() -> None:
    assert "cpu ops" in _copied(30).findings["kind"].tolist()
    assert "cpu ops" not in _copied(60).findings["kind"].tolist()


def test_a_finding_lists_its_longest_events_and_not_too_many() -> None:
    copies = [
        {
            "start_ns": 10 * at,
            "duration_ns": 5 + at % 3,
            "kind": "memcpy",
            "op": "MemcpyD2H",
            "device": "GPU:0",
        }
        for at in range(100)
    ]
    trace = tv.Trace(events.build({name: [row[name] for row in copies] for name in copies[0]}))
    (listed,), (count,) = trace.findings["events"], trace.findings["event_count"]
    durations = trace.events["duration_ns"].iloc[listed].tolist()
    assert (len(listed), count) == (50, 100)
    (zoom,) = [item["zoom"] for item in findings_block(trace)["items"]]
    assert (zoom["events"], zoom["of"]) == (listed, 100)
    # A terminal shows whole sentences, of a table that is still one.
    text, advice = (" ".join(str(trace.findings).split()), trace.findings["advice"][0])
    assert trace.findings["text"][0] in text
    assert advice in text
    assert list(trace.findings.head(1)["event_count"]) == [100]
    assert durations == sorted(trace.events["duration_ns"], reverse=True)[:50]


def test_copies_within_a_device_are_not_between_host_and_device() -> None:
    columns = {
        "start_ns": [0, 10],
        "duration_ns": [10, 90],
        "kind": ["kernel", "memcpy"],
        "device": ["GPU:0"] * 2,
        "lane": ["stream:1", "memcpy"],
    }
    within, to_host = (
        tv.Trace(events.build({**columns, "op": ["MatMul", op]})).findings
        for op in ("MemcpyD2D", "MemcpyD2H")
    )
    assert within.empty
    assert to_host["kind"].tolist() == ["copies"]
    assert to_host["events"].tolist() == [[1]]
    assert to_host["figures"][0]["most"] == "d2h"
    to_device = tv.Trace(events.build({**columns, "op": ["MatMul", "MemcpyH2D"]})).findings
    assert to_device["figures"][0]["most"] == "h2d"


def test_a_trace_without_steps_says_so() -> None:
    table = tv.Trace(
        events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"], "step": [-1]})
    ).findings
    assert table.empty
    assert why_not(table).id == "no_steps"


@pytest.mark.collection("h200/jax_train_gpu.xplane.pb")
def test_host_work_that_a_device_waits_for_is_named() -> None:
    found = read_h200(["jax_train_gpu.xplane.pb"]).findings.set_index("id").loc["idle_device.host"]
    assert found["figures"]["work"]["op"] == "Python itself"
    assert "The largest part is Python itself: " in found["text"]


def _idle_gpu(task: str, *kinds: str) -> dict[str, Any]:
    """The finding of a GPU that nothing explains, beside rows of the host of some kinds."""
    rows = [
        ("kernel", 0, 10, "GPU:0"),
        *((kind, 0, 10, "CPU:0") for kind in kinds),
        ("kernel", 90, 10, "GPU:0"),
    ]
    names = ("kind", "start_ns", "duration_ns", "device")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    columns |= {"task": [task] * len(rows), "op": ["Add"] * len(rows)}
    columns["device"] = [f"{task}/device:{name}" for name in columns["device"]]
    columns["lane"] = ["stream:1" if kind == "kernel" else "python" for kind in columns["kind"]]
    found = tv.Trace(events.order(events.build(columns))[0]).findings.set_index("id")
    return dict(found.loc["idle_device.unknown"])


@pytest.mark.parametrize("kinds", [(), ("host",)])
def test_other_tasks_are_advised_only_to_a_task_of_a_job(kinds: tuple[str, ...]) -> None:
    for task, others in (
        ("", False),
        ("/job:localhost/replica:0/task:0", False),
        ("/job:worker/task:1", True),
    ):
        found = _idle_gpu(task, *kinds)
        assert found["figures"]["other_tasks"] is others
        assert ("tasks" in found["advice"]) is others
        assert ("host events" in found["advice"]) is (not kinds)


@pytest.mark.parametrize(("launch_ns", "few"), [(5_000, False), (300_000, True)])
def test_long_launches_are_not_told_to_be_fewer(launch_ns: int, *, few: bool) -> None:
    rows: list[tuple[Any, ...]] = []
    for at in range(0, 10 * launch_ns, launch_ns):
        rows.append(("host", "cudaLaunchKernel", at, launch_ns - 100, "python", "CPU:0", None))
        rows.append(("kernel", "Add", at + launch_ns - 90, 50, "stream:1", "GPU:0", at + launch_ns - 100))
    names = ("kind", "op", "start_ns", "duration_ns", "lane", "device", "scheduled_ns")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    found = tv.Trace(events.order(events.build(columns))[0]).findings.set_index("id").loc["launch_bound"]
    assert found["figures"]["longest"]["op"] in ("cudaLaunchKernel", "Add")
    assert ("Reduce kernel launches" in found["advice"]) is not few
