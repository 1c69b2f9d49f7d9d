"""A custom training loop with a GradientTape whose step is no tf.function."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/zzh8829/yolov3-tf2/issues/2"
CAUSE = {"host_compute"}
WHAT = None
WHY_NOT = "what the ops would take in a graph is not in the trace"
STEPS = 20


class Block(tf.Module):
    def __init__(self, width):
        super().__init__()
        self.w = tf.Variable(tf.random.normal((width, width), stddev=0.1))
        self.gain = tf.Variable(tf.ones((width,)))

    def __call__(self, x):
        h = x @ self.w
        mean, variance = tf.nn.moments(h, axes=[-1], keepdims=True)
        return x + tf.nn.gelu((h - mean) * tf.math.rsqrt(variance + 1e-5) * self.gain)


blocks = [Block(32) for _ in range(8)]
variables = [variable for block in blocks for variable in block.trainable_variables]


def train_step(x):
    with tf.GradientTape() as tape:
        h = x
        for block in blocks:
            h = block(h)  # <<CAUSE
        loss = tf.reduce_mean(h**2)
    gradients = tape.gradient(loss, variables)  # <<CAUSE
    for variable, gradient in zip(variables, gradients, strict=True):
        variable.assign_sub(1e-3 * gradient)
    return loss


def make(slow):
    x = tf.constant(np.random.default_rng(5).normal(size=(16, 32)), tf.float32)
    one = train_step if slow else tf.function(train_step)

    def run(steps):
        for _ in range(steps):
            step()
            one(x)  # <<CAUSE

    return run
