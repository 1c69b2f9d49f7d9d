"""Findings: known causes come first, with figures that the tables bear out, and healthy traces have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tests.real_traces import SHARED
from tfvis_nb import events
from tfvis_nb.analysis import communication_overlap, why_not
from tfvis_nb.analysis.findings.finding import MAX_EVENTS
from tfvis_nb.analysis.findings.findings import findings
from tfvis_nb.analysis.findings.rules import RULES

H200 = SHARED / "h200"
INPUT_SHARE = RULES["input_bound"].thresholds["SHARE"].value
INPUT_MEAN_NS = int(RULES["input_bound"].thresholds["MEAN_NS"].value)

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
    (["mixed_sparse_embedding_step0.pb"], "cpu_ops", {"op_types": 6, "copies": 13}),
    (["mixed_sparse_embedding_step2.pb"], "cpu_ops", {"op_types": 6}),
]
HEALTHY = ["mlp_step2.pb", "keras_fit_gpu.xplane.pb"]
COMPILING = "jax_train_gpu.xplane.pb"


def _of_collection(names: list[str], *more: object) -> Any:
    """The parameters of a test that needs these files of the large collection."""
    values = (names, *more) if more else names
    return pytest.param(*values, marks=pytest.mark.collection(*(f"h200/{name}" for name in names)))


def _read(names: list[str]) -> tv.Trace:
    paths: list[Path] = [H200 / name for name in names]
    return tv.read_trace(paths if len(paths) > 1 else paths[0])


@pytest.mark.parametrize(("names", "key", "known"), [_of_collection(*case) for case in KNOWN], ids=str)
def test_the_known_cause_comes_first(names: list[str], key: str, known: dict[str, Any]) -> None:
    first = findings(_read(names)).iloc[0]
    assert first["id"] == key
    assert {name: first["figures"][name] for name in known} == known


@pytest.mark.parametrize("name", [_of_collection([name]) for name in HEALTHY])
def test_a_healthy_trace_has_none(name: str) -> None:
    assert findings(_read([name]))["title"].tolist() == []


@pytest.mark.parametrize("name", [_of_collection([COMPILING])])
def test_what_a_profile_compiled_is_told_and_nothing_else(name: str) -> None:
    trace = _read([name])
    table = findings(trace)
    assert table["kind"].tolist() == ["compiling"]
    whole = trace.breakdown[trace.breakdown["device"].astype(str) == ""]
    assert table["share"].tolist() == [whole["compile_ns"].sum() / whole["step_ns"].sum()]


def _input_trace(waiting: list[int], computing: int) -> tv.Trace:
    """A trace of steps that wait so long for input each, and then compute."""
    rows = []
    for step, waits in enumerate(waiting):
        start = step * 10**9
        rows.append({"start_ns": start, "duration_ns": waits, "op": "IteratorGetNext", "step": step})
        rows.append({"start_ns": start + waits, "duration_ns": computing, "op": "MatMul", "step": step})
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns |= {"kind": ["op"] * len(rows), "device": ["/device:CPU:0"] * len(rows)}
    return tv.Trace(events.build(columns))


def test_waiting_for_input_is_told_from_its_limit_on() -> None:
    whole = 100_000_000
    limit = round(INPUT_SHARE * whole)
    below = findings(_input_trace([limit - 1], whole + 1 - limit))
    at = findings(_input_trace([limit], whole - limit))
    assert below.empty
    assert at["kind"].tolist() == ["input"]
    assert at["share"].tolist() == [INPUT_SHARE]
    assert at["lost_ns"].tolist() == [limit]
    assert at["events"].tolist() == [[0]]
    assert at["id"].tolist() == ["input_bound.one"]


def test_the_slowest_op_of_the_input_pipeline_is_named() -> None:
    waiting: dict[str, Any] = {
        "kind": "op",
        "op": "IteratorGetNext",
        "lane": "ops",
        "start_ns": 0,
        "duration_ns": 90_000_000,
    }
    lane = {"kind": "host", "lane": "tf_data_iterator_resource/1"}
    rows = [
        waiting,
        {**lane, "op": "InstantiatedCapturedFunction::Run", "start_ns": 0, "duration_ns": 80_000_000},
        *({**lane, "op": "PyFunc", "start_ns": at, "duration_ns": 5_000_000} for at in (0, 10_000_000)),
        {**lane, "op": "DecodeJpeg", "start_ns": 30_000_000, "duration_ns": 9_000_000},
    ]
    table, _ = events.order(events.build({name: [row[name] for row in rows] for name in waiting}))
    figures = findings(tv.Trace(table))["figures"][0]
    assert figures["slowest_stage"] == {"op": "PyFunc", "count": 2, "self_ns": 10_000_000}


def test_a_stage_of_the_input_pipeline_without_an_op_is_named_by_its_name() -> None:
    lane = {"kind": "host", "op": "", "lane": "tf_data_iterator_get_next/1"}
    rows: list[dict[str, Any]] = [
        {
            **lane,
            "kind": "op",
            "op": "IteratorGetNext",
            "name": "get",
            "lane": "ops",
            "start_ns": 0,
            "duration_ns": 90_000_000,
        },
        {**lane, "name": "Iterator::Model::Prefetch", "start_ns": 0, "duration_ns": 80_000_000},
        {
            **lane,
            "name": "Iterator::Model::Prefetch::Take",
            "start_ns": 10_000_000,
            "duration_ns": 5_000_000,
        },
    ]

    def slowest(rows: list[dict[str, Any]]) -> object:
        table, _ = events.order(events.build({name: [row[name] for row in rows] for name in rows[0]}))
        return findings(tv.Trace(table))["figures"][0]["slowest_stage"]

    # Prefetch waits for its buffer.
    take = {"op": "Iterator::Model::Prefetch::Take", "count": 1, "self_ns": 5_000_000}
    assert slowest(rows) == take
    decoding = {**lane, "name": "decode", "start_ns": 85_000_000, "duration_ns": 1_000_000}
    assert slowest([*rows, decoding]) == {"op": "decode", "count": 1, "self_ns": 1_000_000}
    assert slowest(rows[:2]) is None


@pytest.mark.collection("hvd/estimator_tf115_dnn_train_step0.pb")
def test_the_stages_of_an_estimators_input_are_named() -> None:
    table = findings(tv.read_trace(SHARED / "hvd" / "estimator_tf115*"))
    stage = table["figures"][0]["slowest_stage"]
    assert stage["op"] == "Iterator::Model::Prefetch::BatchV2::ShuffleAndRepeat"
    assert stage["self_ns"] // 1000 == 399


@pytest.mark.collection("h200/input_bound_tf2_gpu.xplane.pb")
def test_the_slowest_op_of_a_real_input_pipeline_is_named() -> None:
    stage = findings(_read(["input_bound_tf2_gpu.xplane.pb"]))["figures"][0]["slowest_stage"]
    assert (stage["op"], stage["count"], round(stage["self_ns"] / 10**6)) == ("PyFunc", 60, 263)


def test_a_batch_that_is_handed_over_is_not_waited_for() -> None:
    assert findings(_input_trace([INPUT_MEAN_NS - 1] * 3, INPUT_MEAN_NS)).empty
    assert findings(_input_trace([INPUT_MEAN_NS] * 3, INPUT_MEAN_NS))["id"].tolist() == ["input_bound.all"]


def test_what_only_the_first_step_waits_for_is_told_of_it() -> None:
    table = findings(_input_trace([50_000_000, 1000, 1000], 10_000_000))
    assert table["id"].tolist() == ["input_bound.first"]
    assert table["figures"][0]["later_share"] == 2000 / 20_002_000


def _tasks(*rows: tuple[str, str, str, int, int]) -> tv.Trace:
    """A trace of one step, by task, kind, node, start and duration in ms."""
    columns = {
        "task": [f"/job:{row[0].replace(' ', '/task:')}" for row in rows],
        "kind": [row[1] for row in rows],
        "name": [row[2] for row in rows],
        "op": ["MatMul" if row[1] == "op" else row[2] for row in rows],
        "lane": ["collective" if row[1] == "collective" else "ops" for row in rows],
        "device": [f"/job:{row[0].replace(' ', '/task:')}/device:CPU:0" for row in rows],
        "start_ns": [row[3] * 1_000_000 for row in rows],
        "duration_ns": [row[4] * 1_000_000 for row in rows],
    }
    table, _ = events.order(events.build(columns))
    return tv.Trace(table)


def test_a_late_task_is_told_when_the_ends_of_its_collectives_agree() -> None:
    rows = [("worker 0", "collective", "sum", 0, 100), ("worker 1", "op", "work", 0, 80)]
    late = findings(_tasks(*rows, ("worker 1", "collective", "sum", 80, 21)))
    assert (late["id"][0], late["figures"][0]["task"]) == ("straggler.collective", "/job:worker/task:1")
    assert late["share"][0] == 80 / 101
    # Ends that lie more than half as far apart as the starts tell nothing of those.
    rows = [("worker 0", "collective", "sum", 0, 100), ("worker 1", "op", "work", 0, 20)]
    apart = findings(_tasks(*rows, ("worker 1", "collective", "sum", 20, 91)))
    assert "late task" not in apart["kind"].tolist()


@pytest.mark.collection(*(f"h200/mwms_straggler_worker{number}.xplane.pb" for number in (0, 1)))
def test_communication_stands_behind_the_late_task_and_says_why() -> None:
    table = findings(_read([f"mwms_straggler_worker{number}.xplane.pb" for number in (0, 1)]))
    assert table["kind"].tolist() == ["late task", "communication"]
    assert table["share"].is_monotonic_increasing
    assert table["figures"][1]["is_below"]


def test_a_task_that_waits_when_the_others_are_done_is_not_told_to_work() -> None:
    rows = [("worker 0", "op", "a", 0, 10), ("worker 1", "op", "b", 0, 10)]
    working = findings(_tasks(*rows, ("worker 1", "op", "c", 10, 90)))
    assert working["id"].tolist() == ["straggler.end"]
    assert working["share"].tolist() == [0.9]
    known = {"task": "/job:worker/task:1", "awaited_ns": 90_000_000, "activity": "host_compute"}
    assert known.items() <= working["figures"][0].items()
    assert findings(_tasks(*rows, ("worker 1", "op", "c", 90, 10))).empty


@pytest.mark.collection("h200/straggler_ps_3gpuworkers_step0.pb")
def test_how_much_a_late_task_receives_is_told() -> None:
    figures = findings(_read(["straggler_ps_3gpuworkers_step0.pb"]))["figures"][0]
    received = figures["received"]
    assert (received["bytes"] >> 20, received["tensors"]) == (240, 240)
    assert (received["other_bytes"] >> 20, received["other_tensors"], received["others"]) == (16, 16, 2)


def test_of_one_task_communication_may_be_waiting_for_others() -> None:
    rows = [("worker 0", "op", "a", 0, 10), ("worker 0", "collective", "sum", 10, 90)]
    alone = findings(_tasks(*rows))
    assert alone["kind"].tolist() == ["communication"]
    assert alone["share"].tolist() == [0.9]
    assert alone["figures"][0]["tasks"] == 1
    both = findings(_tasks(*rows, ("worker 1", "op", "a", 0, 8), ("worker 1", "collective", "sum", 8, 92)))
    figures = both["figures"][0]
    assert (figures["task"], figures["tasks"]) == ("/job:worker/task:0", 2)


def test_of_a_task_without_accelerators_its_ops_hide_communication() -> None:
    rows = [("worker 0", "collective", "sum", 0, 90), ("worker 0", "op", "a", 0, 100)]
    assert findings(_tasks(*rows)).empty
    assert findings(_tasks(rows[0], ("worker 0", "op", "a", 20, 80)))["share"].tolist() == [0.2]


def test_beside_an_accelerator_both_figures_of_communication_are_told() -> None:
    gpu = {"kind": "kernel", "op": "MatMul", "device": "GPU:0", "lane": "s"}
    cpu = {"kind": "op", "op": "Cast", "device": "CPU:0", "lane": "ops"}
    rows = [
        {**gpu, "start_ns": 0, "duration_ns": 20},
        {**cpu, "start_ns": 20, "duration_ns": 50},
        {**gpu, "start_ns": 20, "duration_ns": 80, "kind": "collective", "op": "AllReduce"},
    ]
    trace = tv.Trace(events.build({name: [row[name] for row in rows] for name in rows[0]}))
    found = findings(trace).set_index("kind").loc["communication"]
    assert found["share"] == 0.8
    figures: Any = found["figures"]
    assert (figures["on_devices"], figures["exposed_share"]) == (True, 0.3)
    assert communication_overlap(trace)["exposed_ns"].tolist() == [30]


def test_a_parameter_server_is_no_task_that_waits() -> None:
    rows = [("worker 0", "op", "a", 0, 10), ("worker 0", "transfer", "RecvTensor", 10, 60)]
    table = findings(_tasks(*rows, ("ps 0", "transfer", "RecvTensor", 0, 20), ("ps 0", "op", "b", 70, 30)))
    assert table["share"].tolist() == [0.6]
    assert table["figures"][0]["task"] == "/job:worker/task:0"


def _copied(start: int) -> tv.Trace:
    """A GPU's op amid its kernels, with a copy to the host from `start` on; the op ends at 50."""
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


