"""What read_trace makes of XSpaces: lanes, steps, links, several hosts, damaged files."""

import lzma
import shutil
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.protobuf_bytes import field, number
from tests.support.texts import figures_of, raises_id
from tfvis_nb.analysis.events.bar_categories import categories
from tfvis_nb.core.palette import CATEGORIES
from tfvis_nb.texts import Text, id_of

WORKERS = ("gpu_tf221_worker0.xplane.pb.xz", "gpu_tf221_worker1.xplane.pb.xz")
FUNCTION = "gpu_tf218_function.xplane.pb.xz"
KERAS = "cpu_tf221_keras_fit.xplane.pb.xz"


def lengths_on_threads(trace: tv.Trace, step: int) -> int:
    """Return how long the program's own thread was busy with a step (ns)."""
    group = trace.events[(trace.events["step"] == step) & trace.events["lane"].isin(["python", "python3"])]
    return int((group["start_ns"] + group["duration_ns"]).max() - group["start_ns"].min())


def test_marked_steps(data: Path) -> None:
    trace = tv.read_trace(data / FUNCTION)
    steps = trace.steps.set_index("step")
    assert steps.loc[0:, "label"].tolist() == [f"train {number}" for number in range(5)]
    marks = trace.events[trace.events["name"] == "train"].reset_index(drop=True)
    assert marks["step"].tolist() == [0, 1, 2, 3, 4]
    for step, length in enumerate(marks["duration_ns"].tolist()):
        assert lengths_on_threads(trace, step) == length
    kernels = trace.events[trace.events["kind"] == "kernel"]
    assert (kernels["step"] >= 0).all()
    # Each step of one function launches the same kernels.
    assert len(set(kernels.groupby("step")["name"].agg(sorted).map(tuple))) == 1


def test_steps_are_calls_where_the_program_marks_none(data: Path) -> None:
    trace = tv.read_trace(data / KERAS)
    labels = trace.steps.set_index("step").loc[0:, "label"]
    assert labels.str.contains("multi_step_on_iterator").sum() == 8
    updates = trace.events[trace.events["op"] == "AssignAddVariableOp"]
    assert len(updates)
    assert (updates["step"] >= 0).all()


def test_lanes_and_kinds(data: Path) -> None:
    trace = tv.read_trace(data / WORKERS[0])
    of_device = trace.lanes.groupby("device", observed=True)["lane"].apply(list)
    assert of_device["/device:GPU:0"] == ["stream:13", "memcpy D2D", "memcpy D2H", "memcpy H2D", "memset"]
    assert {"python3", "tf_Compute/1", "tf_Compute/2", "collective_ops/1"} <= set(of_device["/device:CPU:0"])
    kinds = trace.events.groupby("kind", observed=True).size().to_dict()
    assert {name: kinds[name] for name in ("kernel", "memcpy", "memset", "collective")} == {
        "kernel": 228,
        "memcpy": 48,
        "memset": 24,
        "collective": 6,
    }
    moved = trace.transfers.groupby("source", observed=True)["bytes"].sum()
    assert moved["/device:CPU:0"] > 0
    assert moved["/device:GPU:0"] > 0
    assert trace.events["bytes"][trace.events["kind"] == "memcpy"].notna().all()


def test_kernels_are_linked_with_their_launches(data: Path) -> None:
    trace = tv.read_trace(data / FUNCTION)
    edges = trace.edges[trace.edges["kind"] == "launch"]
    on_device = np.flatnonzero(trace.events["kind"].isin(["kernel", "memcpy", "memset"]))
    assert sorted(edges["target"]) == on_device.tolist()
    source, target = (trace.events.iloc[edges[end].to_numpy()] for end in ("source", "target"))
    assert (source["op"] == "launch").all()
    assert (source["start_ns"].to_numpy() == target["scheduled_ns"].to_numpy(np.int64)).all()
    assert (source["start_ns"].to_numpy() <= target["start_ns"].to_numpy()).all()
    control = trace.edges[trace.edges["kind"] == "control"]
    runs = trace.events.iloc[control["source"].to_numpy()]["name"]
    assert "FunctionRun" in set(runs)


def test_links_of_two_profiles_do_not_mix(data: Path) -> None:
    one = tv.read_trace(data / FUNCTION)
    other = tv.read_trace(data / WORKERS[0])
    both = tv.read_trace([data / FUNCTION, data / WORKERS[0]])
    assert both.events["task"].unique().tolist() == [""]
    assert len(both.edges) == len(one.edges) + len(other.edges)
    assert both.steps["label"].tolist() == [
        "",
        *(f"train {n}" for n in range(5)),
        *(f"train {n}" for n in range(6)),
    ]


