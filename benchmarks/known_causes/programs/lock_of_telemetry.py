"""A loop reports its progress under a lock that a thread of telemetry holds while it sleeps."""

import threading
import time

import tensorflow as tf

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/keras-team/keras/issues/1638"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20


class Telemetry:
    def __init__(self, hold_s):
        self.lock, self.hold_s, self.values = threading.Lock(), hold_s, []
        threading.Thread(target=self.send, daemon=True).start()

    def send(self):
        while True:
            with self.lock:
                self.values.clear()
                time.sleep(self.hold_s)
            time.sleep(0.002)

    def report(self, value):
        with self.lock:  # <<CAUSE
            self.values.append(value)


def make(slow):
    telemetry = Telemetry(0.02 if slow else 0)
    w = tf.Variable(tf.random.normal((200, 200)) / 15)

    @tf.function
    def train(x):
        for _ in range(6):
            x = tf.nn.softsign(x @ w)
        return tf.reduce_mean(x)

    x = tf.random.normal((200, 200))

    def run(steps):
        for number in range(steps):
            step()
            train(x)
            telemetry.report(number)  # <<CAUSE

    return run