def test_an_op_that_reads_a_result_on_the_host_is_told_but_not_one_that_is_fetched() -> None:
    assert findings(_copied(30))["kind"].tolist() == ["cpu ops"]
    assert "cpu ops" not in findings(_copied(60))["kind"].tolist()


def test_a_finding_lists_its_longest_events_and_not_too_many() -> None:
    copies = [
        {
            "start_ns": 10 * at,
            "duration_ns": 5 + at % 3,
            "kind": "memcpy",
            "op": "MemcpyD2H",
            "device": "GPU:0",
        }
        for at in range(2 * MAX_EVENTS)
    ]
    trace = tv.Trace(events.build({name: [row[name] for row in copies] for name in copies[0]}))
    (listed,) = trace.findings["events"]
    durations = trace.events["duration_ns"].iloc[listed].tolist()
    assert len(listed) == MAX_EVENTS
    assert durations == sorted(trace.events["duration_ns"], reverse=True)[:MAX_EVENTS]


def test_copies_within_a_device_are_not_between_host_and_device() -> None:
    columns = {
        "start_ns": [0, 10],
        "duration_ns": [10, 90],
        "kind": ["kernel", "memcpy"],
        "device": ["GPU:0"] * 2,
        "lane": ["stream:1", "memcpy"],
    }
    within, to_host = (
        findings(tv.Trace(events.build({**columns, "op": ["MatMul", op]})))
        for op in ("MemcpyD2D", "MemcpyD2H")
    )
    assert within.empty
    assert to_host["kind"].tolist() == ["copies"]
    assert to_host["events"].tolist() == [[1]]
    assert to_host["figures"][0]["most"] == "d2h"
    to_device = findings(tv.Trace(events.build({**columns, "op": ["MatMul", "MemcpyH2D"]})))
    assert to_device["figures"][0]["most"] == "h2d"


