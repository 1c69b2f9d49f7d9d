"""A Keras metric sorts scores in NumPy, by a numpy_function inside of the step."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/tensorflow/tensorflow/issues/37876"
CAUSE = {"host_compute"}
WHAT = {"ops": {"PyFunc": 0}}
STEPS = 25


def ranked(labels, scores):
    order = np.argsort(np.tile(scores.ravel(), 400))  # <<CAUSE
    return np.float32(order[: len(order) // 2].std() + labels.mean())


def auc(y_true, y_pred):
    value = tf.numpy_function(ranked, [y_true, y_pred], tf.float32)  # <<CAUSE
    return tf.ensure_shape(value, ())


def make(slow):
    x = np.random.default_rng(2).random((4096, 32)).astype("float32")
    y = (x.sum(1, keepdims=True) > 16).astype("float32")
    model = tf.keras.Sequential(
        [
            tf.keras.Input((32,)),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=[auc] if slow else [])
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(512).cache().repeat().prefetch(2)

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])

    return run
