"""Nothing is wrong: a tf.function, called in a loop, whose time is its matrix products."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

CAUSE = {}
STEPS = 30

weights = [tf.Variable(tf.random.normal((512, 512)) / 22) for _ in range(4)]


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        h = x
        for weight in weights:
            h = tf.tanh(h @ weight)
        loss = tf.reduce_mean(h**2)
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        weight.assign_sub(1e-3 * gradient)
    return loss


def make(_slow):
    x = tf.random.normal((128, 512))

    def run(steps):
        for _ in range(steps):
            step()
            train_step(x)

    return run
