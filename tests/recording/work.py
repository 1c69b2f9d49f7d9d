"""Work for TensorFlow to do, and what to read of its trace."""

from typing import Any

import numpy as np
import tensorflow as tf

import tfvis_nb as tv

BATCH, BATCHES = 8, 3
INPUTS = np.ones((BATCH * BATCHES, 4), "float32")
TARGETS = np.ones((BATCH * BATCHES, 1), "float32")


def sum_of_squares(x: Any) -> Any:
    return tf.reduce_sum(tf.matmul(x, x, name="square"), name="total")


squared = tf.function(sum_of_squares)


def fit(model: Any, **options: Any) -> Any:
    return model.fit(INPUTS, TARGETS, batch_size=BATCH, verbose=0, **options)


def labels(trace: tv.Trace) -> list[str]:
    return [label for step, label in zip(trace.steps["step"], trace.steps["label"], strict=True) if step >= 0]
