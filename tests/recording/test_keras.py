"""Training by Keras and in loops of one's own: every batch is a step."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.recording.work import BATCH, BATCHES, INPUTS, TARGETS, fit, labels
from tests.support.with_tensorflow import run
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.tensorflow


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


def test_batches_of_an_eager_model_are_marked(model: Any) -> None:
    model.run_eagerly = True
    with tv.trace() as t:
        fit(model)
    batches = t.events[t.events["op"] == "train"]
    assert set(batches["detail"]) == {f"step_num={batch} run_eagerly=1" for batch in range(BATCHES)}
    advice = t.findings.set_index("id")["advice"]
    assert "without run_eagerly" in advice["host_compute"]


@pytest.mark.parametrize("work", ["evaluate", "predict"])
def test_batches_of_a_callback_are_no_training(model: Any, work: str) -> None:
    class Watch(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            assert batch < BATCHES
            assert logs
            given = {"evaluate": (INPUTS, TARGETS), "predict": (INPUTS,)}[work]
            getattr(self.model, work)(*given, batch_size=2 * BATCH, verbose=0)

    with tv.trace() as t:
        fit(model, callbacks=[Watch()])
    found = labels(t)
    assert [label for label in found if label.startswith("train")] == [
        f"train {batch}" for batch in range(BATCHES)
    ]
    assert len({label.partition(" ")[0] for label in found}) == 2
    steps = t.steps[t.steps["step"] >= 0].sort_values("start_ns")
    assert (steps["start_ns"].to_numpy()[1:] >= steps["end_ns"].to_numpy()[:-1]).all()
    assert found[0] == "train 0"
    assert not found[1].startswith("train")


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


def test_whole_steps_alone(model: Any) -> None:
    with tv.trace(steps=True) as t:
        tf.matmul(tf.ones((4, 4)), tf.ones((4, 4)))
        fit(model)
    assert labels(t) == ["train 0", "train 1", "train 2"]
    assert (t.events["step"] >= 0).all()
    assert any(id_of(note) == "loose_events_left_out" for note in t.notes)


def test_an_exception_in_fit_leaves_what_ran_before_it(model: Any) -> None:
    class Stop(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            assert not logs
            if batch == 2:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), tv.trace() as t:
        fit(model, callbacks=[Stop()])
    assert labels(t) == ["train 0", "train 1"]


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


@pytest.mark.thorough
def test_replicas_of_a_mirrored_strategy(tmp_path: Path) -> None:
    printed, _ = run("-c", MIRRORED, folder=tmp_path)
    assert printed.splitlines() == ["['train 0', 'train 1', 'train 2']", "True"]