def _steps(durations: list[int], work: list[int]) -> tv.Trace:
    starts = np.cumsum([0, *durations[:-1]]) + np.arange(len(durations)) * 10
    ops = {"kind": "op", "op": "MatMul", "device": "/device:GPU:0", "lane": "ops"}
    rows = [
        {**ops, "step": step, "start_ns": start, "duration_ns": took}
        for step, (start, took) in enumerate(zip(starts, durations, strict=True))
    ]
    rows += [
        {**row, "kind": "kernel", "lane": "stream:1", "duration_ns": kernel}
        for row, kernel in zip(rows, work, strict=True)
    ]
    table, _ = events.order(events.build({name: [row[name] for row in rows] for name in rows[0]}))
    return tv.Trace(table)


def test_steps_with_more_to_do_are_told_apart_from_those_that_take_longer() -> None:
    trace = _steps([1000] * 6 + [2000, 1000, 3000, 1000], [600] * 6 + [1200, 600, 600, 600])
    table = findings(trace)
    slow = table[table["kind"] == "slow steps"]
    more, longer = (slow[slow["id"] == f"slow_steps.{case}"].iloc[0] for case in ("more_work", "longer"))
    assert (more["figures"]["steps"], more["lost_ns"]) == ([6], 1000)
    assert (longer["figures"]["steps"], longer["lost_ns"]) == ([8], 2000)
    assert more["figures"]["work_ratios"] == [2, 2]


