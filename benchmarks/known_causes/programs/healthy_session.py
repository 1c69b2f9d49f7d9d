"""Nothing is wrong: a finalized graph in a MonitoredSession, with its input in a variable."""

import tensorflow.compat.v1 as tf

from benchmarks.known_causes.clock import step

CAUSE = {}
STEPS = 25

tf.disable_eager_execution()


def make(_slow):
    tf.train.get_or_create_global_step()
    x = tf.get_variable("x", initializer=tf.random_normal([256, 512]), trainable=False)
    h = x
    for layer in range(5):
        w = tf.get_variable(f"w{layer}", [512, 512], initializer=tf.random_normal_initializer(stddev=0.04))
        h = tf.nn.elu(tf.matmul(h, w))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(tf.square(h)))
    session = tf.train.MonitoredSession()

    def run(steps):
        for _ in range(steps):
            step()
            session.run(train)

    return run
