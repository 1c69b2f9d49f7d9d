"""A loop takes each batch from a new iterator: next(iter(dataset)) starts the whole pipeline again."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/17958"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20


def make(slow):
    table = np.random.default_rng(6).random((20_000, 32), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(table).shuffle(4_000).repeat().batch(64).prefetch(2)
    weights = tf.Variable(tf.random.normal((32, 32)))
    batches = iter(dataset)

    @tf.function
    def train(x):
        weights.assign_sub(1e-5 * tf.matmul(x, x @ weights, transpose_a=True))

    def run(steps):
        for _ in range(steps):
            step()
            x = next(iter(dataset)) if slow else next(batches)  # <<CAUSE
            train(x)

    return run
