"""A function compiled by XLA gets a sequence of another length in each call: traced once, compiled often."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/81896"
CAUSE = {"compiling.all", "retracing"}
WHAT = {"activities": {"compile": 0}}
STEPS = 12

embedding = tf.random.normal((100, 32))
query, key = tf.random.normal((32, 32)) / 6, tf.random.normal((32, 32)) / 6


@tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None], tf.int32)])
def attend(words):
    x = tf.gather(embedding, words)
    scores = tf.nn.softmax(tf.matmul(x @ query, x @ key, transpose_b=True))
    return tf.reduce_sum(scores @ x)


def lengths():
    length = 40
    while True:
        length += 3
        yield length


def make(slow):
    found = lengths()

    def run(steps):
        for _ in range(steps):
            step()
            length = next(found) if slow else 256
            words = tf.range(length) % 100
            attend(words)  # <<CAUSE

    return run
