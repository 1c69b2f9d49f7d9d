"""Nothing is wrong: a Keras model whose time is its dense layers, with data from memory."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

CAUSE = {}
STEPS = 25


def make(_slow):
    x = np.random.default_rng(20).random((2048, 256), dtype=np.float32)
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :8])).cache().shuffle(512).repeat().batch(256)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((256,)),
            tf.keras.layers.Dense(768, activation="relu"),
            tf.keras.layers.Dense(768, activation="relu"),
            tf.keras.layers.Dense(8),
        ]
    )
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    data = data.prefetch(tf.data.AUTOTUNE)

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])

    return run
