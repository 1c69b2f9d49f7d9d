"""What read_trace takes, what it says about the rest, and that nothing is silently lost."""

from __future__ import annotations

import gzip
import io
import lzma
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support.texts import figures_of, raises_id
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.reading.sources.unpacking import unpack
from tfvis_nb.session.file.database import connect
from tfvis_nb.texts import Text, id_of

ONE_OP = b"""dev_stats {
  device: "/job:localhost/replica:0/task:0/device:CPU:0"
  node_stats { node_name: "a" timeline_label: "a = Const()" all_start_micros: 70 all_end_rel_micros: 2 }
}"""


def one_op(
    start: int = 70, label: str = "a = Const()", device: str = "/job:a/replica:0/task:0/cpu:0"
) -> bytes:
    """Return a serialised StepStats of one row."""
    step = schema.text_class("StepStats")()
    entry = step.dev_stats.add(device=device.encode())
    entry.node_stats.add(
        node_name=b"a", timeline_label=label.encode(), all_start_micros=start, all_end_rel_micros=2
    )
    data: bytes = step.SerializeToString()
    return data


def test_path_bytes_and_compressed_bytes_are_the_same(data: Path, tmp_path: Path) -> None:
    path = data / "local_mlp_step1.pb"
    content = path.read_bytes()
    (tmp_path / "renamed").write_bytes(gzip.compress(content))
    expected = tv.read_trace(path).events
    for source in (str(path), content, bytearray(content), lzma.compress(content), tmp_path / "renamed"):
        assert tv.read_trace(source).events.equals(expected)


@pytest.mark.tensorflow
def test_messages_of_tensorflow_and_iterables_of_them(data: Path) -> None:
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    metadata = RunMetadata.FromString((data / "local_mlp_step1.pb").read_bytes())
    one = tv.read_trace(metadata)
    assert one.events.equals(tv.read_trace(metadata.step_stats).events)
    assert one.events.equals(tv.read_trace(metadata.step_stats.SerializeToString()).events)
    two = tv.read_trace(iter([metadata, metadata.step_stats]))
    assert two.events["step"].value_counts().to_dict() == {0: len(one.events), 1: len(one.events)}
    assert two.events["start_ns"].is_monotonic_increasing


def test_steps_keep_the_order_they_are_given_in() -> None:
    trace = tv.read_trace([one_op(90), one_op(70), one_op(80)])
    assert trace.events[["step", "start_ns"]].to_numpy().tolist() == [[1, 70_000], [2, 80_000], [0, 90_000]]
    assert trace.steps["events"].tolist() == [1, 1, 1]


def test_a_trace_is_taken_as_it_is_and_joins_others(data: Path) -> None:
    one = tv.read_trace(data / "local_mlp_step1.pb")
    assert tv.read_trace(one) is one
    two = tv.read_trace([one, data / "gpu_tf221_mlp.pb.xz"])
    other = tv.read_trace(data / "gpu_tf221_mlp.pb.xz")
    again = two.events[two.events["step"] == 1]
    for name in ("name", "start_ns", "detail", "scheduled_ns"):
        assert again[name].tolist() == other.events[name].tolist()
    for name in ("device", "lane", "op"):
        assert again[name].astype(str).tolist() == other.events[name].astype(str).tolist()
    assert two.nested is not None
    assert other.nested is not None
    assert (
        two.nested.take(again.index.to_numpy())["outputs"].to_pylist() == other.nested["outputs"].to_pylist()
    )


def test_titles(data: Path) -> None:
    path = data / "local_mlp_step1.pb"
    assert tv.read_trace(path).title == "local_mlp_step1.pb"
    assert tv.read_trace([path, path, path]).title == "local_mlp_step1.pb and 2 more"
    assert tv.read_trace(path, title="mine").title == "mine"
    assert tv.read_trace(path.read_bytes()).title == ""


def test_partition_graphs_stay_serialised(data: Path) -> None:
    graphs = tv.read_trace(data / "local_mlp_step1.pb").graphs
    assert [len(step) for step in graphs] == [1]
    assert b"MatMul" in graphs[0][0]


def test_text_without_a_wrapper_and_with_unknown_fields() -> None:
    old = ONE_OP.replace(b"all_start", b'host_gone: 7 gone_message { x: "y" } all_start')
    wrapped = b"# recorded by hand\nstep_stats {\n" + ONE_OP + b"\n}"
    expected = tv.read_trace(ONE_OP).events
    assert tv.read_trace(old).events.equals(expected)
    assert tv.read_trace(wrapped).events.equals(expected)
    assert expected.loc[0, "start_ns"] == 70_000


def test_skipped_text_fields_are_noted(data: Path) -> None:
    (note,) = tv.read_trace(data / "simple_stepstats.pbtxt").notes
    assert id_of(note) == "fields_skipped"


