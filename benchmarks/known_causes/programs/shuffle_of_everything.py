"""A short run waits until a shuffle buffer of all the records is filled."""

import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

REPORTED = "https://github.com/tensorflow/tensorflow/issues/30646"
CAUSE = {"input_bound.first", "input_bound.all", "shuffle_buffer"}
WHAT = {"activities": {"input": 0}}
STEPS = 20
WARM = 0
EVERY = 20

RECORDS = 1500

picture = tf.io.encode_jpeg(tf.cast(tf.random.uniform((64, 64, 3), 0, 255, tf.int32), tf.uint8))


def parse(number):
    image = tf.io.decode_jpeg(picture, channels=3)
    pixels = tf.cast(tf.reshape(image[:2, :4, 0], (8,)), tf.float32) / 255.0
    return pixels, tf.cast(number % 7, tf.float32)[None]


def make(slow):
    data = tf.data.Dataset.range(1 << 40).map(parse)
    data = data.shuffle(RECORDS if slow else 20)  # <<CAUSE
    data = data.batch(2).prefetch(2)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((8,)),
            tf.keras.layers.Dense(1024),
            tf.keras.layers.Dense(1024),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    model.fit(tf.data.Dataset.range(8).map(parse).batch(2), verbose=0)  # Traces the step.

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])

    return run
