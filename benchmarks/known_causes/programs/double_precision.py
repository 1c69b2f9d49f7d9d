"""Weights come from NumPy as float64, so the whole step runs in double precision."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/community/issues/23"
CAUSE = {"host_compute"}
WHAT = {"lines": {"<<CAUSE": 0.5}}
STEPS = 25

rng = np.random.default_rng(9)


def make(slow):
    dtype = np.float64 if slow else np.float32
    first = tf.Variable(rng.normal(size=(512, 1024)).astype(dtype) / 30)
    x = tf.constant(rng.normal(size=(256, 512)).astype(dtype))

    @tf.function
    def project(inputs):
        wide = tf.matmul(inputs, first)  # <<CAUSE
        return tf.reduce_mean(wide[:, :8])

    def run(steps):
        for _ in range(steps):
            step()
            project(x)

    return run
