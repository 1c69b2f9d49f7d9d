"""A text model gets batches that are padded to their own longest sentence, a new length each time."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/38561"
CAUSE = {"retracing", "compiling.all"}
WHAT = {"activities": {"compile": 0}}
STEPS = 12
WORDS = 2000


class Tagger(tf.Module):
    def __init__(self):
        super().__init__()
        self.table = tf.Variable(tf.random.normal((WORDS, 32)))
        self.dense = tf.Variable(tf.random.normal((32, 10)))

    @tf.function
    def train_step(self, words):
        with tf.GradientTape() as tape:
            logits = tf.nn.embedding_lookup(self.table, words) @ self.dense
            loss = tf.reduce_logsumexp(logits)
        gradient = tape.gradient(loss, self.dense)
        self.dense.assign_sub(1e-4 * gradient)
        return loss


class Batches:
    """Sentences of random lengths."""

    def __init__(self, slow):
        self.slow, self.rng, self.length = slow, np.random.default_rng(1), 10

    def __iter__(self):
        while True:
            self.length += 1
            longest = self.length if self.slow else 256
            yield self.rng.integers(0, WORDS, (32, longest))


def make(slow):
    model, batches = Tagger(), iter(Batches(slow))

    def run(steps):
        for _ in range(steps):
            step()
            words = tf.constant(next(batches), tf.int32)
            model.train_step(words)  # <<CAUSE

    return run
