"""A training step writes histograms of all its weights and gradients each time."""

import tempfile

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/sherjilozair/char-rnn-tensorflow/issues/112"
CAUSE = {"host_compute"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20

layers = [tf.Variable(tf.random.normal((256, 256)) / 16, name=f"layer{number}") for number in range(4)]


def make(slow):
    writer = tf.summary.create_file_writer(tempfile.mkdtemp())

    @tf.function
    def train_step(x, number):
        with tf.GradientTape() as tape:
            h = x
            for layer in layers:
                h = tf.nn.relu(h @ layer)
            loss = tf.reduce_mean(h)
        for layer, gradient in zip(layers, tape.gradient(loss, layers), strict=True):
            layer.assign_sub(1e-3 * gradient)
        if slow:
            with writer.as_default(step=number):
                for layer in layers:
                    tf.summary.histogram(layer.name, layer)  # <<CAUSE
        return loss

    x = tf.random.normal((16, 256))

    def run(steps):
        for number in range(steps):
            step()
            train_step(x, tf.constant(number, tf.int64))

    return run
