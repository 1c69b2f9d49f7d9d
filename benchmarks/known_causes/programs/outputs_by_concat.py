"""A decoder grows its output by concat in each round, so it copies all earlier rounds again."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/12808"
CAUSE = {"host_compute"}
WHAT = {"ops": {"ConcatV2": 0}}
STEPS = 15
ROUNDS = 20


def make(slow):
    w = tf.Variable(tf.random.normal((512, 512)) / 23)

    @tf.function
    def decode(state):
        outputs = tf.zeros((0, 1024, 512))
        array = tf.TensorArray(tf.float32, ROUNDS)
        for number in range(ROUNDS):
            state = tf.tanh(tf.matmul(state, w))
            wide = tf.broadcast_to(state[None, :1], (1, 1024, 512))
            if slow:
                outputs = tf.concat([outputs, wide], axis=0)  # <<CAUSE
            else:
                array = array.write(number, state[:1])
        return tf.reduce_sum(outputs[-1, :4]) if slow else tf.reduce_sum(array.stack()[-1])

    state = tf.random.normal((64, 512))

    def run(steps):
        for _ in range(steps):
            step()
            decode(state)

    return run
