"""Nothing is wrong: an LSTM, whose many small steps are what an LSTM is, fed by a cached pipeline."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

CAUSE = {}
STEPS = 15


def make(_slow):
    words = np.random.default_rng(22).integers(0, 500, (256, 24))
    data = (
        tf.data.Dataset.from_tensor_slices((words, words[:, :1] % 2)).batch(64).cache().repeat().prefetch(2)
    )
    model = tf.keras.Sequential(
        [
            tf.keras.Input((24,), dtype="int32"),
            tf.keras.layers.Embedding(500, 48),
            tf.keras.layers.LSTM(64),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])

    return run
