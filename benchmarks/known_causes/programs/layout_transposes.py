"""Images stay channels-first, and each convolution transposes them there and back."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/minigo/issues/974"
CAUSE = {"host_compute"}
WHAT = {"ops": {"*Transpose": 0}}
STEPS = 20


class Block(tf.Module):
    def __init__(self, channels, channels_first):
        super().__init__()
        self.kernel = tf.Variable(tf.random.normal((1, 1, channels, channels)) / 4)
        self.channels_first = channels_first

    def __call__(self, x):
        if self.channels_first:
            x = tf.transpose(x, (0, 2, 3, 1))  # <<CAUSE
        x = tf.nn.conv2d(x, self.kernel, 1, "SAME")
        return tf.transpose(x, (0, 3, 1, 2)) if self.channels_first else x  # <<CAUSE


def make(slow):
    blocks = [Block(6, slow) for _ in range(3)]
    images = tf.random.normal((16, 6, 128, 128) if slow else (16, 128, 128, 6))

    @tf.function
    def forward(x):
        for block in blocks:
            x = block(x)
            x = tf.grad_pass_through(tf.identity)(x) + 1e-3 * tf.reduce_mean(x[:1])
        return tf.reduce_mean(x)

    def run(steps):
        for _ in range(steps):
            step()
            forward(images)

    return run