@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_of_steps_with_more_to_do_the_slowest_has_a_cause_of_its_own() -> None:
    figures = findings(_read(["mlp_60steps.tar.xz"]))["figures"][0]
    assert (figures["steps"], figures["step"], figures["stalls"]) == ([13, 33, 53], 13, True)
    assert (figures["excess_ns"] // 10**5, figures["work_excess_ns"] // 1000) == (234, 106)
    assert (figures["activity"], figures["op"], figures["op_kind"]) == ("launch", "MatMul", "op")
    assert figures["own_part"] > 0.9


def test_a_stall_is_of_one_event_on_the_host_and_what_threads_do_is_summed() -> None:
    trace = _steps([1000] * 6 + [3000, 1000, 1000, 1000], [100] * 6 + [200, 100, 100, 100])
    stalled = findings(trace).query("kind == 'slow steps'")
    assert stalled["id"].tolist() == ["slow_steps.more_work"]
    assert stalled["figures"].tolist()[0]["stalls"]
    cpu = {"kind": "op", "op": "MatMul", "device": "/device:CPU:0", "name": "MatMul"}
    took = [1000] * 6 + [3000] + [1000] * 3
    rows: list[dict[str, Any]] = [
        {**cpu, "step": step, "start_ns": step * 10_000, "lane": lane, "duration_ns": took[step]}
        for step in range(10)
        for lane in ("ops", "ops (1)")
    ]
    table = events.build({name: [row[name] for row in rows] for name in rows[0]})
    longer = findings(tv.Trace(table)).query("kind == 'slow steps'")
    assert longer["id"].tolist() == ["slow_steps.longer"]
    known = {"activity": "host_compute", "activity_ns": 2000, "op": "MatMul", "op_ns": 4000}
    assert known.items() <= longer["figures"].tolist()[0].items()


def test_a_step_that_is_longer_by_the_work_of_its_devices_has_no_other_cause() -> None:
    trace = _steps([1000] * 6 + [2000, 1000, 1000, 1000], [500] * 6 + [1500, 500, 500, 500])
    table = findings(trace)
    assert table["id"].tolist()[-1] == "slow_steps.more_work"
    assert not table["figures"].tolist()[-1]["stalls"]


def test_the_first_step_and_steps_that_are_many_are_no_finding() -> None:
    assert findings(_steps([5000] + [1000] * 9, [100] * 10)).query("kind == 'slow steps'").empty
    assert findings(_steps([1000] * 6 + [2000] * 4, [100] * 10)).query("kind == 'slow steps'").empty


def test_a_trace_without_steps_says_so() -> None:
    table = findings(
        tv.Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"], "step": [-1]}))
    )
    assert table.empty
    assert why_not(table).id == "no_steps"
