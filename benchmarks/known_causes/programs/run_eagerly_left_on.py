"""A model was compiled with run_eagerly=True to debug it, and stayed so."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/USGS-R/river-dl/pull/109"
CAUSE = {"host_compute"}
WHAT = None
WHY_NOT = "what the ops would take in a graph is not in the trace"
STEPS = 15


class Residual(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.inner = tf.keras.layers.Dense(units, activation="gelu")
        self.norm = tf.keras.layers.LayerNormalization()

    def call(self, x):
        return x + self.norm(self.inner(x))  # <<CAUSE


def make(slow):
    x = np.random.default_rng(7).random((640, 48), dtype=np.float32)
    model = tf.keras.Sequential([tf.keras.Input((48,)), *(Residual(48) for _ in range(6))])
    model.compile("adam", "mse", run_eagerly=slow)  # <<CAUSE
    data = tf.data.Dataset.from_tensor_slices((x, x)).repeat().batch(32).prefetch(4)

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])  # <<CAUSE

    return run
