"""A custom loop writes a checkpoint after each step, as if a step took an hour."""

import tempfile

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/33516"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20

model = tf.keras.Sequential([tf.keras.Input((256,)), *(tf.keras.layers.Dense(512) for _ in range(4))])
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def make(slow):
    checkpoint = tf.train.Checkpoint(model=model)
    folder = tempfile.mkdtemp()
    x = tf.random.normal((32, 256))

    def run(steps):
        for number in range(steps):
            step()
            train_step(x)
            if slow:
                checkpoint.write(f"{folder}/step{number % 3}")  # <<CAUSE

    return run
