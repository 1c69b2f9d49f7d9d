"""Two workers of a parameter server; one of them got the larger files and sorts six times as many records."""

import tensorflow.compat.v1 as tf

from benchmarks.known_causes.clock import step
from benchmarks.known_causes.cluster import addresses, started

REPORTED = "https://github.com/tensorflow/tensorflow/issues/24953"
CAUSE = {"straggler.end", "straggler.barrier", "straggler.inputs"}
WHAT = {"on_time": "/job:worker/replica:0/task:1"}
STEPS = 20

processes = []


def make(slow):
    cluster = addresses(ps=1, worker=2)
    processes.extend((started(cluster, "ps", 0), started(cluster, "worker", 1)))
    server = tf.train.Server(tf.train.ClusterSpec(cluster), "worker", 0)
    tf.disable_eager_execution()
    with tf.device("/job:ps/task:0"):
        mean = tf.get_variable("mean", initializer=0.0)
    found = []
    for task in range(2):
        records = 300_000 if slow and task == 1 else 50_000
        with tf.device(f"/job:worker/task:{task}"):
            values = tf.random.uniform([records])
            ordered = tf.sort(values + mean)  # <<CAUSE
            found.append(ordered[records // 2])
    with tf.device("/job:ps/task:0"):
        update = mean.assign_add(1e-6 * tf.add_n(found))
    session = tf.Session(server.target)
    session.run(tf.global_variables_initializer())

    def run(steps):
        for _ in range(steps):
            step()
            session.run(update.op)

    return run


def close():
    for process in processes:
        process.kill()