def test_thread_pools_are_left_out_unless_asked_for(data: Path) -> None:
    trace = tv.read_trace(data / KERAS)
    assert not trace.events["name"].str.startswith("ThreadpoolListener").any()
    (left_out,) = figures_of(trace.notes, "threadpool_events_left_out")
    whole = tv.read_trace(data / KERAS, threadpool=True)
    noise = whole.events["name"].str.startswith("ThreadpoolListener")
    assert left_out["events"] == noise.sum()
    assert len(whole.events) == len(trace.events) + noise.sum()
    assert (whole.events["step"][~noise].to_numpy() == trace.events["step"].to_numpy()).all()


def test_eager_ops_are_ops(data: Path) -> None:
    events = tv.read_trace(data / KERAS).events
    eager = events[events["detail"].str.startswith("EagerLocalExecute: ")]
    assert set(eager["kind"]) == {"op"}
    assert (eager["detail"] == "EagerLocalExecute: " + eager["op"].astype("str")).all()
    assert (eager["name"] == eager["op"].astype("str")).all()
    counts = eager["op"].value_counts()
    assert (len(eager), counts["OptionalGetValue"], counts["DivNoNan"]) == (38, 8, 1)
    functions = events[events["op"] == "EagerLocalExecute"]
    assert set(functions["kind"]) == {"host"}
    assert set(functions["name"]) == {"EagerLocalExecute: __inference_multi_step_on_iterator_941"}
    for wrapper in ("EagerExecute", "EagerKernelExecute", "KernelAndDeviceFunc::Run"):
        assert set(events["kind"][events["name"] == wrapper]) == {"host"}


def test_an_eager_op_with_a_row_of_its_own_is_counted_once() -> None:
    names = ["EagerExecute", "EagerLocalExecute: MatMul", "MatMul:MatMul", "EagerLocalExecute: Mine"]
    written = b"".join(
        field(4, number(1, place + 1) + field(2, number(1, place + 1) + field(2, name.encode())))
        for place, name in enumerate(names)
    )
    events = b"".join(
        field(4, number(1, which) + number(2, at * 1000) + number(3, length * 1000) + is_func)
        for which, at, length, is_func in (
            (1, 0, 90, field(4, number(1, 1) + number(4, 0))),
            (2, 10, 70, b""),
            (3, 20, 50, b""),
            (2, 100, 30, b""),
            (3, 140, 5, b""),
            (1, 200, 90, field(4, number(1, 1) + number(4, 1))),
            (4, 210, 70, b""),
        )
    )
    stat = field(5, number(1, 1) + field(2, number(1, 1) + field(2, b"is_func")))
    line = field(3, field(2, b"python") + events)
    table = tv.read_trace(field(1, field(2, b"/host:CPU") + line + written + stat)).events
    assert table[["start_ns", "kind", "name", "op"]].to_numpy().tolist() == [
        [0, "host", "EagerExecute", "EagerExecute"],
        [10, "host", "EagerLocalExecute: MatMul", "EagerLocalExecute"],
        [20, "op", "MatMul", "MatMul"],
        [100, "op", "MatMul", "MatMul"],
        [140, "op", "MatMul", "MatMul"],
        [200, "host", "EagerExecute", "EagerExecute"],
        [210, "host", "EagerLocalExecute: Mine", "EagerLocalExecute"],
    ]


@pytest.mark.parametrize(("on_gpu", "steps"), [(None, [0, 1]), (8, [-1, 0, 0])])
def test_numbered_functions_on_devices_are_steps(on_gpu: int | None, steps: list[int]) -> None:
    def plane(name: bytes, line: bytes, groups: list[tuple[int, int]]) -> bytes:
        written = b"".join(
            field(
                4,
                number(1, 1)
                + number(2, at * 1000)
                + number(3, 9000)
                + field(4, number(1, 1) + number(4, group)),
            )
            for at, group in groups
        )
        named = field(4, number(1, 1) + field(2, number(1, 1) + field(2, b"work")))
        stat = field(5, number(1, 1) + field(2, number(1, 1) + field(2, b"group_id")))
        return field(1, field(2, name) + field(3, field(2, line) + written) + named + stat)

    written = plane(b"/host:CPU", b"python", [(0, 7), (100, 8)])
    if on_gpu is not None:
        written += plane(b"/device:GPU:0", b"Stream #13", [(105, on_gpu)])
    assert tv.read_trace(written).events["step"].tolist() == steps


