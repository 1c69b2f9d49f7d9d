"""Eager code, tf.function, Keras and sessions beside them, as `tv.trace` records them."""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context
from tensorflow.python.profiler import profiler_v2

import tfvis_nb as tv
from tfvis_nb.recording import profiler_slot, profiles
from tfvis_nb.recording.eager_calls import CALLS

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1
CallbackList = keras.src.callbacks.callback_list.CallbackList
BATCH, BATCHES = 8, 3
INPUTS = np.ones((BATCH * BATCHES, 4), "float32")
TARGETS = np.ones((BATCH * BATCHES, 1), "float32")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go; everything a recording puts there or into TensorFlow has to go again."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = replaced()
    yield folder
    assert list(folder.glob("tfvis*")) == []
    assert replaced() == before
    assert profiler_v2._profiler is None


def replaced() -> list[Any]:
    """Everything that a recording replaces for profiling."""
    batches = [
        f"on_{phase}_batch_{end}" for phase in ("train", "test", "predict") for end in ("begin", "end")
    ]
    return [
        profiler_v2._pywrap_profiler,
        *(vars(pywrap_tfe)[name] for name in CALLS),
        *(vars(CallbackList)[name] for name in batches),
    ]


@pytest.fixture
def model() -> Any:
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(8, name="hidden"), keras.layers.Dense(1, name="output")]
    )
    model.compile("sgd", "mse")
    return model


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        weights = v1.get_variable("weights", [4, 2], initializer=v1.ones_initializer())
        tf.reduce_sum(tf.matmul(weights, weights, transpose_b=True, name="product"), name="loss")
    session = v1.Session(graph=graph)
    session.run(weights.initializer)
    yield session
    session.close()


def sum_of_squares(x: Any) -> Any:
    return tf.reduce_sum(tf.matmul(x, x, name="square"), name="total")


squared = tf.function(sum_of_squares)


def fit(model: Any, **options: Any) -> Any:
    return model.fit(INPUTS, TARGETS, batch_size=BATCH, verbose=0, **options)


def labels(trace: tv.Trace) -> list[str]:
    return [label for step, label in zip(trace.steps["step"], trace.steps["label"], strict=True) if step >= 0]


def test_eager_ops() -> None:
    a = tf.random.normal((8, 8))
    with tv.trace() as t:
        product = tf.matmul(a, a)
        product.numpy()
    assert t.events["op"].str.contains("MatMul").any() or t.events["name"].str.contains("MatMul").any()
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


def test_every_batch_of_keras_is_a_step(model: Any) -> None:
    with tv.trace() as t:
        fit(model, epochs=2)
        model.evaluate(INPUTS, TARGETS, batch_size=BATCH, verbose=0)
        model.predict(INPUTS, batch_size=BATCH, verbose=0)
    expected = [f"train {batch}" for batch in range(2 * BATCHES)]
    expected += [f"{phase} {batch}" for phase in ("test", "predict") for batch in range(BATCHES)]
    assert labels(t) == expected
    ops = t.events[(t.events["kind"] == "op") & t.events["name"].str.contains("hidden")]
    assert set(ops["step"]) == set(range(len(expected)))


def test_a_data_set_of_unknown_length_gives_no_step_more(model: Any) -> None:
    def batches() -> Iterator[tuple[Any, Any]]:
        for _ in range(BATCHES):
            yield INPUTS[:BATCH], TARGETS[:BATCH]

    signature = (tf.TensorSpec((BATCH, 4)), tf.TensorSpec((BATCH, 1)))
    with tv.trace() as t:
        model.fit(tf.data.Dataset.from_generator(batches, output_signature=signature), verbose=0)
    assert labels(t) == [f"train {batch}" for batch in range(BATCHES)]


def test_a_custom_loop_has_a_step_an_iteration(model: Any) -> None:
    optimizer = keras.optimizers.SGD()

    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    data = tf.data.Dataset.from_tensor_slices((INPUTS, TARGETS)).batch(BATCH).map(lambda x, y: (x * 2, y))
    step = tf.function(train_step)
    step(INPUTS[:BATCH], TARGETS[:BATCH])
    with tv.trace() as t:
        for x, y in data:
            step(x, y)
    assert len(labels(t)) == BATCHES
    assert all("train_step" in label for label in labels(t))


def test_steps_that_the_code_marks_itself() -> None:
    with tv.trace() as t:
        for number in range(40, 43):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                squared(tf.ones((4, 4)))
    assert labels(t) == ["train 40", "train 41", "train 42"]


