"""Notes: nothing is lost, repaired or read twice without a word."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.protobuf_bytes import field, number
from tests.real_traces import SHARED, real_trace
from tests.support.step_stats import ONE_OP, one_op
from tests.support.texts import figures_of
from tfvis_nb import events
from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.sources.unpacking import unpack
from tfvis_nb.texts import Text, id_of


def test_skipped_text_fields_are_noted(data: Path) -> None:
    (note,) = tv.read_trace(data / "simple_stepstats.pbtxt").notes
    assert id_of(note) == "fields_skipped"


def test_unknown_devices_and_labels_are_kept_and_noted() -> None:
    trace = tv.read_trace(one_op(label="what is this", device="/somewhere:else"))
    event = trace.events.iloc[0]
    assert (event["lane"], event["device"], event["kind"]) == ("/somewhere:else", "", "op")
    assert event["detail"] == "what is this"
    assert any(id_of(note) == "unknown_devices" for note in trace.notes)
    assert any(id_of(note) == "labels_unknown" for note in trace.notes)


GPU = "/job:worker/replica:0/task:1/device:GPU:0"


def test_ops_of_a_gpu_without_kernels_are_noted(data: Path, tmp_path: Path) -> None:
    key = "gpu_ops_without_kernels"
    matmul = one_op(label="m = MatMul(a, b)", device=GPU)
    lacking = {"task": "/job:worker/replica:0/task:1", "ops": 1, "steps": 1}
    trace = tv.read_trace([matmul, one_op(50), data / "gpu_tf221_mlp.pb.xz"])
    assert figures_of(trace.notes, key) == [lacking]
    kept = tv.read_trace(trace.to_parquet(tmp_path / "kept.parquet"))
    assert figures_of(kept.notes, key) == [lacking]
    assert figures_of(tv.read_trace(trace.to_chrome_trace().encode()).notes, key) == [lacking]
    assert figures_of(tv.read_trace(one_op(label="c = Const()", device=GPU)).notes, key) == []
    assert figures_of(tv.read_trace(matmul.replace(b"GPU", b"CPU")).notes, key) == []


@pytest.mark.parametrize("kind", ["TPU", "DML", "XPU", "HPU", "NPU", "MUSA"])
def test_ops_of_other_accelerators_are_noted(kind: str) -> None:
    device = GPU.replace("GPU", kind)
    trace = tv.read_trace(one_op(label="m = MatMul(a, b)", device=device))
    lacking = {"type": kind, "task": "/job:worker/replica:0/task:1", "ops": 1, "steps": 1}
    assert figures_of(trace.notes, "accelerator_ops_without_kernels") == [lacking]
    assert not figures_of(trace.notes, "gpu_ops_without_kernels")
    host = tv.read_trace(one_op(label="m = MatMul(a, b)", device=GPU.replace("GPU", "XLA_CPU")))
    assert not figures_of(host.notes, "accelerator_ops_without_kernels")


@pytest.mark.collection("h200/mlp_software_trace.pb")
def test_a_run_traced_without_its_gpu_is_noted() -> None:
    trace = real_trace(SHARED / "h200" / "mlp_software_trace.pb")
    (note,) = trace.notes
    assert id_of(note) == "gpu_ops_without_kernels"


def profile(data: Path, keep: Callable[[bytes, bytes], bool], reported: bytes = b"") -> list[str]:
    """Return the notes of a GPU profile with only some lines of some planes."""
    whole = bytes(unpack((data / "gpu_tf218_function.xplane.pb.xz").read_bytes(), "a.pb.xz"))
    planes = []
    for part in wire.fields(whole):
        fields = list(wire.fields(whole, part.start, part.end)) if part.number == 1 else []
        names = [whole[one.start : one.end] for one in fields if one.number == 2]
        planes += [
            b"".join(
                whole[one.position : one.end]
                for one in fields
                if one.number != 3 or keep(name, whole[one.start : one.end])
            )
            for name in names
        ]
    return tv.read_trace(b"".join(field(1, plane) for plane in planes) + reported).notes


def of_host(name: bytes, _: bytes) -> bool:
    return name == b"/host:CPU"


def of_one_thread(name: bytes, line: bytes) -> bool:
    """Tell a thread that launches no kernels."""
    return name == b"/host:CPU" and b"tf_Device_Event_Manager" in line[:99]


def test_kernels_that_a_profile_lacks_are_noted(data: Path) -> None:
    missing, empty = "profile_without_kernels", "gpu_planes_empty"
    whole = profile(data, lambda *_: True)
    assert not figures_of(whole, missing) + figures_of(whole, empty)
    launched = {"why": Text("kernels_launched", kernels=390)}
    for keep in (of_host, lambda _, line: b"Stream #13" not in line[:99]):
        assert figures_of(profile(data, keep), missing) == [launched]
    assert figures_of(profile(data, of_one_thread), empty) == [{"planes": "/device:GPU:0"}]
    only_cpu = tv.read_trace(data / "cpu_tf221_keras_fit.xplane.pb.xz").notes
    assert not figures_of(only_cpu, missing) + figures_of(only_cpu, empty)


def test_gpu_memory_shows_that_a_profile_lacks_kernels() -> None:
    allocated = b"allocator_name", b"GPU_0_bfc", b"allocation_bytes"
    known = b"".join(
        field(5, number(1, place) + field(2, number(1, place) + field(2, name)))
        for place, name in enumerate(allocated, 1)
    )
    named = field(4, number(1, 1) + field(2, number(1, 1) + field(2, b"MemoryAllocation")))
    stats = field(4, number(1, 1) + number(7, 2)) + field(4, number(1, 3) + number(4, 512))
    line = field(3, field(2, b"thread") + field(4, number(1, 1) + number(2, 10) + number(3, 5) + stats))
    trace = tv.read_trace(field(1, field(2, b"/host:CPU") + line + named + known))
    why = Text("gpu_memory_allocated", tensors=1)
    assert figures_of(trace.notes, "profile_without_kernels") == [{"why": why}]


def test_errors_and_warnings_of_the_profiler_are_noted(data: Path) -> None:
    denied, dropped = b"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", b"#droppped events: 7\xff"
    reported = field(2, denied) * 2 + field(2, b"late") + field(3, dropped)
    notes = profile(data, of_one_thread, reported)
    assert figures_of(notes, "profiler_errors") == [{"messages": f"{denied.decode()}; late"}]
    assert figures_of(notes, "profiler_warnings") == [{"messages": "#droppped events: 7\ufffd"}]
    assert figures_of(notes, "profile_without_kernels") == [{"why": Text("gpu_profiling_failed")}]
    with_kernels = profile(data, lambda *_: True, reported)
    assert figures_of(with_kernels, "profiler_errors")
    assert not figures_of(with_kernels, "profile_without_kernels")


def test_parts_of_messages_that_are_not_read_are_noted(data: Path) -> None:
    key = "message_parts_left_out"
    known = (data / "local_mlp_step1.pb").read_bytes() + bytes.fromhex("120022002a00")
    assert figures_of(tv.read_trace(known).notes, key) == []
    (found,) = figures_of(tv.read_trace(known + bytes.fromhex("2001f20100")).notes, key)
    assert found["fields"] == "function_graphs, unknown fields"


@pytest.mark.parametrize("name", ["local_mlp_step1.pb", "gpu_tf221_mlp.pb.xz", "simple_stepstats.pbtxt"])
def test_a_file_that_a_run_was_written_into_twice(name: str, data: Path) -> None:
    content = unpack((data / name).read_bytes(), name)
    once, twice = tv.read_trace(bytes(content)), tv.read_trace(bytes(content) * 2)
    assert len(twice.events) == 2 * len(once.events)
    assert figures_of(twice.notes, "rows_twice") == [{"rows": len(once.events)}]
    assert not any(id_of(note) == "rows_twice" for note in once.notes)


def test_empty_steps_among_others_are_noted() -> None:
    trace = tv.read_trace([b"", one_op()])
    assert len(trace.events) == 1
    assert Text("steps_without_events", empty=1, steps=2, names="") in trace.notes


def test_the_file_without_events_is_named(tmp_path: Path) -> None:
    (tmp_path / "good.pb").write_bytes(one_op())
    (tmp_path / "empty.pb").write_bytes(b"")
    trace = tv.read_trace([tmp_path / "good.pb", tmp_path / "empty.pb"])
    assert trace.notes == [Text("steps_without_events", empty=1, steps=2, names=": empty.pb")]


def test_the_same_recording_twice_is_noted(tmp_path: Path) -> None:
    for name in ("a.pb", "copy.pb"):
        (tmp_path / name).write_bytes(one_op())
    (tmp_path / "b.pb").write_bytes(one_op(90))
    given = [tmp_path / name for name in ("a.pb", "b.pb", "copy.pb")]
    assert tv.read_trace(given).notes == [Text("recording_given_again", times=2, recording="a.pb")]
    trace = tv.read_trace(given[0])
    assert Text("recording_given_again", times=3, recording="a.pb") in tv.read_trace([trace] * 3).notes
    assert tv.read_trace(given[:2]).notes == []


def test_the_same_recording_in_another_form_is_noted(data: Path) -> None:
    given = [data / f"pickle_tf115_python2_protocol{name}" for name in ("0.pickle.xz", "1.pickle")]
    (noted,) = figures_of(tv.read_trace(given).notes, "recording_given_again")
    assert noted["times"] == 2


def test_documents_of_other_days_in_one_file_are_noted() -> None:
    one, other = (
        json.dumps({"traceEvents": [{"ph": "X", "name": "work", "ts": ts, "dur": 5}]})
        for ts in (10, 3 * 86_400 * 10**6)
    )
    notes = tv.read_trace((one + other).encode()).notes
    assert Text("documents_in_file", documents=2) in notes
    assert figures_of(notes, "recorded_days_apart") == [{"days": 2}]


def test_files_of_other_days_are_noted() -> None:
    day = 86_400 * 10**9

    def ran(title: str, start_ns: int) -> tv.Trace:
        table = events.build({"start_ns": [start_ns], "duration_ns": [day // 2], "kind": ["op"]})
        return tv.Trace(table, title=title)

    assert tv.read_trace([ran("a", 0), ran("b", day)]).notes == []
    assert tv.read_trace([ran("a", 3 * day), ran("a", 0)]).notes == []
    assert tv.read_trace([ran("a", 3 * day), ran("b", 0)]).notes == [Text("recorded_days_apart", days=2)]


def test_a_size_that_64_bits_cannot_hold_is_not_known() -> None:
    label = "[{}MB] edge_1_a from /job:a/replica:0/task:0/cpu:0 to /job:b/replica:0/task:0/cpu:0"
    trace = tv.read_trace([one_op(label=label.format(size)) for size in ("1.5", "999999999999999")])
    assert trace.events["bytes"].fillna(-1).tolist() == [1_572_864, -1]
    assert trace.events["kind"].tolist() == ["transfer"] * 2
    assert figures_of(trace.notes, "sizes_rounded") == [{"transfers": 1}]


@pytest.mark.parametrize(
    ("times", "duration", "note"),
    [
        ("all_end_rel_micros: -3", 0, Text("durations_absurd", rows=1)),
        (
            "all_end_rel_micros: -3 op_end_rel_micros: 2",
            2000,
            Text("kernel_calls_longer", rows=1),
        ),
        (
            "all_end_rel_micros: 5 op_start_rel_micros: 4 op_end_rel_micros: 2",
            5000,
            Text("kernel_times_impossible", ops=1),
        ),
        (
            "all_end_rel_micros: 5 scheduled_micros: 1500000000000000000",
            5000,
            Text("scheduled_in_nanoseconds", rows=1),
        ),
    ],
)
def test_every_repair_is_noted(times: str, duration: int, note: str) -> None:
    text = ONE_OP.replace(b"all_end_rel_micros: 2", times.encode())
    trace = tv.read_trace(text.replace(b"micros: 70", b"micros: 1500000000000000"))
    assert trace.events["duration_ns"].tolist() == [duration]
    assert trace.notes == [note]
