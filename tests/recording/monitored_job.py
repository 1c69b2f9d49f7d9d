"""A job for other processes to watch: ``python -m tests.recording.monitored_job PATH session|keras``."""

import itertools
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import tfvis_nb as tv

v1 = tf.compat.v1


def monitored(recorded: tv.TraceSession, told: Path) -> None:
    """Train in a MonitoredSession until killed, and tell the number of finished steps after each."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tf.Graph().as_default(),
    ):
        step = v1.train.get_or_create_global_step()
        weights = v1.get_variable("weights", [8, 8], initializer=v1.ones_initializer())
        loss = tf.reduce_sum(tf.matmul(weights, weights), name="loss")
        train = v1.train.GradientDescentOptimizer(1e-6).minimize(loss, global_step=step)
        with v1.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            hooks=[recorded.hook],
            save_checkpoint_steps=10**9,
            log_step_count_steps=None,
        ) as session:
            for finished in itertools.count(1):
                session.run(train)
                told.write_text(str(finished))
                time.sleep(0.001)


def keras_fit(recorded: tv.TraceSession, told: Path) -> None:
    """Train by Keras until killed."""
    import keras

    class Telling(keras.callbacks.Callback):  # type: ignore[misc]
        finished = 0

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            Telling.finished += 1
            told.write_text(str(self.finished))

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, name="hidden")], name="small")
    model.compile("sgd", "mse")
    x, y = np.ones((80, 4), "float32"), np.ones((80, 8), "float32")
    model.fit(x, y, batch_size=8, epochs=10**6, verbose=0, callbacks=[recorded.keras_callback(), Telling()])


if __name__ == "__main__":
    path = Path(sys.argv[1])
    {"session": monitored, "keras": keras_fit}[sys.argv[2]](tv.TraceSession(path), path.with_suffix(".told"))
