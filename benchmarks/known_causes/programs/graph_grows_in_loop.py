"""A loop of a session adds ops to the graph in each round, to decay a learning rate."""

import numpy as np
import tensorflow.compat.v1 as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://planspace.org/20170404-how_not_to_program_the_tensorflow_graph/"
CAUSE = {"between_steps", "compiling.all"}
WHAT = None
WHY_NOT = "a session builds and places the graph before the step, without events"
STEPS = 20

tf.disable_eager_execution()


def make(slow):
    x = tf.placeholder(tf.float32, [None, 64])
    h = x
    for layer in range(12):
        w = tf.get_variable(f"w{layer}", [64, 64], initializer=tf.random_normal_initializer(stddev=0.12))
        h = tf.tanh(tf.matmul(h, w))
    loss = tf.reduce_mean(h**2)
    rate = tf.get_variable("rate", initializer=0.1, trainable=False)
    decay = rate.assign(rate * 0.999)
    train = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss)
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    batch = np.random.default_rng(8).normal(size=(32, 64))

    def run(steps):
        for _ in range(steps):
            step()
            sess.run(train, {x: batch})
            if slow:
                sess.run(rate.assign(tf.multiply(rate, 0.999)))  # <<CAUSE
            else:
                sess.run(decay)

    return run
