"""Independent matrices are handled by tf.map_fn with parallel_iterations=1, instead of in one batch."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/24774"
CAUSE = {"host_compute"}
WHAT = None
WHY_NOT = "what the batched op would take is not in the trace"
STEPS = 20


def power(matrix):
    return tf.reduce_sum(tf.linalg.matmul(matrix, matrix), axis=-1)


def make(slow):
    matrices = tf.random.normal((500, 16, 16))
    bias = tf.Variable(tf.zeros((16,)))

    @tf.function
    def train(x):
        if slow:
            found = tf.map_fn(power, x, parallel_iterations=1)  # <<CAUSE
        else:
            found = power(x)
        bias.assign(0.9 * bias + 0.1 * tf.reduce_mean(found, axis=0))
        return bias[0]

    def run(steps):
        for _ in range(steps):
            step()
            train(matrices)

    return run
