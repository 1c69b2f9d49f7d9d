"""TensorBoard event files: content from summary writers, and errors for damaged ones."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.mutants.attack import outcome
from tests.real_traces import DATA
from tests.support.texts import raises_id
from tfvis_nb.reading.tensorboard import masked
from tfvis_nb.texts import Text, id_of

RUN = (DATA / "local_mlp_step1.pb").read_bytes()


def field(number: int, content: bytes) -> bytes:
    size, length = len(content), b""
    while size >= 0x80:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def record(content: bytes) -> bytes:
    length = struct.pack("<Q", len(content))
    return length + struct.pack("<I", masked(length)) + content + struct.pack("<I", masked(content))


def tagged(tag: bytes, run: bytes) -> bytes:
    return record(b"\x09" + bytes(8) + field(8, field(1, tag) + field(2, run)))


VERSION = record(b"\x09" + bytes(8) + field(3, b"brain.Event:2"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What TensorFlow's own writer makes of two traced runs, a summary, a graph and a run without a trace."""
    import tensorflow as tf
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    folder = tmp_path_factory.mktemp("logs")
    v1 = tf.compat.v1
    with v1.Graph().as_default() as graph:
        v1.placeholder(tf.float32, [2], "x")
        writer = v1.summary.FileWriter(str(folder), graph)
        writer.add_run_metadata(RunMetadata.FromString(RUN), "step_7", 7)
        writer.add_summary(v1.Summary(value=[v1.Summary.Value(tag="loss", simple_value=1.0)]), 7)
        writer.add_run_metadata(RunMetadata(), "step_8", 8)
        writer.add_run_metadata(RunMetadata.FromString(RUN), "step \u00e9", 17)
        writer.close()
    (path,) = folder.iterdir()
    return path


@pytest.mark.tensorflow
def test_each_tag_is_a_step(written: Path) -> None:
    trace = tv.read_trace(written)
    expected = tv.read_trace(RUN)
    assert trace.steps["events"].tolist() == [len(expected.events)] * 2
    assert trace.steps["label"].tolist() == ["step_7", "step \u00e9"]
    assert trace.title == written.name
    assert trace.events[trace.events["step"] == 1]["name"].tolist() == expected.events["name"].tolist()
    assert Text("runs_without_events", empty=1, runs=3) in trace.notes


@pytest.mark.tensorflow
def test_a_file_that_is_still_written(written: Path) -> None:
    data = written.read_bytes()
    trace = tv.read_trace(data[:-100])
    assert len(trace.steps) == 1
    assert any(id_of(note) == "event_file_cut_off" for note in trace.notes)


def test_the_writer_here_is_read() -> None:
    assert tv.read_trace(VERSION + tagged(b"a", RUN)).step_labels == {0: "a"}


def test_without_a_traced_run() -> None:
    with raises_id(tv.EmptyTraceError, "event_file_without_runs", events="1 of file version"):
        tv.read_trace(VERSION)
    with raises_id(tv.EmptyTraceError, "event_file_without_runs"):
        tv.read_trace(VERSION + tagged(b"a", b""))


@pytest.mark.parametrize("place", range(0, 30, 3))
def test_a_wrong_checksum_is_named(place: int) -> None:
    good = VERSION + tagged(b"a", RUN)
    at = len(VERSION) + place
    bad = good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :]
    key = "record_length_checksum_wrong" if place < 12 else "record_checksum_wrong"
    with raises_id(tv.TraceFormatError, key, byte=len(VERSION)):
        tv.read_trace(bad)


def test_damage_inside_a_record_names_its_tag() -> None:
    with raises_id(
        tv.TraceFormatError,
        "message_damaged",
        what="a binary RunMetadata",
        damage=Text(
            "in_message_at_byte", path="step_stats", byte=2, reason=Text("field_too_long", number=12, bytes=4)
        ),
    ):
        tv.read_trace(VERSION + tagged(b"a", b"\x0a\x05abcde"))
    with raises_id(
        tv.TraceFormatError,
        "event_damaged",
        reason=Text("at_byte", byte=52, reason=Text("wire_type_unused", number=1, wire_type=7)),
    ):
        tv.read_trace(VERSION + record(b"\x0f"))


@given(
    st.lists(
        st.binary(max_size=40) | st.binary(max_size=40).map(lambda run: field(8, field(2, run))), max_size=4
    )
)
def test_any_events(contents: list[bytes]) -> None:
    assert outcome(VERSION + b"".join(map(record, contents))) in ("EmptyTraceError", "TraceFormatError")


@given(st.binary(max_size=200), st.integers(0, 60))
def test_any_bytes_behind_a_good_beginning(data: bytes, end: int) -> None:
    good = VERSION + tagged(b"a", RUN)
    assert outcome(good + data) in ("a sound trace", "TraceFormatError")
    assert outcome(good[:end] + data) in ("EmptyTraceError", "TraceFormatError")


def slow(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    value = state ^ 0xFFFFFFFF
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


@given(st.binary(max_size=300), st.integers(0, 30))
def test_the_checksum_of_any_bytes(data: bytes, times: int) -> None:
    content = data * times
    assert masked(content) == slow(content)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_the_checksum_of_large_records(size: int) -> None:
    content = np.random.default_rng(size).bytes(size)
    assert masked(memoryview(content)) == slow(content)


def test_records_of_run_metadata_are_steps() -> None:
    step = b"".join(record(content) for content in (RUN, b"", RUN))
    trace = tv.read_trace(step)
    assert trace.steps["events"].tolist() == [63, 63]
    with raises_id(tv.EmptyTraceError, "records_without_runs", records=2):
        tv.read_trace(record(field(1, field(1, field(1, b"label")))) * 2)


@pytest.mark.parametrize("tag", [b"epoch_loss", b"epoch_accuracy", b"evaluation_loss_vs_iterations"])
def test_logs_of_keras_are_told_of_profile_batch(tag: bytes, tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.17.host.v2"
    path.write_bytes(VERSION + record(b"\x09" + bytes(8) + field(5, field(1, field(1, tag)))))
    advice = Text("keras_profile_missing")
    for source in (path, tmp_path):
        with raises_id(tv.EmptyTraceError, "event_file_without_runs", advice=advice):
            tv.read_trace(source)


def test_an_event_file_beside_a_profile_is_no_step(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.17.host.v2").write_bytes(VERSION)
    (tmp_path / "host.xplane.pb").write_bytes((DATA / "cpu_jax.xplane.pb").read_bytes())
    trace = tv.read_trace(tmp_path)
    assert len(trace.steps[trace.steps["step"] >= 0]) == 3
    notes = {id_of(note) for note in trace.notes}
    assert "foreign_files_left_out" in notes
    assert "steps_without_events" not in notes


@pytest.mark.tensorflow
def test_summaries_of_tensorflow_2_are_read(tmp_path: Path) -> None:
    import tensorflow as tf
    from tensorflow.core.protobuf.config_pb2 import RunMetadata
    from tensorflow.python.ops import summary_ops_v2

    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        summary_ops_v2.run_metadata("step_3", RunMetadata.FromString(RUN), step=3)
        summary_ops_v2.run_metadata("step_4", RunMetadata.FromString(RUN), step=4)
    trace = tv.read_trace(tmp_path)
    assert trace.steps["events"].tolist() == [63, 63]
    assert trace.steps["label"].tolist() == ["step_3", "step_4"]
