"""Each step of a generator encodes a grid of its samples as PNG and writes it to a file."""

import tempfile

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/Project-Strix/Strix/issues/56"
CAUSE = {"host_compute"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20


class Generator(tf.Module):
    def __init__(self, log):
        super().__init__()
        self.log, self.path = log, f"{tempfile.mkdtemp()}/samples.png"
        self.kernel = tf.Variable(tf.random.normal((256, 32 * 32 * 3)) / 16)

    @tf.function
    def step(self, noise):
        images = tf.reshape(tf.nn.sigmoid(noise @ self.kernel), (-1, 32, 32, 3))
        if self.log:
            grid = tf.reshape(images[:64], (8 * 32, 8 * 32, 3))  # <<CAUSE
            png = tf.io.encode_png(tf.cast(255 * grid, tf.uint8))  # <<CAUSE
            tf.io.write_file(self.path, png)  # <<CAUSE
        self.kernel.assign_add(1e-6 * self.kernel)
        return tf.reduce_mean(images)


def make(slow):
    generator, noise = Generator(slow), tf.random.normal((512, 256))

    def run(steps):
        for _ in range(steps):
            step()
            generator.step(noise)

    return run
