"""Trace events of every program we know, and of any other."""

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, each, step_stats_files
from tests.support.texts import figures_of, raises_id
from tfvis_nb import events as event_table
from tfvis_nb.texts import Text, id_of

SMALL = [
    path
    for path in step_stats_files()
    if path.name.endswith((".pb", ".pb.xz")) and path.stat().st_size < 500_000
]
TOLD = ["step", "task", "device", "lane", "kind", "name", "op"]


def read(*events: dict[str, Any], **keys: Any) -> tv.Trace:
    trace = tv.read_trace(json.dumps({"traceEvents": events, **keys}).encode())
    event_table.check(trace.events)
    return trace


def bar(name: str, ts: float, dur: float, pid: Any = 1, tid: Any = 1, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


def named(what: str, name: str, pid: Any, tid: Any = 0) -> dict[str, Any]:
    return {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": {"name": name}}


def rows(trace: tv.Trace, *columns: str) -> list[Any]:
    return trace.events[list(columns)].astype(object).to_numpy().tolist()


def by_timeline_py(path: Path) -> bytes:
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.client.timeline import Timeline

    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    step_stats = config_pb2.RunMetadata.FromString(data).step_stats
    text: str = Timeline(step_stats).generate_chrome_trace_format(show_dataflow=True, show_memory=True)
    return text.encode()


def as_timeline_py_tells(trace: tv.Trace) -> pd.DataFrame:
    """Return the rows without the data that timeline.py loses."""
    table = trace.events[TOLD].astype(str)
    table["start"] = trace.events["start_ns"] // 1000
    table["duration"] = (trace.events["start_ns"] + trace.events["duration_ns"]) // 1000 - table["start"]
    table.loc[table["kind"] == "transfer", "name"] = "the tensor"
    table.loc[table["kind"] == "host", "lane"] = "the thread"
    # It takes the name of a kernel that no op launched for a node and its op.
    table["name"] = table["name"].str.replace(r"::.*", "", regex=True)
    return table


OF_CLOCKS = {
    "gpu_clock_estimated",
    "gpu_clock_unknown",
    "gpu_launch_times_aligned",
    "gpu_launch_times_unknown",
    "gpu_times_aligned",
}
"""Notes of a GPU whose clock was not the host's."""


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", each(SMALL))
def test_what_timeline_py_wrote_gives_the_rows_of_its_source(path: Path) -> None:
    expected, made = tv.read_trace(path), tv.read_trace(by_timeline_py(path))
    tables = [as_timeline_py_tells(trace) for trace in (expected, made)]
    if any(id_of(note) in OF_CLOCKS for trace in (expected, made) for note in trace.notes):
        # Without launch times the repair of such a clock is an estimate.
        for table in tables:
            table.loc[table["kind"].isin(["kernel", "memcpy", "memset", "sync"]), "start"] = 0
    theirs, ours = (table.sort_values([*table.columns]).reset_index(drop=True) for table in tables)
    pd.testing.assert_frame_equal(ours, theirs)


@pytest.mark.tensorflow
def test_memory_of_timeline_py_gives_outputs() -> None:
    made = tv.read_trace(by_timeline_py(DATA / "local_mlp_step1.pb"))
    expected = tv.read_trace(DATA / "local_mlp_step1.pb")
    one, other = (t.events.set_index("name")["bytes"].sort_index() for t in (made, expected))
    pd.testing.assert_series_equal(one, other)
    assert made.nested is not None
    (shape,) = {
        str(outputs[0]["shape"])
        for name, outputs in zip(made.events["name"], made.nested["outputs"].to_pylist(), strict=True)
        if name == "_arg_x_0_0"
    }
    assert shape.startswith("[")


def test_inputs_of_timeline_py_become_edges() -> None:
    trace = tv.read_trace(DATA / "timeline_tf10_gpu.json")
    assert len(trace.edges) > 10
    (copy,) = trace.events.index[trace.events["lane"] == "memcpy"]
    assert trace.events.loc[copy, "name"] == "MatMul"
    assert trace.events["kind"].value_counts().to_dict() == {"op": 13, "kernel": 7, "memcpy": 2}


def test_merged_steps_come_apart() -> None:
    trace = tv.read_trace(DATA / "timeline_tf10_cpu_5_steps.json.xz")
    assert trace.steps["events"].tolist() == [67] * 5
    assert any(id_of(note) == "steps_by_source_rows" for note in trace.notes)
    starts, ends = trace.steps["start_ns"].tolist(), trace.steps["end_ns"].tolist()
    assert all(end <= start for end, start in zip(ends[:-1], starts[1:], strict=True))


def test_distributed_rows_that_share_a_thread() -> None:
    trace = tv.read_trace(DATA / "timeline_tf115_distributed.json")
    assert trace.lanes["lane"].value_counts().to_dict() == {"ops": 3, "recv": 3}
    assert int((trace.events["kind"] == "transfer").sum()) == 7
    assert trace.transfers["bytes"].isna().all()


def test_trace_viewer_of_tensorflow_2() -> None:
    trace = tv.read_trace(DATA / "tf2_host.trace.json")
    assert trace.events["kind"].value_counts()["op"] > 100
    row = trace.events[trace.events["name"] == "sequential_1/dense_3/BiasAdd/ReadVariableOp"].iloc[0]
    assert (row["op"], row["device"], row["kind"]) == ("ReadVariableOp", "/device:CPU:0", "op")
    assert trace.events["lane"].astype(str).str.startswith("tf_Compute/").any()
    assert (trace.events["step"] == 0).sum() == 81
    assert any(id_of(note) == "times_from_start" for note in trace.notes)


def test_trace_viewer_of_a_gpu() -> None:
    launched = {"correlation_id": 5, "tf_op": "dense/MatMul:MatMul", "kernel_details": "regs:3"}
    trace = read(
        named("process", "/device:GPU:0", 1),
        named("process", "/host:CPU", 2),
        named("thread", "Stream #13(Compute,MemcpyH2D)", 1, 13),
        named("thread", "TensorFlow Ops", 1, 99),
        named("thread", "python", 2, 7),
        bar("cuLaunchKernel", 10, 2, 2, 7, args={"correlation_id": "5"}),
        bar("sgemm", 20.5, 3.25, 1, 13, args=launched),
        bar("MemcpyH2D", 30, 1, 1, 13, args={"memcpy_details": "kind_src:pinned size:64 dest:0 async:1"}),
        bar("ncclAllReduce", 33, 1, 1, 13),
        bar("Memset", 35, 1, 1, 13),
        bar("MatMul", 20.5, 3.25, 1, 99),
    )
    columns = ["lane", "kind", "name", "op", "start_ns", "duration_ns"]
    assert rows(trace, *columns) == [
        ["python", "host", "cuLaunchKernel", "cuLaunchKernel", 10_000, 2000],
        ["stream:13", "kernel", "dense/MatMul", "MatMul", 20_500, 3250],
        ["memcpy H2D", "memcpy", "MemcpyH2D", "MemcpyH2D", 30_000, 1000],
        ["stream:13", "collective", "ncclAllReduce", "ncclAllReduce", 33_000, 1000],
        ["memset", "memset", "Memset", "Memset", 35_000, 1000],
    ]
    kernel, copy = trace.events.loc[1], trace.events.loc[2]
    assert (kernel["scheduled_ns"], kernel["detail"]) == (10_000, "sgemm regs:3")
    assert (copy["bytes"], copy["source"], copy["destination"]) == (64, "/device:CPU:0", "/device:GPU:0")
    assert [note["rows"] for note in figures_of(trace.notes, "derived_rows_left_out")] == [1]


def test_kineto_kernels_are_named_for_their_ops() -> None:
    trace = tv.read_trace(DATA / "kineto_rank0.json.xz")
    kernels = trace.events[trace.events["kind"] == "kernel"]
    assert kernels["op"].astype(str).str.startswith(("aten::", "fbgemm::", "autograd")).mean() > 0.9
    assert kernels["scheduled_ns"].notna().all()
    assert (kernels["scheduled_ns"] <= kernels["start_ns"]).mean() > 0.99
    assert set(trace.events["task"]) == {"/job:worker/replica:0/task:0"}
    assert len(trace.steps[trace.steps["step"] >= 0]) == 2
    assert trace.transfers["bytes"].notna().all()


def test_horovod_tells_waiting_from_communicating() -> None:
    trace = tv.read_trace(DATA / "horovod_timeline.json.xz")
    collectives = trace.events[trace.events["kind"] == "collective"]
    waits = collectives["start_ns"] - collectives["scheduled_ns"]
    negotiated = trace.events[trace.events["lane"] == "negotiate"]
    assert len(collectives) == len(negotiated) == 54
    assert (waits >= 0).all()
    loss = collectives[collectives["name"] == "avg_loss"]
    assert set(loss["op"]) == {"HorovodAllreduce"}
    assert set(loss["bytes"]) == {4}
    # B 1795214630618600 us + 1656960: rank 0 of the straggler run waited 207 ms for rank 1.
    assert waits[loss.index].max() > 150_000_000
    # Starts of cycles are instants.
    assert (trace.events["lane"] == "cycles").sum() == 817


def test_any_other_program() -> None:
    trace = read(
        named("process", "renderer", 7),
        bar("draw", 5, 2, 7, "main", cat="gfx", args={"frame": 3, "parts": [1, 2]}),
        {"ph": "B", "name": "outer", "ts": 6, "pid": 7, "tid": 9},
        {"ph": "B", "name": "inner", "ts": 7, "pid": 7, "tid": 9},
        {"ph": "E", "ts": 8, "pid": 7, "tid": 9, "args": {"ok": True}},
        {"ph": "E", "ts": 9.5, "pid": 7, "tid": 9},
        {"ph": "E", "ts": 9.5, "pid": 7, "tid": 9},
        {"ph": "C", "name": "memory", "ts": 6, "pid": 7, "args": {"a": 1}},
        {"ph": "c", "ts": 6},
        {},
    )
    assert rows(trace, "device", "lane", "name", "op", "start_ns", "duration_ns", "detail") == [
        ["renderer", "main", "draw", "gfx", 5000, 2000, "frame=3 parts=[1, 2]"],
        ["renderer", "thread 9", "outer", "", 6000, 3500, ""],
        ["renderer", "thread 9", "inner", "", 7000, 1000, "ok=True"],
    ]
    assert set(trace.notes) >= {
        Text("ends_left_out", bars=1),
        Text("phase_left_out", bars=1, phase="c"),
    }


def test_bars_without_an_end_last_to_the_end() -> None:
    trace = read({"ph": "B", "name": "a", "ts": 1, "pid": 1, "tid": 1}, bar("b", 2, 8))
    assert rows(trace, "name", "duration_ns") == [["a", 9000], ["b", 8000]]
    assert Text("bars_without_end", bars=1) in trace.notes


def test_times_are_exact() -> None:
    text = b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1682725898236567.123, "dur": 0.001}]}'
    assert rows(tv.read_trace(text), "start_ns", "duration_ns") == [[1682725898236567123, 1]]