def test_a_name_that_is_not_utf8_does_not_spoil_the_rest() -> None:
    trace = tv.read_trace(one_op().replace(b"\x0a\x01a", b"\x0a\x01\xff"))
    assert trace.events["name"].tolist() == ["\N{REPLACEMENT CHARACTER}"]


def test_names_are_kept_whatever_they_are() -> None:
    name = "</script>\"'\x00\x1b" + "x" * 10_000
    step = schema.text_class("StepStats")()
    step.dev_stats.add(device=b"d").node_stats.add(node_name=name.encode(), all_start_micros=7)
    assert tv.read_trace(step.SerializeToString()).events["name"].tolist() == [name]


def test_unknown_devices_and_labels_are_kept_and_noted() -> None:
    trace = tv.read_trace(one_op(label="what is this", device="/somewhere:else"))
    event = trace.events.iloc[0]
    assert (event["lane"], event["device"], event["kind"]) == ("/somewhere:else", "", "op")
    assert event["detail"] == "what is this"
    assert any(id_of(note) == "unknown_devices" for note in trace.notes)
    assert any(id_of(note) == "labels_unknown" for note in trace.notes)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b'{"a": 1}', "this JSON has no traceEvents; its keys are 'a'"),
        (b'[{"ph": "X"} oops]', "damaged JSON at byte 13"),
        (b"<!DOCTYPE html><p>", "HTML"),
        (b"PK\x03\x04" + bytes(60), "zip"),
        (b"\x80\x04\x95" + bytes(20) + b".", "pickle"),
        (b"ctensorflow.core.protobuf.config_pb2\nRunMetadata\n.", "a pickle of Global"),
        (b"hello, this is a log\n", "text that begins with 'hello,'"),
        (b"node {\n  name: 'a'\n}", "text that begins with 'node'"),
        (b"PAR1 and then something else", "Parquet"),
        (b"PAR1 and then something else PAR1", "damaged Parquet"),
        (b"\x1f\x8b\x08\x00 not gzip", "gzip"),
        (b"\xfd7zXZ\x00 not xz", "xz"),
        (b"\x7a\x03abc", "no field of a "),
        (b"\x0a\x05abcde", "byte"),
        (b"\xff" * 40, "byte 0"),
    ],
)
def test_foreign_bytes_are_refused_by_name(source: bytes, said: str) -> None:
    with pytest.raises(tv.TraceFormatError) as caught:
        tv.read_trace(source)
    assert said in str(caught.value)
    assert not isinstance(caught.value, tv.EmptyTraceError)


def test_the_message_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.pb"
    path.write_bytes(b"\x0a\x05abcde")
    with raises_id(
        tv.TraceFormatError,
        "message_damaged",
        damage=Text(
            "in_message_at_byte", path="step_stats", byte=2, reason=Text("field_too_long", number=12, bytes=4)
        ),
    ):
        tv.read_trace(path)


def test_a_truncated_file_is_refused_wherever_it_ends(data: Path) -> None:
    content = (data / "local_mlp_step1.pb").read_bytes()
    for end in range(1, len(content), 997):
        with raises_id(tv.TraceFormatError, "message_cut_off"):
            tv.read_trace(content[:end])


def test_the_offending_field_is_named() -> None:
    good = one_op()
    bad = good.replace(b"\x10\x46", b"\x15\x46")
    with raises_id(
        tv.TraceFormatError,
        "message_damaged",
        damage=Text(
            "in_message_at_byte",
            path="dev_stats[0].node_stats[0].all_start_micros",
            byte=38,
            reason=Text("wire_type_wrong", wire_type=5, wanted=0),
        ),
    ):
        tv.read_trace(bad)


@pytest.mark.parametrize("source", [b"", [b"", b""], b"\x0a\x00"])
def test_empty_sources_say_which_option_fills_them(source: object) -> None:
    with pytest.raises(tv.EmptyTraceError) as caught:
        tv.read_trace(source)
    assert all(way in str(caught.value) for way in ("%%trace", "tf.profiler.experimental", "FULL_TRACE"))


def test_graphs_alone_are_an_empty_trace(data: Path) -> None:
    with raises_id(tv.EmptyTraceError, "graphs_without_run", graphs=1):
        tv.read_trace(data / "cpu_tf221_partition_graphs_only.pb.xz")


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


def test_steps_are_called_by_their_files(tmp_path: Path, data: Path) -> None:
    (tmp_path / "warm up.pb").write_bytes(one_op())
    (tmp_path / "later.pb.gz").write_bytes(gzip.compress(one_op(90)))
    (tmp_path / "timeline.json").write_bytes((data / "timeline_tf10_gpu.json").read_bytes())
    trace = tv.read_trace(tmp_path)
    assert trace.steps["label"].tolist() == ["later", "timeline", "warm up"]
    assert tv.read_trace(str(tmp_path / "*.pb*")).steps["label"].tolist() == ["later", "warm up"]
    assert tv.read_trace([one_op(), one_op(90)]).steps["label"].tolist() == ["", ""]
    own = tv.read_trace(tmp_path / "warm up.pb")
    assert tv.read_trace([own, tmp_path / "later.pb.gz"]).steps["label"].tolist() == ["", "later"]
    assert own.step_labels == {}


