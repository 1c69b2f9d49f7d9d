"""A worker copies a whole embedding table from its parameter server in each step, to use a few rows of it."""

import numpy as np
import tensorflow.compat.v1 as tf

from benchmarks.known_causes.clock import step
from benchmarks.known_causes.cluster import addresses, started

REPORTED = "https://github.com/tensorflow/tensorflow/issues/5892"
CAUSE = {"communication"}
WHAT = {"activities": {"communication": 0}}
STEPS = 20

processes = []


def make(slow):
    cluster = addresses(ps=1, worker=1)
    processes.append(started(cluster, "ps", 0))
    server = tf.train.Server(tf.train.ClusterSpec(cluster), "worker", 0)
    tf.disable_eager_execution()
    with tf.device("/job:ps/task:0"):
        table = tf.get_variable("table", [40_000, 64], initializer=tf.random_normal_initializer())
    ids = tf.placeholder(tf.int32, [None])
    with tf.device("/job:worker/task:0" if slow else "/job:ps/task:0"):
        rows = tf.gather(tf.identity(table) if slow else table, ids)  # <<CAUSE
    with tf.device("/job:worker/task:0"):
        score = tf.reduce_sum(tf.square(rows))
    session = tf.Session(server.target)
    session.run(tf.global_variables_initializer())
    chosen = np.arange(0, 40_000, 400)

    def run(steps):
        for _ in range(steps):
            step()
            session.run(score, {ids: chosen})

    return run


def close():
    for process in processes:
        process.kill()
