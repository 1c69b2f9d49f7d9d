"""Each row of a CSV file goes through a py_function that parses it in Python."""

import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/tensorflow/tensorflow/issues/15694"
CAUSE = {"input_bound.all"}
WHAT = {"activities": {"input": 0}}
STEPS = 20
COLUMNS = 20

rows = [",".join(f"{(row * column) % 17}.5" for column in range(COLUMNS)) for row in range(500)]


def by_hand(row):
    fields = [float(field) for field in row.numpy().decode().split(",")]  # <<CAUSE
    return tf.constant(fields, tf.float32)


def in_python(row):
    x = tf.py_function(by_hand, [row], tf.float32)  # <<CAUSE
    x.set_shape((COLUMNS,))
    return x[1:], x[:1]


def in_tensorflow(lines):
    x = tf.stack(tf.io.decode_csv(lines, [0.0] * COLUMNS), axis=1)
    return x[:, 1:], x[:, :1]


def build():
    a = tf.keras.Input((COLUMNS - 1,))
    b = tf.keras.layers.Dense(64, "relu")(a)
    model = tf.keras.Model(a, tf.keras.layers.Dense(1)(b))
    model.compile(tf.keras.optimizers.RMSprop(), "mae")
    return model


def make(slow):
    lines = tf.data.Dataset.from_tensor_slices(rows).repeat()
    if slow:
        data = lines.map(in_python).batch(64)  # <<CAUSE
    else:
        data = lines.batch(64).map(in_tensorflow)
    model = build()
    return lambda steps: model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])
