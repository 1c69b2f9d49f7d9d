"""Nothing is wrong: a small network of convolutions, trained by a subclass with its own train_step."""

import tensorflow as tf

from benchmarks.known_causes.clock import keras_clock

CAUSE = {}
STEPS = 20


class Network(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.stem = tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu")
        self.body = tf.keras.layers.Conv2D(32, 3, activation="relu")
        self.pool = tf.keras.layers.GlobalAveragePooling2D()
        self.head = tf.keras.layers.Dense(10)

    def call(self, x):
        return self.head(self.pool(self.body(self.stem(x))))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def make(_slow):
    images = tf.random.normal((32, 64, 64, 3))
    labels = tf.random.uniform((32,), 0, 10, tf.int32)
    data = tf.data.Dataset.from_tensors((images, labels)).repeat().prefetch(2)
    model = Network()
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def run(steps):
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=[keras_clock()])

    return run
