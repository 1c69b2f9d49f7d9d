"""Timeline, as scripts for tfvis and tftracer use it."""

import math
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.protobuf.config_pb2 import RunMetadata

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.texts import raises_id
from tests.support.with_tensorflow import run
from tests.wire_reader import read_drawn
from tfvis_nb import Timeline
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.reading.sources.unpacking import unpack

v1 = tf.compat.v1

# The examples of tfvis's README with changed imports; code that it omits with dots is added before.
# Storing natively says `pickle.load` there, which cannot have been meant.
PROLOGUE = """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
tf.reset_default_graph()
tf.train.get_or_create_global_step()
x = tf.get_variable("x", [64, 64])
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.matmul(x, x, name="square")))
"""
SNIPPETS = {
    "visualize": """
from tfvis_nb import Timeline

with tf.train.MonitoredTrainingSession() as sess:
    with Timeline() as timeline:
        sess.run(train_op, **timeline.kwargs)

timeline.visualize("example.html")
""",
    "horovod": """
from tfvis_nb import Timeline

with tf.train.MonitoredTrainingSession() as sess:
    with Timeline(horovod=True) as timeline:
        sess.run(train_op, **timeline.kwargs)

assert timeline.communication_time() == 0 < timeline.iteration_time()
timeline.visualize("example.html")
""",
    "save for later": """
from tfvis_nb import Timeline

with tf.train.MonitoredTrainingSession() as sess:
    with Timeline(horovod=True) as timeline:
        sess.run(train_op, **timeline.kwargs)

timeline.to_pickle("example.pickle")

timeline = timeline.from_pickle("example.pickle", horovod=True)
timeline.visualize("example.html")
""",
    "natively": """
with tf.train.MonitoredTrainingSession() as sess:
    run_metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    sess.run(train_op, run_metadata=run_metadata, options=options)

import pickle

with open("example.pickle", "wb") as fp:
    pickle.dump(run_metadata, fp)

from tfvis_nb import Timeline
Timeline.from_pickle("example.pickle").visualize("example.html")
""",
    "the first README": """
import tfvis_nb as tfvis

with tf.train.MonitoredTrainingSession() as sess:
    run_metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    sess.run(train_op, run_metadata=run_metadata, options=options)

tfvis.timeline_visualize(run_metadata, "example.html")
""",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each snippet ran, in a folder of its name. One process ran them: TensorFlow is slow to import."""
    folder = tmp_path_factory.mktemp("snippets")
    script = ["import os"]
    for name, snippet in SNIPPETS.items():
        (folder / name).mkdir()
        script += [f"os.chdir({str(folder / name)!r})", PROLOGUE, snippet]
    run("-c", "\n".join(script), folder=folder)
    return folder


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_of_the_readme(name: str, ran: Path) -> None:
    page = (ran / name / "example.html").read_text()
    assert "default-src 'none'" in page
    assert 'id="tfvis-drawn"' in page


@pytest.mark.tensorflow
def test_a_run_is_recorded(session: Any, tmp_path: Path) -> None:
    with Timeline() as timeline:
        session.run("loss:0", **timeline.kwargs)
    assert isinstance(timeline.run_metadata, RunMetadata)
    assert timeline.wall_clock_elapsed * 1e6 >= timeline.step_time() > 0
    assert "product" in set(timeline.trace.events["name"])
    timeline.to_pickle(tmp_path / "step.pickle")
    with (tmp_path / "step.pickle").open("rb") as file:
        assert pickle.load(file) == timeline.run_metadata
    again = Timeline.from_pickle(tmp_path / "step.pickle")
    assert again.trace.events.equals(timeline.trace.events)
    assert again.run_metadata == timeline.run_metadata


@pytest.mark.tensorflow
def test_the_latest_of_several_runs_counts(session: Any) -> None:
    with Timeline() as timeline:
        session.run("product:0", **timeline.kwargs)
        assert "loss" not in set(timeline.trace.events["name"])
        session.run("loss:0", **timeline.kwargs)
    assert "loss" in set(timeline.trace.events["name"])


def old_figures(message: Any, device: str = "", exclude: str | None = None) -> list[int]:
    """Measure a step as tfvis and tftracer define it: span, union, and both of RecvTensor; slowly."""
    nodes = [node for dev in message.step_stats.dev_stats if device in dev.device for node in dev.node_stats]
    figures = []
    for name in (None, "RecvTensor"):
        rows = [
            (node.all_start_micros, node.all_start_micros + node.all_end_rel_micros)
            for node in nodes
            if (name is None or node.node_name == name)
            and (exclude is None or exclude not in node.timeline_label)
        ]
        total, reached = 0, -math.inf
        for start, end in sorted(rows):
            total += int(max(end - max(start, reached), 0))
            reached = max(reached, end)
        figures += [max(end for _, end in rows) - min(start for start, _ in rows) if rows else 0, total]
    return figures


CPU = [
    "local_mlp_step1.pb",
    "dist_inproc_ps_2workers_step0.pb",
    "cpu_tf18_dist.pb.xz",
    "cpu_tf221_while.pb.xz",
]


@pytest.mark.parametrize("name", CPU)
@pytest.mark.parametrize(
    ("device", "exclude"), [("", None), ("task:0", None), ("", "MatMul"), ("no such", None)]
)
def test_figures_are_those_of_the_old_tools(name: str, device: str, exclude: str | None) -> None:
    message = RunMetadata.FromString(unpack((DATA / name).read_bytes(), name))
    timeline = Timeline(message)
    ours = [
        timeline.iteration_time(device),
        timeline.computation_time(device, exclude),
        timeline.communication_elapsed_time(device, exclude),
        timeline.communication_time(device, exclude),
    ]
    whole, _, elapsed, communication = old_figures(message, device, exclude)
    computation = old_figures(message, device, exclude)[1]
    expected = [old_figures(message, device)[0], computation, elapsed, communication]
    assert whole <= expected[0]
    # They added whole microseconds, rounded up or down in every row.
    rows = sum(len(dev.node_stats) for dev in message.step_stats.dev_stats)
    assert ours[::2] == pytest.approx(expected[::2], abs=2)
    assert ours[1::2] == pytest.approx(expected[1::2], abs=rows)
    assert all(isinstance(figure, int) for figure in ours)
    assert (device == "no such") == (ours[0] == 0)


def test_copies_are_those_of_the_lane_memcpy() -> None:
    name = "gpu_tf218_mlp.pb.xz"
    message = RunMetadata.FromString(unpack((DATA / name).read_bytes(), name))
    assert Timeline(message).step_time("memcpy") == old_figures(message, "/memcpy")[0] > 0


def test_copies_of_several_tasks_have_aligned_clocks() -> None:
    name = "gpu_tf218_dist.pb.xz"
    message = RunMetadata.FromString(unpack((DATA / name).read_bytes(), name))
    raw = [
        max(node.all_start_micros + node.all_end_rel_micros for node in device.node_stats)
        - min(node.all_start_micros for node in device.node_stats)
        for device in message.step_stats.dev_stats
        if device.device.endswith("/memcpy")
    ]
    timeline = Timeline(message)
    copies = timeline.trace.events.query("kind == 'memcpy'")
    starts = copies.groupby("task", observed=True)["start_ns"].min()
    ends = (copies["start_ns"] + copies["duration_ns"]).groupby(copies["task"], observed=True).max()
    assert sorted((ends - starts) // 1000) == sorted(raw)
    assert timeline.step_time("memcpy") == (ends.max() - starts.min()) // 1000


def test_what_communicates() -> None:
    horovod = DATA / "cpu_tf115_horovod.pb.xz"
    every = Timeline(horovod.read_bytes())
    assert every.communication_time() == Timeline(horovod.read_bytes(), horovod=True).communication_time() > 0
    # Allgathers too, which tfvis did not count.
    trace = every.trace
    reduce = trace.events[trace.events["op"] == "HorovodAllreduce"]
    assert every.communication_elapsed_time() > (reduce["duration_ns"].max()) // 1000

    server = (DATA / "dist_inproc_ps_2workers_step0.pb").read_bytes()
    assert Timeline(server, horovod=True).communication_time() == 0
    assert (
        Timeline(server, comm_op_name="RecvTensor").communication_time()
        == Timeline(server).communication_time()
    )
    assert 0 < Timeline(server, comm_op_name="_MklMatMul").communication_time() < Timeline(server).step_time()
    assert Timeline(server, comm_op_name="none").communication_time() == 0


def test_devices_are_chosen_by_a_regular_expression(tmp_path: Path) -> None:
    timeline = Timeline((DATA / "dist_inproc_ps_2workers_step0.pb").read_bytes())
    everything = set(timeline.trace.lanes["task"])
    assert len(everything) > 1
    page = timeline.visualize(device_pattern=r"job:ps/.*task:\d+")
    assert page is not None
    assert f"{len(timeline.trace.events):,} events" not in page
    assert timeline.visualize(tmp_path / "ps.html", r"job:ps/.*task:\d+") is None
    assert (tmp_path / "ps.html").read_text() == page
    chosen = timeline._only(timeline.trace, r"job:ps/.*task:\d+")
    header, rows = read_drawn(bar_bytes(chosen))
    assert {lane["task"] for lane in header["lanes"]} == {task for task in everything if "/job:ps" in task}
    assert len(rows) == timeline.trace.events["task"].astype(str).str.contains("/job:ps").sum()
    with raises_id(ValueError, "no_such_device", device_pattern="GPU:7"):
        timeline.visualize(device_pattern="GPU:7")


@pytest.mark.parametrize("name", ["pickle_tf221.pickle", "pickle_tf115_python2_protocol0.pickle.xz"])
def test_pickles_of_old_are_read(name: str, tmp_path: Path) -> None:
    timeline = Timeline.from_pickle(DATA / name, comm_op_name="RecvTensor")
    assert timeline.trace.events.equals(tv.read_trace(DATA / name).events)
    timeline.to_pickle(tmp_path / "again.pickle")
    data = (tmp_path / "again.pickle").read_bytes()
    assert pickle.loads(data) == timeline.run_metadata
    assert Timeline.from_pickle(tmp_path / "again.pickle").step_time() == timeline.step_time()
    # Written as Python's own pickler writes it, but for what nobody refers to again.
    theirs = pickletools.optimize(pickle.dumps(timeline.run_metadata, 3))
    assert instructions(data) == instructions(theirs)


def instructions(data: bytes) -> list[tuple[str, Any]]:
    """The operations of a pickle; only the length of the message, because maps have no order."""
    return [
        (code.name, len(given) if isinstance(given, bytes) else given)
        for code, given, _ in pickletools.genops(data)
    ]


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("was_called"),))


def test_pickles_of_anything_else_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.pickle").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(tv.TraceFormatError):
        Timeline.from_pickle("evil.pickle")
    assert not Path("was_called").exists()
    with raises_id(tv.TraceFormatError, "no_pickle"):
        Timeline.from_pickle(DATA / "local_mlp_step1.pb")
    with raises_id(tv.TraceFormatError, "pickle_of_several"):
        Timeline.from_pickle(DATA / "tftracer_session.pickle.gz")


def test_nothing_recorded_says_what_to_do() -> None:
    timeline = Timeline()
    uses: list[tuple[Callable[[], object], str]] = [
        (lambda: timeline.kwargs, "nothing_to_record_into"),
        (lambda: timeline.trace, "nothing_recorded_yet"),
        (timeline.step_time, "nothing_recorded_yet"),
    ]
    for use, key in uses:
        with raises_id(RuntimeError, key):
            use()
    with raises_id(RuntimeError, "no_run_metadata"):
        timeline.to_pickle("never.pickle")
    with timeline, raises_id(tv.EmptyTraceError, "kwargs_not_passed"):
        timeline.step_time()


def test_second_argument_is_horovod() -> None:
    assert Timeline(None, True).horovod
    with raises_id(TypeError, "flag_not_bool"):
        Timeline(None, "RecvTensor")  # type: ignore[arg-type]


def test_unknown_options_are_refused() -> None:
    with raises_id(TypeError, "unknown_option", hint="; did you mean 'comm_op_name'?"):
        Timeline(com_op_name="RecvTensor")  # type: ignore[call-arg]
    with raises_id(TypeError, "first_argument_no_run_metadata", run_metadata="RecvTensor"):
        Timeline("RecvTensor", comm_op_name="RecvTensor")


@pytest.mark.tensorflow
def test_a_first_argument_that_is_a_text_is_tfviss(session: Any) -> None:
    with pytest.warns(DeprecationWarning, match="comm_op_name='_MatMul'") as caught:
        timeline = Timeline("_MatMul")
    assert caught[0].filename == __file__
    with timeline:
        session.run("loss:0", **timeline.kwargs)
    named = Timeline(timeline.run_metadata, comm_op_name="_MatMul")
    assert timeline.comm_op_name == "_MatMul"
    assert timeline.communication_time() == named.communication_time()
