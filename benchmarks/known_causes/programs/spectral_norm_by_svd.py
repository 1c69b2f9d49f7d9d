"""A spectral penalty takes a whole singular value decomposition in each step, for one number."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/13603"
CAUSE = {"host_compute"}
WHAT = {"ops": {"Svd": 0}}
STEPS = 25

kernel = tf.Variable(tf.random.normal((256, 256)))
head = tf.Variable(tf.random.normal((256, 16)))
vector = tf.Variable(tf.random.normal((256, 1)))


def largest_exact(matrix):
    return tf.linalg.svd(matrix, compute_uv=False)[0]  # <<CAUSE


def largest_by_power_iteration(matrix):
    v = tf.math.l2_normalize(tf.matmul(matrix, matrix @ vector, transpose_a=True))
    vector.assign(v)
    return tf.norm(matrix @ v)


def make(slow):
    norm = largest_exact if slow else largest_by_power_iteration

    @tf.function
    def update(x, y):
        normal = kernel / norm(kernel)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ normal) @ head - y))
        head.assign_sub(0.01 * tape.gradient(loss, head))
        return loss

    x, y = tf.random.normal((2048, 256)), tf.zeros((2048, 16))

    def run(steps):
        for _ in range(steps):
            step()
            update(x, y)

    return run
