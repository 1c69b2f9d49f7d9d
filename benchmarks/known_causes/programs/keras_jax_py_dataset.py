"""Keras on JAX takes batches from a PyDataset without workers, which reads slowly."""

import time

import keras
import numpy as np

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/keras-team/keras/issues/2730"
CAUSE = {"input_bound"}
WHAT = {"activities": {"input": 0}}
BACKEND = "jax"


def make(slow):
    class Files(keras.utils.PyDataset):
        def __init__(self, steps):
            super().__init__()
            self.steps = steps
            self.x = np.random.default_rng(5).random((512, 256), np.float32)

        def __len__(self):
            return self.steps

        def __getitem__(self, number):
            if slow:
                time.sleep(0.04)  # <<CAUSE
            return self.x, self.x[:, :1]

    layers = [keras.layers.Dense(512, "relu"), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((256,)), *layers])
    model.compile("sgd", "mse")
    clock = keras.callbacks.LambdaCallback(on_train_batch_begin=lambda *_, **__: step())

    def run(steps):
        model.fit(Files(steps), verbose=0, shuffle=False, callbacks=[clock])

    return run
