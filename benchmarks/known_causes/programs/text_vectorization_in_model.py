"""A text model splits and looks up its strings inside of each training step."""

import numpy as np
import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/ageron/handson-ml2/issues/441"
CAUSE = {"host_compute"}
WHAT = {"layers": {"*text_vectorization": 0}}
STEPS = 20

words = [f"word{number}" for number in range(1000)]
rng = np.random.default_rng(12)
texts = [" ".join(rng.choice(words, 60)) for _ in range(256)]


def make(slow):
    vectorize = tf.keras.layers.TextVectorization(vocabulary=words, output_sequence_length=60)
    body = [
        tf.keras.layers.Embedding(1002, 16),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1),
    ]
    if slow:
        inputs = tf.keras.Input((1,), dtype="string")
        x = vectorize(inputs)  # <<CAUSE
        given = np.array(texts)[:, None]
    else:
        inputs = x = tf.keras.Input((60,), dtype="int64")
        given = vectorize(np.array(texts)[:, None])
    for layer in body:
        x = layer(x)
    model = tf.keras.Model(inputs, x)
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensors((tf.constant(given), tf.zeros((len(texts), 1)))).repeat().prefetch(2)

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])

    return run
