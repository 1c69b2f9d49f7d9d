"""MultiWorkerMirroredStrategy: the second worker's input is slow, so the first waits in its all-reduce."""

import json
import os
import time

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/60245"
CAUSE = {"straggler.collective", "straggler.end", "input_bound.all", "between_steps"}
# The generator that sleeps is Python code of the loop. All-reduce by gRPC takes longer than a matmul
# of 128 x 128.
ALSO = {"host_compute", "communication"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 15
TASKS = 2


def make(slow):
    task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    def read():
        rng = np.random.default_rng(task)
        while True:
            if slow and task == 1:
                time.sleep(0.03)  # <<CAUSE
            yield rng.random((32, 128), np.float32)

    with strategy.scope():
        weights = tf.Variable(tf.random.normal((128, 128), seed=1) / 12)

    @tf.function
    def train(batch):
        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.tanh(x @ weights) ** 2)
            gradient = tape.gradient(loss, weights)
            context = tf.distribute.get_replica_context()
            weights.assign_sub(0.01 * context.all_reduce("sum", gradient))

        strategy.run(replica, (batch,))

    batches = read()

    def run(steps):
        for _ in range(steps):
            step()
            train(tf.constant(next(batches)))  # <<CAUSE

    return run
