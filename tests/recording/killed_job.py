"""A job that is killed: ``python -m tests.recording.killed_job PATH KIND KEEP`` prints each finished run.

Each line is the number of finished runs of its signature; the file must have the number in the last line.
"""

import os
import sys
from pathlib import Path
from typing import Any

import tensorflow as tf

import tfvis_nb as tv

v1 = tf.compat.v1


def say(done: int) -> None:
    os.write(1, b"%d\n" % done)


def sessions(recorded: tv.TraceSession) -> None:
    """Run one op again and again."""
    with tf.Graph().as_default(), v1.Session() as session, recorded:
        total = tf.reduce_sum(tf.ones([10, 10]), name="total")
        done = 0
        while True:
            session.run(total)
            done += 1
            say(done)


def keras(recorded: tv.TraceSession) -> None:
    """Fit a small model again and again."""
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)], name="small")
    model.compile("sgd", "mse")

    class Says(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
        done = 0

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            Says.done += 1
            say(Says.done)

    x, y = np.ones((4000, 4), "float32"), np.ones((4000, 1), "float32")
    model.fit(x, y, batch_size=4, epochs=10_000, verbose=0, callbacks=[recorded.keras_callback(), Says()])


if __name__ == "__main__":
    keep = int(sys.argv[3]) or None
    recorded = tv.TraceSession(Path(sys.argv[1]), keep=keep)
    if keep:
        recorded.trace_every(3)
    {"session": sessions, "keras": keras}[sys.argv[2]](recorded)
