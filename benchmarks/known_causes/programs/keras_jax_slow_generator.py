"""Keras on JAX takes batches from a generator that decodes each sample in Python."""

import keras
import numpy as np

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/keras-team/keras/issues/5620"
CAUSE = {"input_bound"}
WHAT = {"activities": {"input": 0}}
BACKEND = "jax"

rows = [",".join(f"{number / 7:.4f}" for number in range(256)) for _ in range(256)]


def batches(slow):
    x = np.array([row.split(",") for row in rows], np.float32)
    while True:
        if slow:
            x = np.array([[float(value) for value in row.split(",")] for row in rows], np.float32)  # <<CAUSE
        yield x, x[:, :1]


def make(slow):
    layers = [keras.layers.Dense(512, "gelu"), keras.layers.Dense(256, "gelu"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((256,)), *layers])
    model.compile("sgd", "mse")
    clock = keras.callbacks.LambdaCallback(on_train_batch_begin=lambda *_, **__: step())

    def run(steps):
        model.fit(batches(slow), steps_per_epoch=steps, verbose=0, callbacks=[clock])

    return run
