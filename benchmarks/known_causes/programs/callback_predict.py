"""A Keras callback predicts a monitoring set after each batch."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/keras-team/keras/issues/5008"
CAUSE = {"between_steps"}
# Each predict() makes an iterator for its eight batches; the first one waits for it.
ALSO = {"slow_steps.periodic"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20


class Watch(tf.keras.callbacks.Callback):
    def __init__(self, x):
        super().__init__()
        self.x, self.seen = x, []

    def on_train_batch_end(self, batch, logs=None):
        predicted = self.model.predict(self.x, verbose=0)  # <<CAUSE
        self.seen.append(float(predicted.mean()))


def make(slow):
    rng = np.random.default_rng(3)
    x, y = rng.random((2048, 24), np.float32), rng.integers(0, 5, 2048)
    inputs = tf.keras.Input((24,))
    hidden = tf.keras.layers.Dense(200, activation="tanh")(inputs)
    outputs = tf.keras.layers.Dense(5)(hidden)
    model = tf.keras.Model(inputs, outputs)
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    data = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(256, drop_remainder=True)
    watch = [Watch(x[:256])] if slow else []

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock(), *watch])

    return run