@pytest.mark.parametrize("time", [None, "soon", [], {}, 1e300, float("nan")])
def test_bars_without_a_time_are_left_out_and_counted(time: Any) -> None:
    trace = read(bar("a", 1, 1), bar("b", time, 1), bar("c", 3, time))
    assert rows(trace, "name") == [["a"]]
    assert any(id_of(note) == "unusable_bars_left_out" for note in trace.notes)


def test_strange_values_where_texts_and_numbers_belong() -> None:
    trace = read(
        bar("a", 1, 1, pid=[1], tid={"x": 1}),
        bar(7, 2, 1, pid="1", tid=None, cat=["c"], args={"z": None}),  # type: ignore[arg-type]
        bar("\ud800", 3, 1, pid=1.5, args=[1]),
        bar("far", 10**15, 1),
        bar("backwards", 5, -1),
    )
    assert rows(trace, "name") == [["a"], ["7"], ["\N{REPLACEMENT CHARACTER}"]]
    assert any(id_of(note) == "rows_set_aside" for note in trace.notes)
    assert Text("backward_bars_left_out", bars=1) in trace.notes
    assert not any(id_of(note) == "unusable_bars_left_out" for note in trace.notes)


@pytest.mark.parametrize("events", [[], [{}], [{"ph": "C", "ts": 1}], [{}, 7, None]])
def test_no_bars_are_an_empty_trace(events: list[Any]) -> None:
    with raises_id(tv.EmptyTraceError, "no_bars"):
        tv.read_trace(json.dumps(events).encode())


@pytest.mark.parametrize(
    ("bars", "said"),
    [
        ([("a", 1e300, 1)], Text("unusable_bars_left_out", bars=1)),
        ([("a", float("inf"), 1), ("b", None, 1)], Text("unusable_bars_left_out", bars=2)),
        ([("a", 5, -1)], Text("backward_bars_left_out", bars=1)),
    ],
)
def test_bars_that_cannot_be_drawn(bars: list[tuple[str, Any, Any]], said: str) -> None:
    with pytest.raises(tv.EmptyTraceError, match=f": {said}"):
        read(*(bar(*one) for one in bars))


def test_documents_behind_each_other_are_steps() -> None:
    one = json.dumps({"traceEvents": [bar("a", 1, 1)]}).encode()
    assert tv.read_trace(one + b"\n" + one).events["step"].tolist() == [0, 1]


def test_compressed_without_saying_so() -> None:
    path = DATA / "tf2_host.trace.json"
    assert path.read_bytes().startswith(b"\x1f\x8b")
    assert tv.read_trace(path).events.equals(tv.read_trace(gzip.decompress(path.read_bytes())).events)
