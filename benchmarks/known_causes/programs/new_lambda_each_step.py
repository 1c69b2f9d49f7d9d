"""A loop over learning rates wraps a new lambda in tf.function for each batch."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/34025"
CAUSE = {"retracing", "compiling.all"}
WHAT = {"activities": {"compile": 0}}
STEPS = 15

weights = [tf.Variable(tf.random.normal((64, 64)) / 8) for _ in range(6)]
optimizer = tf.keras.optimizers.SGD(1e-3)
optimizer.build(weights)


def forward(x):
    for w in weights:
        x = tf.nn.relu(x @ w)
    return x


def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((forward(x) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
    return loss


compiled = tf.function(train)


def make(slow):
    rng = np.random.default_rng(0)
    batches = [tf.constant(rng.random((128, 64)), tf.float32) for _ in range(4)]

    def run(steps):
        for number in range(steps):
            step()
            x = batches[number % 4]
            if slow:
                fn = tf.function(lambda a, b: train(a, b))  # <<CAUSE
                fn(x, x)  # <<CAUSE
            else:
                compiled(x, x)

    return run