def test_input_pipelines_are_input(data: Path) -> None:
    trace = tv.read_trace(data / KERAS)
    category = pd.Series([CATEGORIES[number] for number in categories(trace)])
    for pattern in (r"Iterator::Root", "IteratorGetNextOp::DoCompute", "PrefetchProduce"):
        chosen = trace.events["name"].str.match(pattern)
        assert chosen.any()
        assert set(category[chosen]) <= {"host input", "host preprocessing"}


@pytest.mark.slow
def test_two_hosts_are_two_tasks_of_one_run(data: Path, tmp_path: Path) -> None:
    for name in WORKERS:
        shutil.copy(data / name, tmp_path)
    expected = sum(len(tv.read_trace(data / name).events) for name in WORKERS)
    for source in ([data / name for name in WORKERS], tmp_path, f"{tmp_path}/*worker*"):
        trace = tv.read_trace(source)
        assert len(trace.events) == expected
        assert trace.events["task"].cat.categories.tolist() == [
            f"/job:worker/replica:0/task:{number}" for number in range(2)
        ]
        assert trace.steps["label"].tolist() == ["", *(f"train {number}" for number in range(6))]
        together = trace.events[trace.events["kind"] == "collective"].groupby("step")["task"].nunique()
        assert together.tolist() == [2] * 6
        (kept,) = figures_of(trace.notes, "clocks_kept")
        assert kept["first"] == "worker 0"
        assert kept["tasks"].startswith("worker 1 (offset between -21.208 and +38.63 ms, according to 6 coll")
        assert [note for note in trace.notes if id_of(note) == "hosts_of_tasks"]
        devices = set(trace.events["device"].cat.categories) | set(trace.events["source"].cat.categories)
        assert all(name.startswith("/job:worker/replica:0/task:") for name in devices - {""})
        assert len([note for note in trace.notes if id_of(note) == "threadpool_events_left_out"]) == 1


def test_hosts_have_the_tasks_that_they_name(data: Path, tmp_path: Path) -> None:
    own = [len(tv.read_trace(data / name).events) for name in WORKERS]
    for name, other in zip(WORKERS, ("b.xplane.pb", "a.xplane.pb"), strict=True):
        (tmp_path / other).write_bytes(lzma.decompress((data / name).read_bytes()))
    first, last = tmp_path / "a.xplane.pb", tmp_path / "b.xplane.pb"
    for source in (tmp_path, [first, last], [last, first], [last.read_bytes(), first.read_bytes()]):
        trace = tv.read_trace(source)
        tasks = trace.events.groupby("task", observed=True).size()
        assert tasks.to_dict() == {f"/job:worker/replica:0/task:{n}": own[n] for n in range(2)}
    assert len(tv.read_trace([first, first.read_bytes()]).steps) > len(tv.read_trace(first).steps)


def test_hosts_without_tasks_are_numbered_in_any_order(data: Path, tmp_path: Path) -> None:
    whole = (data / "cpu_jax.xplane.pb").read_bytes()
    files = [tmp_path / name for name in ("x.pb", "y.pb", "z.pb")]
    for file, host in zip(files, (2, 10, 1), strict=True):
        file.write_bytes(whole.replace(field(4, b"vm"), field(4, f"host{host}".encode())))
    for order in permutations(files):
        (figures,) = figures_of(tv.read_trace(order).notes, "hosts_named")
        assert figures == {"hosts": "z.pb is task 0, x.pb is task 1, y.pb is task 2"}