def test_whole_steps_alone(model: Any) -> None:
    with tv.trace(steps=True) as t:
        tf.matmul(tf.ones((4, 4)), tf.ones((4, 4)))
        fit(model)
    assert labels(t) == ["train 0", "train 1", "train 2"]
    assert (t.events["step"] >= 0).all()
    assert any("events of no step were left out" in note for note in t.notes)


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
        session.run("loss:0")
    assert len(t.sources) == 2
    assert len(t.profiles) == 1
    found = labels(t)
    assert [found[0], found[-1]] == ["loss", "loss"]
    assert len(found) == 3
    ops = t.events[t.events["kind"] == "op"]
    times = {name: ops[ops["name"] == name]["step"].tolist() for name in ("product", "square")}
    assert times == {"product": [0, 2], "square": [1]}
    assert t.events["task"].unique().tolist() == ["/job:localhost/replica:0/task:0"]
    assert any("repeat the session runs' own" in note for note in t.notes)
    # The clocks are one: a run's rows in the profile lie within the run.
    run = t.steps.iloc[2]
    hosts = t.events[(t.events["step"] == 2) & (t.events["kind"] == "host")]
    assert len(hosts)
    assert (hosts["start_ns"] >= run["start_ns"] - 1_000_000).all()
    assert (hosts["start_ns"] <= run["end_ns"] + 1_000_000).all()


def test_the_profiler_alone_has_session_runs_as_its_own_rows(session: Any) -> None:
    metadata = v1.RunMetadata()
    with tv.trace(mode="profiler") as t:
        # This level would make the run fail beside a profile.
        session.run("loss:0", options=v1.RunOptions(trace_level=3), run_metadata=metadata)
    assert len(metadata.step_stats.dev_stats) == 1
    assert t.sources == []
    assert "product" in set(t.events.loc[t.events["kind"] == "op", "name"])


def test_sessions_alone_leave_the_profiler_alone(session: Any, tmp_path: Path) -> None:
    with tv.trace(mode="session") as t:
        tf.profiler.experimental.start(str(tmp_path))
        squared(tf.ones((4, 4)))
        tf.profiler.experimental.stop()
        session.run("loss:0")
    assert t.profiles == []
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1
    with pytest.raises(tv.EmptyTraceError, match='mode="auto" records'), tv.trace(mode="session"):
        squared(tf.ones((4, 4)))


def test_an_exception_in_fit_leaves_what_ran_before_it(model: Any) -> None:
    class Stop(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            assert not logs
            if batch == 2:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), tv.trace() as t:
        fit(model, callbacks=[Stop()])
    assert labels(t) == ["train 0", "train 1"]


def test_an_interrupt_leaves_what_ran_before_it() -> None:
    def interrupted() -> None:
        squared(tf.ones((4, 4)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), tv.trace() as t:
        interrupted()
    assert "square" in set(t.events["name"])


def test_an_interrupt_while_the_profile_is_written_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tfvis_nb.recording.profile.written", interrupted)
    with pytest.raises(KeyboardInterrupt), tv.trace():
        squared(tf.ones((4, 4)))
    monkeypatch.undo()
    with tv.trace() as t:
        squared(tf.ones((4, 4)))
    assert "square" in set(t.events["name"])


def test_a_profile_that_cannot_be_written_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tfvis_nb.recording.profile.written", full)
    with pytest.raises(tv.EmptyTraceError, match=r"could not be written.*No space"), tv.trace():
        squared(tf.ones((4, 4)))


def test_a_profiler_that_is_already_active_is_left_alone(tmp_path: Path, session: Any) -> None:
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with tv.trace() as t:
            squared(tf.ones((4, 4)))
            session.run("loss:0")
    finally:
        tf.profiler.experimental.stop()
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1
    assert labels(t) == ["loss"]
    assert any("another profiler was active" in note for note in t.notes)


def test_recording_begins_when_the_other_profiler_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "RETRY_S", 0.0)
    tf.profiler.experimental.start(str(tmp_path))
    with tv.trace() as t:
        tf.ones((4, 4))
        tf.profiler.experimental.stop()
        squared(tf.ones((4, 4)))
    assert "square" in set(t.events["name"])


