"""A Keras model looks words up by a product with their one-hot vectors."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/dennybritz/cnn-text-classification-tf/issues/62"
CAUSE = {"host_compute"}
WHAT = {"layers": {"*one_hot_lookup": 0}}
STEPS = 20
WORDS = 8000


@tf.keras.utils.register_keras_serializable()
class OneHotLookup(tf.keras.layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(WORDS, 48), name="table", trainable=False)

    def call(self, words):
        hot = tf.one_hot(words, WORDS)  # <<CAUSE
        return tf.tensordot(hot, self.table, 1)  # <<CAUSE


def make(slow):
    words = np.random.default_rng(11).integers(0, WORDS, (64, 20))
    lookup = OneHotLookup() if slow else tf.keras.layers.Embedding(WORDS, 48)
    lookup.trainable = False
    model = tf.keras.Sequential(
        [
            tf.keras.Input((20,), dtype="int32"),
            lookup,
            tf.keras.layers.GlobalMaxPooling1D(),
            tf.keras.layers.Dense(1024, activation="relu"),
            tf.keras.layers.Dense(1024, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensors((words, np.zeros((64, 1), "float32"))).repeat().prefetch(2)

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])

    return run