def test_damaged_files_are_refused(data: Path) -> None:
    content = lzma.decompress((data / WORKERS[0]).read_bytes())
    with raises_id(tv.TraceFormatError, "message_cut_off"):
        tv.read_trace(content[: len(content) // 2])
    as_text = content.decode("utf-8", "replace").encode()
    with raises_id(
        tv.TraceFormatError,
        "not_utf8_any_more",
        damage=Text(
            "in_message_at_byte",
            path="XSpace",
            byte=33,
            reason=Text("field_too_long", number=1, bytes=6511135645013),
        ),
    ):
        tv.read_trace(as_text)


@pytest.mark.collection("third-party/xprof/tpu_inference_2.corrupt-utf8.xplane.pb.xz")
def test_a_file_that_its_repository_destroyed_is_refused(shared: Path) -> None:
    path = shared / "third-party/xprof/tpu_inference_2.corrupt-utf8.xplane.pb.xz"
    with raises_id(
        tv.TraceFormatError,
        "not_utf8_any_more",
        damage=Text(
            "in_message_at_byte",
            path="XSpace",
            byte=0,
            reason=Text("field_too_long", number=1, bytes=28501366966339),
        ),
    ):
        tv.read_trace(path)


def test_a_file_that_a_profile_was_written_into_twice(data: Path) -> None:
    content = lzma.decompress((data / WORKERS[0]).read_bytes())
    once, twice = tv.read_trace(content), tv.read_trace(content * 2)
    assert len(twice.events) == 2 * len(once.events)
    (again,) = figures_of(twice.notes, "planes_given_again")
    assert "/host:CPU" in again["planes"]
    assert "/device:GPU:0" in again["same"]
    assert not any(id_of(note).startswith("planes_") for note in once.notes)
    alike = tv.read_trace(profile((0, 1)) + profile((9000, 1))).notes
    assert figures_of(alike, "planes_named_alike") == [{"planes": "/host:CPU"}]


def test_a_profile_without_events() -> None:
    with raises_id(tv.EmptyTraceError, "xspace_without_events"):
        tv.read_trace(b"\x0a\x0b\x12\x09/host:CPU")


@pytest.mark.collection("third-party/xprof/tpu_inference_2.xplane.pb")
def test_tpu(shared: Path) -> None:
    trace = tv.read_trace(shared / "third-party/xprof/tpu_inference_2.xplane.pb")
    first = trace.events[trace.events["device"] == "/device:TPU:0"]
    lanes = first.groupby("lane", observed=True).size().to_dict()
    assert lanes == {"XLA Modules": 105, "XLA Ops": 1504, "Async XLA Ops": 600, "XLA TraceMe": 108}
    assert set(first["kind"][first["lane"] == "Async XLA Ops"]) == {"memcpy"}
    assert (first["bytes"][first["lane"] == "Async XLA Ops"] > 0).all()
    reduced = first[first["op"] == "all-reduce"]
    assert set(reduced["kind"]) == {"collective"}
    assert set(first["kind"][first["name"] == "dependency-wait"]) == {"sync"}


@pytest.mark.collection("third-party/xprof/bert_8gpu_tf24.xplane.pb.xz")
def test_derived_lines_are_omitted_beside_streams(shared: Path) -> None:
    trace = tv.read_trace(shared / "third-party/xprof/bert_8gpu_tf24.xplane.pb.xz")
    assert Text("derived_lines_left_out", rows=6218) in trace.notes
    assert not trace.events["lane"].astype(str).str.contains("TensorFlow|Steps|XLA").any()
    assert any(id_of(note) == "no_start_time" for note in trace.notes)
    kernels = trace.events[trace.events["kind"] == "kernel"]
    assert set(kernels["device"]) == {"/device:GPU:4", "/device:GPU:6"}
    assert kernels["op"].isin(["RandomUniform", "GreaterEqual"]).any()


def profile(*events: tuple[int, int]) -> bytes:
    """Write an XSpace with one thread whose events have these offsets and durations (ps)."""
    written = b"".join(field(4, number(1, 1) + number(2, at) + number(3, length)) for at, length in events)
    name = field(4, number(1, 1) + field(2, number(1, 1) + field(2, b"work")))
    return field(1, field(2, b"/host:CPU") + field(3, field(2, b"main") + written) + name)


def test_times_are_rounded_down() -> None:
    trace = tv.read_trace(profile((1999, 2), (3001, 998), (4000, 0)))
    assert trace.events[["start_ns", "duration_ns"]].to_numpy().tolist() == [[1, 1], [3, 0], [4, 0]]
    assert trace.events["name"].tolist() == ["work"] * 3
    assert any(id_of(note) == "no_start_time" for note in trace.notes)


def test_absurd_times_are_set_aside() -> None:
    trace = tv.read_trace(profile((1000, 1000), (2**62, 1000), (3000, 2**62), (4000, 1000)))
    assert trace.events[["start_ns", "duration_ns"]].to_numpy().tolist() == [[1, 1], [3, 0], [4, 1]]
    assert Text("events_set_aside", events=1) in trace.notes
    assert Text("event_durations_absurd", events=1) in trace.notes


@given(st.lists(st.tuples(st.integers(0, 10**15), st.integers(0, 10**13)), min_size=1, max_size=40))
def test_any_events_are_kept(events: list[tuple[int, int]]) -> None:
    trace = tv.read_trace(profile(*events))
    expected = sorted((at // 1000, (at + length) // 1000 - at // 1000) for at, length in events)
    got = trace.events[["start_ns", "duration_ns"]].to_numpy().tolist()
    assert sorted(map(tuple, got)) == expected
    assert (trace.events["step"] == 0).all()
