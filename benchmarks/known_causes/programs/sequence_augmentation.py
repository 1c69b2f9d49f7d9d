"""A Keras PyDataset augments its images one by one, in loops of Python."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/keras-team/keras/issues/11727"
CAUSE = {"input_bound.all"}
WHAT = {"activities": {"input": 0}}
STEPS = 20
SIZE = 24

Base = tf.keras.utils.PyDataset if hasattr(tf.keras.utils, "PyDataset") else tf.keras.utils.Sequence


class Images(Base):
    def __init__(self, count, batch, augment):
        super().__init__()
        rng = np.random.default_rng(0)
        self.images = rng.random((count, SIZE, SIZE, 1), dtype=np.float32)
        self.labels = rng.integers(0, 10, count)
        self.batch, self.augment = batch, augment

    def __len__(self):
        return len(self.images) // self.batch

    def __getitem__(self, index):
        chosen = slice(index * self.batch, (index + 1) * self.batch)
        images = self.images[chosen]
        if self.augment:
            images = np.stack([jitter(image) for image in images])  # <<CAUSE
        return images, self.labels[chosen]


def jitter(image):
    out = np.empty_like(image)
    for row in range(SIZE):
        for column in range(SIZE):
            out[row, column] = image[row, -column] * 0.9 + 0.05  # <<CAUSE
    return out


def make(slow):
    data = Images(32 * 200, 32, augment=slow)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((SIZE, SIZE, 1)),
            tf.keras.layers.Conv2D(8, 3, activation="relu"),
            tf.keras.layers.GlobalAveragePooling2D(),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, shuffle=False, callbacks=[keras_clock()])

    return run
