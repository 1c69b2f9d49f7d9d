"""A pipeline reads files one by one: its map has no num_parallel_calls, and nothing is prefetched."""

import time

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/tensorflow/tensorflow/issues/44274"
CAUSE = {"input_bound.all"}
# Each fit() starts the pipeline anew; also the twin's first batch waits for the disk.
ALSO = {"input_bound.first"}
WHAT = {"activities": {"input": 0}}
STEPS = 30


def read(number):
    time.sleep(0.02)  # The latency of a network disk. # <<CAUSE
    return np.full((64,), number % 10, np.float32)


def load(number):
    x = tf.numpy_function(read, [number], tf.float32)  # <<CAUSE
    x = tf.ensure_shape(x, (64,))
    return x, tf.reduce_mean(x, keepdims=True)


def make(slow):
    ids = tf.data.Dataset.range(1 << 40)
    if slow:
        data = ids.map(load).batch(4)  # <<CAUSE
    else:
        data = ids.map(load, num_parallel_calls=16).batch(4).prefetch(8)
        options = tf.data.Options()
        options.threading.private_threadpool_size = 16  # Or two cores load two files at once.
        data = data.with_options(options)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((64,)),
            tf.keras.layers.Dense(1024, "relu"),
            tf.keras.layers.Dense(2048, "relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    clock = keras_clock()

    def run(steps):
        model.fit(data, steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[clock])

    return run
