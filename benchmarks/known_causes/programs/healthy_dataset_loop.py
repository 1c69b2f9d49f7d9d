"""Nothing is wrong: a loop over a prefetched dataset whose map is light, with a loss read at the end."""

import tensorflow as tf

from benchmarks.known_causes.clock import step

CAUSE = {}
STEPS = 25


class Loop:
    def __init__(self):
        self.w = tf.Variable(tf.random.normal((400, 800)) / 20)
        self.v = tf.Variable(tf.random.normal((800, 400)) / 28)

    @tf.function(reduce_retracing=True)
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.nn.relu(x @ self.w) @ self.v - x) ** 2)
        on_w, on_v = tape.gradient(loss, [self.w, self.v])
        self.w.assign_sub(on_w)
        self.v.assign_sub(on_v)
        return loss


def make(_slow):
    table = tf.random.normal((2048, 400))
    data = tf.data.Dataset.from_tensor_slices(table).batch(256, drop_remainder=True).cache().repeat()
    batches = iter(data.map(lambda x: x * 0.5, num_parallel_calls=2).prefetch(4))
    loop = Loop()

    def run(steps):
        losses = []
        for _ in range(steps):
            step()
            losses.append(loop.step(next(batches)))
        return float(losses[-1])

    return run
