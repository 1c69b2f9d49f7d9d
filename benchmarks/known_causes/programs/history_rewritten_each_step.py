"""A loop writes the whole history of its losses to a JSON file after each step."""

import json
import pathlib
import tempfile

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/HudsonHuang/tensorflow-template/issues/5"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20


class Log:
    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp()) / "history.json"
        self.rows = [{"step": number, "loss": 1 / (number + 1), "lr": 1e-3} for number in range(8_000)]

    def append(self, number, loss):
        self.rows.append({"step": number, "loss": float(loss.numpy()), "lr": 1e-3})

    def save(self):
        self.path.write_text(json.dumps(self.rows, indent=1))  # <<CAUSE


def make(slow):
    w = tf.Variable(tf.random.normal((64, 64)) / 8)
    log = Log()

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.swish(x @ w) ** 2)
        w.assign_sub(tape.gradient(loss, w))
        return loss

    x = tf.random.normal((256, 64))

    def run(steps):
        for number in range(steps):
            step()
            loss = train(x)
            log.append(number, loss)
            if slow:
                log.save()  # <<CAUSE

    return run
