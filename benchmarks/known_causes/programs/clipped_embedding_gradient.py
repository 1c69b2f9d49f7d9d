"""The gradient of a large embedding is made dense to clip it, so the optimizer updates every row."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/keras-team/keras/issues/4365"
CAUSE = {"host_compute"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20
ROWS = 60_000


class Embedder(tf.Module):
    def __init__(self, dense):
        super().__init__()
        self.dense = dense
        self.table = tf.Variable(tf.random.normal((ROWS, 64)))
        self.head = tf.Variable(tf.random.normal((64, 1)))

    @tf.function
    def train_step(self, ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.gather(self.table, ids) @ self.head) ** 2)
        on_table, on_head = tape.gradient(loss, [self.table, self.head])
        self.head.assign_sub(0.01 * on_head)
        if self.dense:
            self.table.assign_sub(0.01 * tf.clip_by_value(tf.convert_to_tensor(on_table), -1, 1))  # <<CAUSE
        else:
            update = tf.IndexedSlices(0.01 * tf.clip_by_value(on_table.values, -1, 1), on_table.indices)
            self.table.scatter_sub(update)
        return loss


def make(slow):
    model = Embedder(slow)
    ids = tf.constant(np.random.default_rng(10).integers(0, ROWS, 512))

    def run(steps):
        for _ in range(steps):
            step()
            model.train_step(ids)

    return run
