"""A pipeline decodes and resizes the same few large images in each epoch, without cache()."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/ybkscht/EfficientPose/issues/38"
CAUSE = {"input_bound.all", "between_steps"}
WHAT = {"activities": {"input": 0}}
STEPS = 50

files = [
    tf.io.encode_png(tf.cast(tf.random.uniform((400, 400, 3), 0, 255, tf.int32), tf.uint8)).numpy()
    for _ in range(8)
]


def decode(content):
    image = tf.io.decode_png(content, channels=3)  # <<CAUSE
    image = tf.image.resize(image, (64, 64)) / 255.0  # <<CAUSE
    return tf.ensure_shape(image, (64, 64, 3))


class Trainer:
    def __init__(self, data):
        self.iterator = iter(data)
        self.kernel = tf.Variable(tf.random.normal((3, 3, 3, 8)) / 5)

    @tf.function
    def step(self):
        images = next(self.iterator)
        with tf.GradientTape() as tape:
            features = tf.nn.conv2d(images, self.kernel, 2, "SAME")
            loss = tf.reduce_mean(features**2)
        self.kernel.assign_sub(0.01 * tape.gradient(loss, self.kernel))
        return loss


def make(slow):
    images = tf.data.Dataset.from_tensor_slices(files).map(decode)  # <<CAUSE
    if not slow:
        images = images.cache()
    trainer = Trainer(images.repeat().batch(4, drop_remainder=True))

    def run(steps):
        for _ in range(steps):
            step()
            trainer.step()

    return run
