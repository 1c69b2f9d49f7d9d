"""Eager code, tf.function, and simultaneous sessions, recorded by `tv.trace`."""

import threading
import time
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2

import tfvis_nb as tv
from tests.recording.work import labels, squared, sum_of_squares
from tests.support.texts import raises_id
from tfvis_nb.texts import Text, id_of

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


def test_eager_ops() -> None:
    a = tf.random.normal((8, 8))
    with tv.trace() as t:
        product = tf.matmul(a, a)
        product.numpy()
    (ran,) = t.overview["top_ops"]["host"][:1]
    assert (ran["op"], ran["count"]) == ("MatMul", 1)
    assert t.sources == []
    assert len(t.profiles) == 1


def test_a_function_and_the_graph_it_ran() -> None:
    x = tf.ones((4, 4))
    fresh = tf.function(sum_of_squares)
    with tv.trace() as t:
        for _ in range(3):
            fresh(x)
    ops = t.events[t.events["kind"] == "op"]
    assert ops.groupby("name").size()[["square", "total"]].tolist() == [3, 3]
    assert len(labels(t)) == 3
    last = t.graphs[-1]
    assert {"square", "total"} <= {
        node.name for graph in last for node in graph_pb2.GraphDef.FromString(graph).node
    }
    with tv.trace(partition_graphs=False) as without:
        fresh(tf.ones((5, 5)))
    assert not any(without.graphs)


def test_steps_that_the_code_marks_itself() -> None:
    with tv.trace() as t:
        for number in range(40, 43):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                squared(tf.ones((4, 4)))
    assert labels(t) == ["train 40", "train 41", "train 42"]


def test_session_runs_alone_start_no_profiler(session: Any) -> None:
    with tv.trace() as t:
        session.run("loss:0")
    assert t.profiles == []
    assert labels(t) == ["loss"]


def test_sessions_and_functions_in_one_trace_and_nothing_twice(session: Any) -> None:
    squared(tf.ones((4, 4)))
    before = tf.ones((4, 4))
    with tv.trace() as t:
        session.run("loss:0")
        squared(before)
        start = time.time_ns()
        session.run("loss:0")
        end = time.time_ns()
    assert len(t.sources) == 2
    assert len(t.profiles) == 1
    found = labels(t)
    assert [found[0], found[-1]] == ["loss", "loss"]
    assert len(found) == 3
    ops = t.events[t.events["kind"] == "op"]
    times = {name: ops[ops["name"] == name]["step"].tolist() for name in ("product", "square")}
    assert times == {"product": [0, 2], "square": [1]}
    assert t.events["task"].unique().tolist() == ["/job:localhost/replica:0/task:0"]
    assert any(id_of(note) == "profile_repeats_runs" for note in t.notes)
    # The clocks agree: a run's rows, in the run and in the profile, lie within the call.
    of_run = t.events[t.events["step"] == 2]
    assert set(of_run["kind"]) >= {"op", "host"}
    assert of_run["start_ns"].between(start - 1_000_000, end + 1_000_000).all()


def test_the_profiler_alone_has_session_runs_as_its_own_rows(session: Any) -> None:
    metadata = v1.RunMetadata()
    with tv.trace(mode="profiler") as t:
        # This level would make the run fail beside a profile.
        session.run("loss:0", options=v1.RunOptions(trace_level=3), run_metadata=metadata)
    assert len(metadata.step_stats.dev_stats) == 1
    assert t.sources == []
    assert "product" in set(t.events.loc[t.events["kind"] == "op", "name"])


def test_an_interrupt_leaves_what_ran_before_it() -> None:
    def interrupted() -> None:
        squared(tf.ones((4, 4)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), tv.trace() as t:
        interrupted()
    assert "square" in set(t.events["name"])


def test_an_interrupt_while_a_profile_is_written_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tfvis_nb.recording.profiler.capture.written", interrupted)
    with pytest.raises(KeyboardInterrupt), tv.trace():
        squared(tf.ones((4, 4)))
    monkeypatch.undo()
    with tv.trace() as t:
        squared(tf.ones((4, 4)))
    assert "square" in set(t.events["name"])


def test_a_profile_that_cannot_be_written_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tfvis_nb.recording.profiler.capture.written", full)
    with (
        raises_id(
            tv.EmptyTraceError,
            "nothing_recorded",
            reason=Text("profile_unwritten", reason="[Errno 28] No space left on device"),
        ),
        tv.trace(),
    ):
        squared(tf.ones((4, 4)))


def test_threads() -> None:
    def work() -> None:
        for _ in range(5):
            squared(tf.ones((4, 4)))

    squared(tf.ones((4, 4)))
    with tv.trace() as t:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (t.events["name"] == "square").sum() == 15
    assert len(labels(t)) == 15


def test_nothing_ran() -> None:
    with raises_id(tv.EmptyTraceError, "nothing_recorded", reason=Text("nothing_ran")), tv.trace():
        pass


def test_a_function_keeps_the_devices_that_it_requested() -> None:
    def placed(x: Any) -> Any:
        with tf.device("/GPU:0"):
            square = tf.nn.relu(x, name="square")
        return tf.reduce_sum(square, name="total")

    function = tf.function(placed)
    with tv.trace() as t:
        tf.function(lambda x: function(x) + function(-x))(tf.ones((4, 4)))
    called = t.nodes.set_index("name")["requested_device"].astype(str)
    assert called[[name for name in called.index if name.endswith("Call/square")]].tolist() == [
        "/device:GPU:0"
    ]
    with tv.trace() as t:
        tf.function(placed)(tf.ones((4, 4)))
    nodes = t.nodes.drop_duplicates("name").set_index("name")
    assert nodes["requested_device"].astype(str)[["square", "total"]].tolist() == ["/device:GPU:0", ""]
    assert nodes["device"].astype(str)["square"].endswith("/device:CPU:0")
    (function,) = config_pb2.RunMetadata.FromString(t.run_metadata[-1]).function_graphs
    assert not function.partition_graphs
    assert "square" in {node.name for node in function.post_optimization_graph.node}


def test_the_levels_of_a_profile_can_be_chosen() -> None:
    def called_by_the_block() -> None:
        squared(tf.ones((7, 7)))

    squared(tf.ones((7, 7)))
    with tv.trace() as plain:
        called_by_the_block()
    with tv.trace(python=True) as calls, tf.profiler.experimental.Trace("train", step_num=7, _r=1):
        called_by_the_block()
    with tv.trace(shapes=True) as shaped:
        called_by_the_block()

    def has_call(t: tv.Trace) -> bool:
        return bool(t.events["name"].str.contains("called_by_the_block").any())

    def has_shape(t: tv.Trace) -> bool:
        ops = t.events[t.events["kind"] == "op"]
        return bool(ops["detail"].str.contains("7,7", regex=False).any())

    assert [has_call(t) for t in (plain, calls, shaped)] == [False, True, False]
    assert [has_shape(t) for t in (plain, calls, shaped)] == [False, False, True]
    assert labels(calls) == ["train 7"]


@pytest.mark.parametrize("option", [{"device_level": 7}, {"device_level": "1"}])
def test_unknown_device_levels_are_refused(option: dict[str, Any]) -> None:
    with raises_id(ValueError, "unknown_trace_option", name="device_level"):
        tv.trace(**option)


def test_the_level_of_devices_reaches_the_profile() -> None:
    with tv.trace(device_level=2) as t:
        squared(tf.ones((4, 4)))
    assert t.metadata["profiles"]["device_tracer_level"].tolist() == [2]
