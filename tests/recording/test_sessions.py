"""Runs seen by a recording, its effects on their code, and what remains afterwards."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client.session import BaseSession

import tfvis_nb as tv
from tests.support.examples import sample
from tfvis_nb.analysis.steps.outside_steps import outside_steps, pauses
from tfvis_nb.core.metadata import RETURNS
from tfvis_nb.events import NO_STEP
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler import lock
from tfvis_nb.texts import Text, id_of

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1
FEED = np.ones((3, 4), "float32")
PATCHED = ("_call_tf_sessionrun", "_call_tf_sessionprun", "_make_callable_from_options")


class Model(NamedTuple):
    session: Any
    x: Any
    loss: Any
    train: Any
    init: Any
    saver: Any


@pytest.fixture
def model() -> Iterator[Model]:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        weights = v1.get_variable("weights", [4, 2], initializer=v1.ones_initializer())
        loss = tf.reduce_sum(tf.matmul(x, weights, name="product"), name="loss")
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        init = v1.global_variables_initializer()
        session.run(init)
        yield Model(session, x, loss, train, init, v1.train.Saver())


def methods() -> list[Any]:
    return [*(vars(BaseSession)[name] for name in PATCHED), vars(BaseSession._Callable)["__call__"]]


def test_a_session_run_lasts_until_it_returns(model: Model) -> None:
    with tv.trace() as t:
        for _ in range(4):
            model.session.run(model.train, {model.x: FEED})
    steps = t.steps[t.steps["step"] != NO_STEP]
    returned = t.metadata[RETURNS]["time_ns"].to_numpy(np.int64)
    assert (returned >= steps["end_ns"]).all()
    assert (returned[:-1] <= steps["start_ns"][1:]).all()
    start, _ = pauses(t)
    assert start.tolist() == returned[:-1].tolist()
    outside = outside_steps(t)
    assert outside is not None
    assert outside.between_ns == int((steps["start_ns"].to_numpy()[1:] - returned[:-1]).sum())


def test_every_kind_of_run_becomes_a_step(model: Model, tmp_path: Path) -> None:
    before_made = model.session.make_callable(model.loss, [model.x])
    with tv.trace() as t:
        model.session.run(model.init)
        model.train.run({model.x: FEED})
        assert model.loss.eval({model.x: FEED}) == pytest.approx(24 - 8 * 0.3 * 3)
        assert before_made(FEED) == pytest.approx(24 - 8 * 0.3 * 3)
        model.session.make_callable(model.init)()
        saved = model.saver.save(model.session, str(tmp_path / "model"))
        model.saver.restore(model.session, saved)
    assert isinstance(t, tv.Trace)
    assert t.steps["label"].tolist() == [
        "init",
        "GradientDescent",
        "loss",
        "loss",
        "init",
        "save/control_dependency",
        "save/restore_all",
    ]
    assert t.notes[:3] == [
        Text("step_of_run", first=0, label="init"),
        Text("step_of_run", first=1, label="GradientDescent"),
        Text("steps_of_runs", first=2, last=3, label="loss"),
    ]
    per_step = t.events.groupby("step")["name"].agg(set)
    assert "product" in per_step[1]
    assert "product" in per_step[2]
    assert "product" not in per_step[0]
    assert len(t.sources) == 7
    first = config_pb2.RunMetadata.FromString(t.sources[1])
    assert any(
        node.node_name == "product" for device in first.step_stats.dev_stats for node in device.node_stats
    )
    (graph,) = first.partition_graphs
    assert "product" in {node.name for node in graph.node}


def test_monitored_sessions_show_the_runs_that_hooks_miss(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        count = v1.train.get_or_create_global_step()
        step = tf.identity(v1.assign_add(count, 1), name="count_up")
        kept = {"checkpoint_dir": str(tmp_path), "save_checkpoint_steps": 2}
        with tv.trace() as t, v1.train.MonitoredTrainingSession(**kept) as session:
            for _ in range(3):
                session.run(step)
    labels = t.steps["label"]
    assert labels.str.contains("count_up").sum() == 3
    assert labels.str.startswith("save/").any()
    assert len(labels) > 8


def test_runs_keep_the_devices_that_the_graph_requests() -> None:
    with tf.Graph().as_default(), v1.Session(config=v1.ConfigProto(allow_soft_placement=True)) as session:
        with tf.device("/GPU:0"):
            doubled = tf.multiply(tf.random.uniform([4]), 2.0, name="doubled")
        with tv.trace() as t:
            session.run(doubled)
            total = tf.reduce_sum(doubled, name="total")
            session.run(total)
        with tv.trace(partition_graphs=False) as without:
            session.run(total)
    nodes = t.nodes.set_index(["step", "name"])["requested_device"].astype(str)
    assert nodes[[(0, "doubled"), (1, "doubled"), (1, "total")]].tolist() == ["/device:GPU:0"] * 2 + [""]
    assert without.run_metadata == []


def untimed(metadata: Any) -> bytes:
    """A message without what differs from run to run."""
    for device in metadata.step_stats.dev_stats:
        del device.node_stats[:]
        device.thread_names.clear()
    return bytes(metadata.SerializeToString(deterministic=True))


@pytest.mark.parametrize("level", sample(range(4), [0, 3]))
@pytest.mark.parametrize("graphs", [False, True], ids=["", "graphs"])
@pytest.mark.parametrize("recording", sample(["trace", "session", "both"], ["trace", "both"]))
def test_the_users_metadata_hold_the_requested_level(
    model: Model, tmp_path: Path, level: int, graphs: bool, recording: str
) -> None:
    options = v1.RunOptions(trace_level=level, output_partition_graphs=graphs, timeout_in_ms=60_000)
    made = config_pb2.CallableOptions(feed=["x:0"], fetch=["loss:0"], run_options=options)

    def run() -> list[bytes]:
        first, second = v1.RunMetadata(), v1.RunMetadata()
        model.session.run(model.loss, {model.x: FEED}, options=options, run_metadata=first)
        call = model.session._make_callable_from_options(made)
        for _ in range(2):
            call(FEED, run_metadata=second)
        return [untimed(first), untimed(second)]

    bare = run()
    with ExitStack() as recordings:
        if recording != "session":
            recordings.enter_context(tv.trace())
        if recording != "trace":
            recorded = recordings.enter_context(tv.TraceSession(tmp_path / "run.tfvis"))
            recorded.trace_all()
        assert run() == bare
    if recording != "trace":
        assert len(recorded.traces) == 3
        assert all(len(recorded.read(trace).events) for trace in recorded.traces.index)
        recorded.close()
    assert (options.trace_level, options.output_partition_graphs) == (level, graphs)


def test_a_run_without_options_leaves_the_users_metadata_empty(model: Model) -> None:
    metadata = v1.RunMetadata()
    with tv.trace() as t:
        model.session.run(model.loss, {model.x: FEED}, run_metadata=metadata)
    assert metadata.ByteSize() == 0
    assert "product" in set(t.events["name"])


def test_recordings_that_overlap_leave_nothing(model: Model, tmp_path: Path) -> None:
    before = methods()
    first, second = (tv.TraceSession(tmp_path / name) for name in ("one.tfvis", "two.tfvis"))
    for _ in range(30):
        for each in (first, second):
            each.start()
        first.stop()
        model.session.run(model.loss, {model.x: FEED})
        second.stop()
    assert methods() == before
    assert [int(each.signatures["runs"].sum()) for each in (first, second)] == [0, 30]
    first.close()
    second.close()


def test_replacements_end_in_any_order() -> None:
    class Client:
        def run(self) -> str:
            return "run"

    def wrapped(name: str) -> Replacements:
        replacements = Replacements()
        replacements.put(Client, "run", lambda original: lambda self: f"{name}({original(self)})")
        return replacements

    original = vars(Client)["run"]
    for order in itertools.permutations("abc"):
        open_ = {name: wrapped(name) for name in "abc"}
        left = "abc"
        for name in order:
            open_[name].undo()
            left = left.replace(name, "")
            expected = "run"
            for each in left:
                expected = f"{each}({expected})"
            assert Client().run() == expected
        assert vars(Client)["run"] is original


def test_a_timeout_the_user_set_still_strikes(model: Model) -> None:
    queue = v1.FIFOQueue(1, tf.int32)
    with tv.trace() as t:
        model.session.run(model.loss, {model.x: FEED})
        with pytest.raises(tf.errors.DeadlineExceededError):
            model.session.run(queue.dequeue(), options=v1.RunOptions(timeout_in_ms=50))
    assert t.steps["label"].tolist() == ["loss"]
    assert Text("runs_failed", runs=1) in t.notes


def test_callables_from_options_are_traced_and_restored(model: Model) -> None:
    options = config_pb2.CallableOptions(feed=["x:0"], fetch=["loss:0"])
    early = model.session._make_callable_from_options(options)
    metadata = v1.RunMetadata()
    with tv.trace() as t:
        late = model.session._make_callable_from_options(options)
        assert late(FEED) == [24]
        assert late(FEED, run_metadata=metadata) == [24]
        assert early(FEED) == [24]
    assert t.steps["label"].tolist() == ["loss", "loss"]
    assert any(id_of(note) == "runs_of_older_callables" for note in t.notes)
    assert metadata.ByteSize() == 0
    assert late(FEED, run_metadata=metadata) == [24]
    assert metadata.ByteSize() == 0


def test_nothing_is_left_in_tensorflow(model: Model) -> None:
    before = methods()
    meanwhile = []

    def failing_step() -> None:
        model.session.run(model.loss, {model.x: FEED})
        meanwhile.extend(methods())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), tv.trace() as t:
        failing_step()
    assert not set(meanwhile) & set(before)
    assert methods() == before
    assert t.steps["label"].tolist() == ["loss"]


def test_a_wrapper_added_while_recording_stays_inactive(model: Model) -> None:
    original = BaseSession._call_tf_sessionrun
    calls = []
    try:
        with tv.trace() as t:
            ours = BaseSession._call_tf_sessionrun

            def wrapper(*args: Any) -> Any:
                calls.append(len(args))
                return ours(*args)

            BaseSession._call_tf_sessionrun = wrapper
            model.session.run(model.loss, {model.x: FEED})
        assert BaseSession._call_tf_sessionrun is wrapper
        assert model.session.run(model.loss, {model.x: FEED}) == 24
    finally:
        BaseSession._call_tf_sessionrun = original
    assert len(calls) == 2
    assert t.steps["label"].tolist() == ["loss"]


@pytest.mark.usefixtures("accelerated")
def test_threads_that_run_at_the_same_time_all_succeed(model: Model) -> None:
    results: list[float] = []

    def work() -> None:
        results.extend(model.session.run(model.loss, {model.x: FEED}) for _ in range(10))

    with tv.trace() as t:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [24] * 40
    assert len(t.steps) == 40


@pytest.mark.usefixtures("accelerated")
def test_a_run_that_fills_a_queue_leaves_the_profiler_to_others(model: Model) -> None:
    queue = v1.FIFOQueue(1, tf.int32)
    enqueue, dequeue = queue.enqueue(1), queue.dequeue()
    with tv.trace() as t:
        filler = threading.Thread(target=lambda: [model.session.run(enqueue) for _ in range(4)])
        filler.start()
        assert [model.session.run(dequeue) for _ in range(4)] == [1, 1, 1, 1]
        filler.join()
    assert len(t.steps) == 8
    lowered = [note for note in t.notes if id_of(note) == "runs_without_gpu_rows"]
    assert len(lowered) == 1
    assert lowered[0] == Text("runs_without_gpu_rows", runs=4, why=Text("run_fills_queue"))


@pytest.mark.usefixtures("accelerated")
def test_runs_that_wait_for_each_other_do_not_lock_up(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LONGEST_WAIT_S", 0.2)
    queue = v1.FIFOQueue(1, tf.int32)
    give, take = queue.enqueue(2, name="give"), queue.dequeue(name="take")
    taken: list[int] = []
    with tv.trace() as t:
        taker = threading.Thread(target=lambda: taken.append(model.session.run(take)))
        taker.start()
        while not lock._PROFILER.locked():
            time.sleep(0.001)
        model.session.run([give, model.loss], {model.x: FEED})
        taker.join()
    assert taken == [2]
    assert t.steps["label"].tolist() == ["take", "give, loss"]
    assert any(id_of(note) == "runs_without_gpu_rows" for note in t.notes)


@pytest.mark.usefixtures("accelerated")
def test_an_active_profiler_is_left_alone(model: Model, tmp_path: Path) -> None:
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with tv.trace() as t:
            assert model.session.run(model.loss, {model.x: FEED}) == 24
    finally:
        tf.profiler.experimental.stop()
    assert "product" in set(t.events["name"])
    assert any(Text("program_profiles") in note for note in t.notes)
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_cluster_sessions_are_traced_at_their_only_level() -> None:
    server = v1.train.Server.create_local_server()
    with tf.Graph().as_default(), v1.Session(server.target) as session:
        total = tf.reduce_sum(tf.ones([100]), name="total")
        with tv.trace(level="software") as t:
            assert session.run(total) == 100
    assert set(t.events["task"]) == {"/job:localhost/replica:0/task:0"}


def test_partial_runs_are_counted(model: Model) -> None:
    with tv.trace() as t:
        model.session.run(model.loss, {model.x: FEED})
        handle = model.session.partial_run_setup([model.loss], [model.x])
        assert model.session.partial_run(handle, model.loss, {model.x: FEED}) == 24
    assert any(id_of(note) == "runs_partial" for note in t.notes)
