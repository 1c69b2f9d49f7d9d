"""A loop collects garbage after each step, against a leak that is gone; the heap is large."""

import gc

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/keras-team/keras/issues/3939"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20

vocabulary = [{"word": f"w{number}", "counts": [number, number + 1]} for number in range(8_000)]


def make(slow):
    kernel = tf.Variable(tf.random.normal((5, 5, 3, 12)) / 8)

    @tf.function
    def train(images):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.conv2d(images, kernel, 2, "SAME") ** 2)
        kernel.assign_sub(0.01 * tape.gradient(loss, kernel))
        return loss

    images = tf.random.normal((8, 48, 48, 3))

    def run(steps):
        for _ in range(steps):
            step()
            train(images)
            if slow:
                gc.collect()  # <<CAUSE

    return run
