"""A short run waits until a shuffle buffer of all the records is filled."""

import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/tensorflow/tensorflow/issues/30646"
CAUSE = {"input_bound.first", "input_bound.all"}
WHAT = {"activities": {"input": 0}}
STEPS = 20
WARM = 0
EVERY = 20

RECORDS = 60_000


def parse(number):
    line = tf.strings.join([tf.strings.as_string(number % 97)] * 8, ",")
    fields = tf.strings.to_number(tf.strings.split(line, ","))
    return tf.ensure_shape(fields, (8,)), fields[:1]


def make(slow):
    data = tf.data.Dataset.range(1 << 40).map(parse)
    data = data.shuffle(RECORDS if slow else 100)  # <<CAUSE
    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(16), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.train_on_batch(tf.zeros((16, 8)), tf.zeros((16, 1)))

    def run(steps):
        model.fit(data.batch(16), steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])

    return run
