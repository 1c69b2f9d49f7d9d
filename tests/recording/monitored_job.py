"""A job for other processes to watch: ``python -m tests.recording.monitored_job PATH session|keras``.

It trains until it is killed. After each step it writes its own measurements to a file.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

import tfvis_nb as tv

v1 = tf.compat.v1

STEP_S = 0.001
"""How long a step lasts at least."""


class Progress(NamedTuple):
    """A job's own measurements of its finished steps; times in nanoseconds.

    Attributes
    ----------
    finished
        Their number.
    at_least, at_most
        Their total time: of parts of them, and including the code around them.
    longest
        The time of the longest, including the code around it.
    began, last
        Epoch times before the first and before the last step.
    """

    finished: int = 0
    at_least: int = 0
    at_most: int = 0
    longest: int = 0
    began: int = 0
    last: int = 0


class Telling:
    """Writes down its `Progress`, each time by one write, which a kill does not cut in two."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path.with_suffix(".part"), os.O_RDWR | os.O_CREAT)
        self._path = path
        self.progress = Progress()

    def step(self, began: int, outer: int, inner: int) -> None:
        """Note a step that began at an epoch time, and took between two times."""
        progress = self.progress
        self.progress = Progress(
            progress.finished + 1,
            progress.at_least + inner,
            progress.at_most + outer,
            max(progress.longest, outer),
            progress.began or began,
            began,
        )
        os.pwrite(self._file, json.dumps(self.progress).ljust(200).encode(), 0)
        if progress.finished == 0:
            self._path.with_suffix(".part").rename(self._path)


def progress(path: Path) -> Progress:
    """Read the measurements of a job."""
    return Progress(*json.loads(path.read_text())) if path.exists() else Progress()


def monitored(recorded: tv.TraceSession, tell: Telling) -> None:
    """Train in a MonitoredSession."""

    def sleep(value: Any) -> Any:
        start = time.perf_counter_ns()
        time.sleep(STEP_S)
        inner.append(time.perf_counter_ns() - start)
        return value

    inner: list[int] = []
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        weights = v1.get_variable("weights", [8, 8], initializer=v1.ones_initializer())
        slept = v1.py_func(sleep, [weights], tf.float32, name="slept")
        loss = tf.reduce_sum(tf.matmul(weights, tf.ensure_shape(slept, [8, 8])), name="loss")
        train = v1.train.GradientDescentOptimizer(1e-6).minimize(loss, global_step=step)
        with v1.train.MonitoredTrainingSession(
            checkpoint_dir=folder,
            hooks=[recorded.hook],
            save_checkpoint_steps=10**9,
            log_step_count_steps=None,
        ) as session:
            while True:
                began, start = time.time_ns(), time.perf_counter_ns()
                session.run(train)
                tell.step(began, time.perf_counter_ns() - start, inner[-1])


def keras_fit(recorded: tv.TraceSession, tell: Telling) -> None:
    """Train by Keras."""
    import keras

    class Calling(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
        """Calls something before and after each batch."""

        def __init__(self, begin: Callable[[], None], end: Callable[[], None]) -> None:
            super().__init__()
            self.begin, self.end = begin, end

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.begin()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.end()

    clock = time.perf_counter_ns
    at: dict[str, int] = {}
    # Callbacks are called in their order, at the beginning and at the end: the recording one is between.
    before = Calling(
        lambda: at.update(began=time.time_ns(), outer=clock()), lambda: at.update(inner_end=clock())
    )
    after = Calling(
        lambda: at.update(inner=clock()),
        lambda: tell.step(at["began"], clock() - at["outer"], at["inner_end"] - at["inner"]),
    )
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, name="hidden")], name="small")
    model.compile("sgd", "mse")
    x, y = np.ones((80, 4), "float32"), np.ones((80, 8), "float32")
    callbacks = [before, recorded.keras_callback(), after]
    model.fit(x, y, batch_size=8, epochs=10**6, verbose=0, callbacks=callbacks)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    train = {"session": monitored, "keras": keras_fit}[sys.argv[2]]
    train(tv.TraceSession(path, keep=None), Telling(path.with_suffix(".progress")))
