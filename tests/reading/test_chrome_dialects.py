"""The program that wrote a JSON is recognised by several signs. The oracle is plain json."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.texts import figures_of
from tfvis_nb.analysis.steps.breakdown import PARTS

EPOCH = 1_614_800_519_473_000


def read(events: list[dict[str, Any]], **keys: Any) -> tv.Trace:
    return tv.read_trace(json.dumps({"traceEvents": events, **keys}).encode())


def process(pid: int, name: str, **arguments: Any) -> dict[str, Any]:
    return {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name, **arguments}}


def bar(label: str, ts: int, dur: int, pid: int = 1, cat: str = "Op", **arguments: Any) -> dict[str, Any]:
    event = {"ph": "X", "cat": cat, "name": label, "pid": pid, "tid": 0, "ts": ts, "dur": dur}
    return event | {"args": arguments}


@given(
    kernels=st.lists(
        st.tuples(st.sampled_from(["MatMul_1", "a/Relu"]), st.integers(1, 50)), min_size=1, max_size=6
    ),
    ops=st.lists(st.integers(1, 50), min_size=1, max_size=6),
    job=st.sampled_from(["/job:localhost/replica:0/task:0", "/job:worker/replica:0/task:3"]),
)
def test_tfprof_has_kernels_and_ops(kernels: list[tuple[str, int]], ops: list[int], job: str) -> None:
    trace = read(
        [
            process(0, "Op execution threads: /device:gpu:0/stream:all"),
            process(1, f"Op scheduling threads: {job}/device:gpu:0"),
            process(2, f"mem usage on:{job}/device:gpu:0"),
            *(bar(name, EPOCH + 100 * at, dur, 0, name=name) for at, (name, dur) in enumerate(kernels)),
            *(bar("b/MatMul", EPOCH + 100 * at, dur, 1, name="b/MatMul") for at, dur in enumerate(ops)),
            {
                "ph": "C",
                "name": "Allocated Bytes",
                "pid": 2,
                "ts": EPOCH,
                "args": {"Allocator Bytes in Use": 7},
            },
        ]
    )
    sums = trace.events.groupby("kind", observed=True)["duration_ns"].agg(["size", "sum"]).T
    assert sums["kernel"].tolist() == [len(kernels), 1000 * sum(dur for _, dur in kernels)]
    assert sums["op"].tolist() == [len(ops), 1000 * sum(ops)]
    assert set(trace.events["device"]) == {f"{job}/device:GPU:0"} == set(trace.counters["device"])
    assert set(trace.events["op"]) == {"MatMul"} | ({"Relu"} & {name[2:] for name, _ in kernels})
    assert figures_of(trace.notes, "dialect")[0]["program"] == "tfprof"


def test_one_shared_name_does_not_make_a_horovod_timeline() -> None:
    begin = process(0, "x", start_time_since_epoch_in_micros=EPOCH)
    debugger = read(
        [begin, process(4, "Step:ModeKeys.TRAIN"), bar("Step:ModeKeys.TRAIN", 5, 100, 4, step_num="1")]
    )
    assert not figures_of(debugger.notes, "dialect")
    assert debugger.events["kind"].tolist() == ["host"]
    assert debugger.events["start_ns"].tolist() == [(EPOCH + 5) * 1000]
    horovod = read(
        [
            begin,
            process(1, "grad"),
            {"ph": "B", "name": "ALLREDUCE", "pid": 1, "ts": 5},
            {"ph": "E", "pid": 1, "ts": 9},
        ]
    )
    (figures,) = figures_of(horovod.notes, "dialect")
    assert figures == {"program": "Horovod", "signs": "event ALLREDUCE, start_time_since_epoch_in_micros"}


@pytest.mark.parametrize(
    ("events", "keys", "program"),
    [
        ([bar("x", 1, 2, cat="kernel")], {}, None),
        ([bar("x", 1, 2, cat="kernel", correlation=3)], {}, "PyTorch's profiler"),
        ([bar("aten::mm", 1, 2, cat="cpu_op")], {}, "PyTorch's profiler"),
        ([process(1, "/host:CPU"), bar("x", 1, 2, cat="kernel")], {}, "the trace viewer"),
        ([process(1, "/device:GPU:0"), bar("x", 1, 2, cat="kernel", group_id=1)], {}, "the trace viewer"),
        ([process(1, "/device:CPU:0 Compute"), bar("NoOp", 1, 2, op="NoOp", name="a")], {}, "timeline.py"),
    ],
)
def test_the_most_signs_decide(
    events: list[dict[str, Any]], keys: dict[str, Any], program: str | None
) -> None:
    notes = figures_of(read(events, **keys).notes, "dialect")
    assert [figures["program"] for figures in notes] == ([program] if program else [])


@pytest.mark.parametrize("mode", ["schedule", "gpu", "all"])
def test_replaced_op_times_are_named(mode: str) -> None:
    events = [
        process(0, "/job:localhost/replica:0/task:0/device:GPU:0 Compute"),
        process(1, "/device:GPU:0/stream:all Compute"),
    ]
    for number in range(4):
        begin, end = 100 * number, 100 * number + 20
        kernel = begin + 15, begin + 30
        if mode != "schedule":
            end = max(end, kernel[1])
        if mode == "gpu":
            begin = kernel[0]
        name = {"name": f"n{number}", "op": "MatMul"}
        events.append(bar("MatMul", EPOCH + begin, end - begin, 0, **name))
        events.append(bar("MatMul", EPOCH + kernel[0], kernel[1] - kernel[0], 1, **name))
    trace = read(events)
    found = figures_of(trace.notes, "op_times_replaced")
    assert found == ([] if mode == "schedule" else [{"mode": mode, "ops": 4}])
    causes = set(trace.idle_gaps["cause"].astype(str))
    assert ("late launch" in causes) == (mode == "schedule")
    parts = trace.breakdown[list(PARTS)]
    assert parts["launch_ns"].isna().eq(mode != "schedule").all()
    assert (parts.sum(axis=1) == trace.breakdown["step_ns"]).all()
    advice = trace.findings["advice"]
    assert advice.str.contains("op_time='schedule'").any() == (mode != "schedule")


@pytest.mark.parametrize(
    ("ends", "replaced"),
    [
        ([-10] * 4 + [0, 4, 5, 6, 7, 8], []),  # as recorded
        ([0] * 4 + [0, 4, 5, 6, 7, 8], [{"ops": 5}]),
        ([0, 0, 0, 2, 2, 2, 2, 3, 3, 4], []),
        ([5, 5, 5, 5, 6, 6, 7, 8, 9, 9], []),
    ],
)
def test_ops_that_end_with_their_kernels_are_counted(ends: list[int], replaced: list[Any]) -> None:
    events = [
        process(0, "/job:localhost/replica:0/task:0/device:GPU:0 Compute"),
        process(1, "/device:GPU:0/stream:all Compute"),
    ]
    for number, behind in enumerate(ends):
        name = {"name": f"n{number}", "op": "MatMul"}
        events.append(bar("MatMul", EPOCH + 100 * number, 30 + behind, 0, **name))
        events.append(bar("MatMul", EPOCH + 100 * number + 15, 15, 1, **name))
    trace = read(events)
    assert figures_of(trace.notes, "op_ends_replaced") == replaced
    assert not figures_of(trace.notes, "op_times_replaced")
    assert trace.breakdown["launch_ns"].notna().all()


def test_groups_of_tf_data_are_no_steps() -> None:
    trace = read(
        [
            process(1, "/host:CPU"),
            bar("Iterator::Batch", 10, 50, group_id=7),
            bar("train 3", 100, 900, group_id=8),
            bar("dense/MatMul:MatMul", 200, 300, group_id=8),
            process(2, "/device:GPU:0"),
            {"ph": "M", "name": "thread_name", "pid": 2, "tid": 0, "args": {"name": "Stream #13"}},
            bar("sgemm", 300, 90, 2, group_id=8, annotation="dense/MatMul:MatMul"),
        ]
    )
    assert trace.steps.loc[trace.steps["step"] >= 0, "duration_ns"].tolist() == [900_000]
    (kernel,) = trace.events[trace.events["kind"] == "kernel"].to_dict("records")
    assert (kernel["name"], kernel["op"]) == ("dense/MatMul", "MatMul")
    assert "annotation=dense/MatMul:MatMul" in kernel["detail"]


def mark(number: int, ts: int, dur: int, pid: int = 1, name: str = "train") -> dict[str, Any]:
    return bar(name, ts, dur, pid, step_num=str(number))


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40), st.integers(0, 3)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 400), st.integers(-1, 400)), max_size=20),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_marks_of_the_viewer_are_steps(
    steps: list[tuple[int, int, int]], work: list[tuple[int, int]], epoch: bool, hosts: bool, shuffled: Any
) -> None:
    events: list[dict[str, Any]] = []
    spans: list[tuple[int, int, str]] = []
    time = 0
    for gap, length, number in steps:
        time += gap
        spans.append((time, time + length, f"train {number}"))
        events += [mark(number, time, length), *([mark(number, time, length, 3)] if hosts else [])]
        time += length
    # An epoch that contains the marked steps is none.
    events += [mark(9, 0, time, name="epoch")] if epoch and len(steps) > 1 else []
    for number, (start, launch) in enumerate(work):
        if launch < 0:
            events.append(bar(f"host {number}", start, 1))
        else:
            events.append(bar(f"call {number}", launch, 1, correlation_id=number))
            events.append(bar(f"kernel {number}", start + 400, 1, 2, correlation_id=number))
    shuffled.shuffle(events)
    names = [process(1, "/host:CPU"), process(2, "/device:GPU:0"), process(3, "b /host:CPU")]
    stream = {"ph": "M", "name": "thread_name", "pid": 2, "tid": 0, "args": {"name": "Stream #7"}}
    trace = read([*names, stream, *events])
    assert trace.step_labels == {step: label for step, (_, _, label) in enumerate(spans)}
    step_of = dict(zip(trace.events["name"], trace.events["step"], strict=True))
    for number, (start, launch) in enumerate(work):
        when = start if launch < 0 else launch
        expected = [step for step, (begin, end, _) in enumerate(spans) if begin <= when < end]
        name = f"host {number}" if launch < 0 else f"kernel {number}"
        assert step_of[name] == (expected[0] if expected else -1)
    assert [figures["marks"] for figures in figures_of(trace.notes, "steps_by_step_num")] == [len(spans)]


def test_marks_name_the_groups_of_the_profiler() -> None:
    marked: dict[str, Any] = {"group_id": 4, "step_num": "12"}
    trace = read([process(1, "/host:CPU"), bar("train", 10, 90, **marked), bar("x", 20, 5, group_id=4)])
    assert trace.step_labels == {0: "train 12"}
    assert not figures_of(trace.notes, "steps_by_step_num")


@pytest.mark.parametrize("name", ["train", "test A", "TraceContext"])
def test_words_in_names_do_not_make_marks(name: str) -> None:
    trace = read([bar(name, EPOCH, 2_000_000)])
    assert set(trace.breakdown["runtime_ns"]) == {2_000_000_000}
