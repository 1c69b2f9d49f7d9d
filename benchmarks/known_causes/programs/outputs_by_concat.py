"""A decoder grows its output by concat in each round, so it copies all earlier rounds again."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/12808"
CAUSE = {"host_compute"}
WHAT = {"ops": {"ConcatV2": 0}}
STEPS = 15
ROUNDS = 30


def make(slow):
    w = tf.Variable(tf.random.normal((64, 64)) / 8)

    @tf.function
    def decode(state):
        if slow:
            outputs = tf.zeros((0, 1024, 64))
            for _ in tf.range(ROUNDS):
                tf.autograph.experimental.set_loop_options(
                    shape_invariants=[(outputs, tf.TensorShape([None, 1024, 64]))]
                )
                state = tf.tanh(tf.matmul(state, w))
                outputs = tf.concat([outputs, state[None]], axis=0)  # <<CAUSE
            return tf.reduce_sum(outputs[-1])
        array = tf.TensorArray(tf.float32, ROUNDS)
        for number in tf.range(ROUNDS):
            state = tf.tanh(tf.matmul(state, w))
            array = array.write(number, state)
        return tf.reduce_sum(array.stack()[-1])

    state = tf.random.normal((1024, 64))

    def run(steps):
        for _ in range(steps):
            step()
            decode(state)

    return run
