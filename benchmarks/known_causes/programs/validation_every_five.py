"""A loop evaluates the whole validation set after every fifth step, batch by batch."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/tensorflow/tensorflow/issues/57645"
CAUSE = {"between_steps", "slow_steps.periodic"}
WHAT = None
WHY_NOT = "the replay is of training steps, and this runs between them"
STEPS = 30
EVERY = 5

model = tf.keras.Sequential(
    [tf.keras.Input((40,)), tf.keras.layers.Dense(128, activation="tanh"), tf.keras.layers.Dense(3)]
)
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build(model.trainable_variables)
crossentropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = crossentropy(y, model(x))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


@tf.function
def evaluate(x, y):
    return crossentropy(y, model(x))


def validate(batches):
    return sum(float(evaluate(x, y)) for x, y in batches)  # <<CAUSE


def make(slow):
    x, y = tf.random.normal((64, 40)), tf.random.uniform((64,), 0, 3, tf.int32)
    batches = [(tf.random.normal((64, 40)), y) for _ in range(120)]

    def run(steps):
        for number in range(steps):
            step()
            train_step(x, y)
            if number % 5 == 4 and slow:
                validate(batches)  # <<CAUSE

    return run
