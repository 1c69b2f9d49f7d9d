"""A session is fed the whole table as Python lists of float64 in each run, to gather a few rows of it."""

import numpy as np
import tensorflow.compat.v1 as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/zizhaozhang/unet-tensorflow-keras/issues/12"
CAUSE = {"between_steps"}
WHAT = None
WHY_NOT = "the feed is converted in Python, before the step"
STEPS = 20


def make(slow):
    tf.disable_eager_execution()
    table = np.random.default_rng(4).random((400, 256))
    rows = tf.placeholder(tf.int32, [None])
    if slow:
        features = tf.placeholder(tf.float32, [400, 256])
        feed = {features: table.tolist()}
    else:
        features = tf.Variable(table.astype("float32"), trainable=False)
        feed = {}
    weights = tf.Variable(tf.random.normal([256, 64]))
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.gather(features, rows), weights)))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    chosen = np.arange(128)

    def run(steps):
        for _ in range(steps):
            step()
            session.run([train, loss], feed_dict={rows: chosen, **feed})  # <<CAUSE

    return run
