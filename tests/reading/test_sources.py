"""Sources of read_trace, titles of traces, and kept data."""

import gzip
import io
import lzma
import sys
import time
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.step_stats import ONE_OP, one_op
from tests.support.texts import raises_id
from tfvis_nb.reading.protobuf import schema


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


def test_a_trace_is_a_source_and_merges_with_others(data: Path) -> None:
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
    assert tv.read_trace([path, path, path]).title == "3 traces: local_mlp_step1.pb"
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


def test_a_name_that_is_not_utf8_does_not_spoil_the_rest() -> None:
    trace = tv.read_trace(one_op().replace(b"\x0a\x01a", b"\x0a\x01\xff"))
    assert trace.events["name"].tolist() == ["\N{REPLACEMENT CHARACTER}"]


def test_names_are_kept_whatever_they_are() -> None:
    name = "</script>\"'\x00\x1b" + "x" * 10_000
    step = schema.message_class("StepStats")()
    step.dev_stats.add(device=b"d").node_stats.add(node_name=name.encode(), all_start_micros=7)
    assert tv.read_trace(step.SerializeToString()).events["name"].tolist() == [name]


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


def test_steps_of_ranks_are_named_by_the_common_part(tmp_path: Path) -> None:
    for rank in range(2):
        for step in range(2):
            step_stats = one_op(70 + step, device="/job:localhost/replica:0/task:0/cpu:0")
            (tmp_path / f"hvd_rank{rank}_step{step}.pb").write_bytes(step_stats)
    trace = tv.read_trace(tmp_path)
    assert trace.steps["label"].tolist() == ["hvd_step0", "hvd_step1"]
    assert trace.events["task"].nunique() == 2


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
    shown_last = "reading, trace 2: 00:0"
    tv.read_trace([Slow(content, screen, "reading: 00:0"), content, Slow(content, screen, shown_last)])
    assert shown_last in screen.getvalue()
    assert screen.getvalue().split("\r")[-2].strip() == ""