def test_the_codes_own_profiler_gets_its_way_and_nothing_is_lost(tmp_path: Path) -> None:
    first, second, third = (tf.ones((side, side)) for side in (2, 3, 4))

    named = tf.function(lambda x: tf.matmul(x, x, name=f"side{x.shape[0]}"))
    for each in (first, second, third):
        named(each)
    with tv.trace() as t:
        named(first)
        with tf.profiler.experimental.Profile(str(tmp_path)):
            named(second)
        named(third)
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1
    ops = t.events[t.events["kind"] == "op"]
    assert [name for name in ops["name"] if name.startswith("side")] == ["side2", "side3", "side4"]
    assert len(t.profiles) == 3
    assert len(labels(t)) == 3
    assert any("the code's own tf.profiler ran for a while" in note for note in t.notes)


def test_a_profile_of_the_codes_own_that_it_does_not_save_is_a_gap(tmp_path: Path) -> None:
    with tv.trace() as t:
        tf.profiler.experimental.start(str(tmp_path))
        squared(tf.ones((4, 4)))
        tf.profiler.experimental.stop(save=False)
        squared(tf.ones((4, 4)))
    assert (t.events["name"] == "square").sum() == 1
    assert any("a gap" in note for note in t.notes)


def test_a_profile_of_the_codes_own_that_outlasts_the_block(tmp_path: Path) -> None:
    with tv.trace() as t:
        squared(tf.ones((4, 4)))
        tf.profiler.experimental.start(str(tmp_path))
    squared(tf.ones((4, 4)))
    tf.profiler.experimental.stop()
    assert (t.events["name"] == "square").sum() == 1
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1


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


@pytest.fixture
def accelerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have full traces really asked for: TensorFlow then refuses one beside a profile on a CPU too."""
    monkeypatch.setattr(profiler_slot.ProfilerSlot, "_has_accelerator", lambda *_: True)


@pytest.mark.usefixtures("accelerated")
def test_full_traces_and_the_profile_keep_out_of_each_others_way(session: Any) -> None:
    def sessions() -> None:
        results.extend(session.run("loss:0") for _ in range(20))

    def functions() -> None:
        results.extend(float(squared(ones)) for _ in range(20))

    results: list[float] = []
    ones = tf.ones((2, 2))
    squared(ones)
    with tv.trace() as t:
        session.run("loss:0")
        threads = [threading.Thread(target=work) for work in (sessions, functions, sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        session.run("loss:0")
    assert sorted(set(results)) == [8, 32]
    assert len(results) == 60
    assert labels(t).count("loss") == 42
    ops = t.events[t.events["kind"] == "op"]
    assert (ops["name"] == "square").sum() == 20
    assert (ops["name"] == "product").sum() == 42
    assert any("traced beside the profile, which has the GPU rows" in note for note in t.notes)
    assert not any("without GPU rows" in note for note in t.notes)


@pytest.mark.usefixtures("accelerated")
def test_a_session_run_that_waits_for_eager_code_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "PATIENCE_S", 0.05)
    with tf.Graph().as_default() as graph:
        tf.py_function(lambda: tf.ones(()) + 1, [], tf.float32, name="eager")
    session = v1.Session(graph=graph)
    with tv.trace() as t:
        assert session.run("eager:0") == 2
    assert labels(t) == ["eager"]
    assert any("a traced session run held TensorFlow's one profiler" in note for note in t.notes)
    session.close()


def test_nothing_ran() -> None:
    with pytest.raises(tv.EmptyTraceError, match="TensorFlow ran nothing"), tv.trace():
        pass


def test_the_graphs_that_the_code_collects_itself_stay_its_own() -> None:
    tf.summary.trace_on(graph=True)
    try:
        with tv.trace() as t:
            squared(tf.ones((6, 6)))
        assert not any(t.graphs)
        assert len(context.context().export_run_metadata().function_graphs) > 0
    finally:
        tf.summary.trace_off()


MIRRORED = """
import keras, numpy as np, tensorflow as tf, tfvis_nb as tv
(cpu,) = tf.config.list_physical_devices("CPU")
with tv.trace(mode="session") as unused:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.constant(1))
# A recording that has seen no eager call leaves TensorFlow as it was: this is still possible.
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
with tv.trace() as t:
    model.fit(np.ones((24, 4)), np.ones((24, 1)), batch_size=8, verbose=0)
print(sorted(t.steps["label"][t.steps["step"] >= 0]))
print(t.events["op"].str.startswith("Collective").sum() >= 6)
"""


def test_replicas_of_a_mirrored_strategy() -> None:
    run = subprocess.run([sys.executable, "-c", MIRRORED], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["['train 0', 'train 1', 'train 2']", "True"]
