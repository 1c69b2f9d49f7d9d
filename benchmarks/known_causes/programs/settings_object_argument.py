"""A step takes its settings as a Python object that is made anew for each step."""

import dataclasses

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/34025"
CAUSE = {"retracing", "compiling.all"}
WHAT = {"activities": {"compile": 0}}
STEPS = 15


@dataclasses.dataclass(eq=False)
class Settings:
    dropout: float
    depth: int = 5


class Model:
    def __init__(self):
        self.w = tf.Variable(tf.random.normal((96, 96)) / 10)

    @tf.function
    def step(self, x, settings):
        for _ in range(settings.depth):
            x = tf.nn.dropout(tf.nn.elu(x @ self.w), settings.dropout)
        self.w.assign_sub(1e-6 * tf.matmul(x, x, transpose_a=True))
        return tf.reduce_mean(x)


def make(slow):
    model, x, shared = Model(), tf.random.normal((64, 96)), Settings(0.1)

    def run(steps):
        for _ in range(steps):
            step()
            model.step(x, Settings(0.1) if slow else shared)  # <<CAUSE

    return run
