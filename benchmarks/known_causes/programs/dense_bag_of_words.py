"""Sparse bags of words are made dense before they are multiplied."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/342"
CAUSE = {"host_compute"}
WHAT = None
WHY_NOT = "the product of the sparse matrix is not in the trace"
STEPS = 20
VOCABULARY, DOCUMENTS = 30_000, 96


def bags():
    rng = np.random.default_rng(13)
    rows = np.repeat(np.arange(DOCUMENTS), 40)
    columns = np.sort(rng.integers(0, VOCABULARY, (DOCUMENTS, 40)), axis=1).ravel()
    indices = np.unique(np.stack([rows, columns], axis=1), axis=0)
    return tf.SparseTensor(indices, tf.ones(len(indices)), (DOCUMENTS, VOCABULARY))


def make(slow):
    documents = bags()
    topics = tf.Variable(tf.random.normal((VOCABULARY, 24)))

    @tf.function
    def infer(sparse):
        if slow:
            dense = tf.sparse.to_dense(sparse)  # <<CAUSE
            mixture = tf.matmul(dense, topics)  # <<CAUSE
        else:
            mixture = tf.sparse.sparse_dense_matmul(sparse, topics)
        return tf.reduce_mean(tf.nn.softmax(mixture))

    def run(steps):
        for _ in range(steps):
            step()
            infer(documents)

    return run