def test_steps_of_several_ranks_are_called_by_what_their_files_share(tmp_path: Path) -> None:
    for rank in range(2):
        for step in range(2):
            step_stats = one_op(70 + step, device="/job:localhost/replica:0/task:0/cpu:0")
            (tmp_path / f"hvd_rank{rank}_step{step}.pb").write_bytes(step_stats)
    trace = tv.read_trace(tmp_path)
    assert trace.steps["label"].tolist() == ["hvd_step0", "hvd_step1"]
    assert trace.events["task"].nunique() == 2


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


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tv.read_trace(tmp_path / "nothing.pb")


@pytest.mark.parametrize("source", [7, None, {"a": 1}, object(), pd.DataFrame({"a": [1]}), [object()]])
def test_other_objects_are_refused(source: object) -> None:
    said = "no_source"
    with raises_id(TypeError, said):
        tv.read_trace(source)


def test_open_files_are_read_unless_they_are_open_as_text(data: Path) -> None:
    path = data / "gpu_tf221_mlp.pb.xz"
    expected = tv.read_trace(path).events
    with path.open("rb") as file:
        trace = tv.read_trace(file)
    assert trace.events.equals(expected)
    assert trace.title == path.name
    assert tv.read_trace(io.BytesIO(path.read_bytes())).events.equals(expected)
    for text in (io.StringIO("a"), (data / "simple_stepstats.pbtxt").open()):
        with text, raises_id(TypeError, "open_as_text"):
            tv.read_trace(text)


def test_home_is_expanded(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(data))
    assert tv.read_trace("~/local_mlp_step1.pb").title == "local_mlp_step1.pb"
    assert len(tv.read_trace("~/local_mlp_step?.pb").steps) == 1


@pytest.mark.tensorflow
def test_other_messages_are_refused() -> None:
    from tensorflow.core.framework.graph_pb2 import GraphDef

    with raises_id(TypeError, "unknown_message", message="GraphDef"):
        tv.read_trace(GraphDef())


@pytest.mark.collection("third-party/xprof/tpu_inference_2.corrupt-utf8.xplane.pb.xz")
def test_a_file_that_a_text_conversion_destroyed(shared: Path) -> None:
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
        tv.read_trace(shared / "third-party/xprof/tpu_inference_2.corrupt-utf8.xplane.pb.xz")


def test_reading_imports_no_tensorflow(data: Path) -> None:
    code = (
        "import sys, tfvis_nb as tv; tv.read_trace(sys.argv[1]).edges;"
        "print(sorted({'tensorflow', 'bokeh', 'anywidget'} & set(sys.modules)))"
    )
    path = str(data / "local_mlp_step1.pb")
    run = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


class Slow(io.BytesIO):
    """A file that is read when somebody has said so on the screen."""

    def __init__(self, content: bytes, screen: io.StringIO, said: str) -> None:
        super().__init__(content)
        self.screen, self.said = screen, said

    def read(self, *size: int | None) -> bytes:
        ends = time.monotonic() + 20
        while self.said not in self.screen.getvalue() and time.monotonic() < ends:
            time.sleep(0.01)
        return super().read(*size)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.slow
def test_a_long_read_says_how_far_it_is_and_a_short_one_nothing(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (data / "local_mlp_step1.pb").read_bytes()
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    tv.read_trace([content, content])
    assert screen.getvalue() == ""
    monkeypatch.setattr("tfvis_nb.core.progress.QUIET_SECONDS", 0)
    told = "reading, trace 2: 00:0"
    tv.read_trace([Slow(content, screen, "reading: 00:0"), content, Slow(content, screen, told)])
    assert told in screen.getvalue()
    assert screen.getvalue().split("\r")[-2].strip() == ""


def test_a_session_is_no_trace_and_the_message_says_what_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "copy.tfvis"
    connect(path, create=True).close()
    with pytest.raises(tv.TraceFormatError) as caught:
        tv.read_trace(path)
    said = "this is a session of tfvis_nb; tfvis_nb.open_session(path).read(number) gives a trace of it"
    assert f"copy.tfvis: {said}" in str(caught.value)
    with raises_id(
        tv.TraceFormatError, "foreign_format", what="an SQLite database, perhaps of Nsight Systems"
    ):
        tv.read_trace(b"SQLite format 3\0" + bytes(200))


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        (np.zeros(3), TypeError, "no_source"),
        (pd.DataFrame({"a": [1]}), TypeError, "no_source"),
        ([], tv.EmptyTraceError, "source_empty"),
        ("", ValueError, "path_empty"),
    ],
)
def test_what_is_no_source(source: Any, error: type[Exception], said: str) -> None:
    with raises_id(error, said):
        tv.read_trace(source)
