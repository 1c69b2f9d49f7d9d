"""The cost of keeping lines of code for a recording and a page, and of sampling the lines that run."""

from __future__ import annotations

import math
import time

import numpy as np
import tensorflow as tf

import tfvis_nb
from benchmarks.table import Row, show

ROUNDS = 5
EXTRA, EXTRA_S = 0.05, 0.2
"""The fraction of a recording, or else the seconds, that stacks may take, in CPU time because of other
load."""
SAMPLED_ROUNDS = 20
SAMPLING = 0.01
"""The fraction of the CPU time of a loop that sampling may add."""
BYTES = 0.10
"""The fraction of a page that code may add."""


def model() -> tuple[tf.keras.Model, np.ndarray]:
    """Make a network of twelve layers, and 64 batches of data."""
    layers = [tf.keras.layers.Dense(64, activation="relu") for _ in range(12)]
    network = tf.keras.Sequential([tf.keras.layers.Input((64,)), *layers])
    network.compile("adam", "mse")
    return network, np.ones((64 * 32, 64), "float32")


def sampled() -> dict[bool, float]:
    """Return the least CPU time of a loop with Python between short steps, with and without samples."""
    step = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x)))
    values, taken = tf.ones((64, 64)), {True: math.inf, False: math.inf}
    for number in range(2 * SAMPLED_ROUNDS):
        sampling = number % 2 == 0
        with tfvis_nb.trace(sampling=sampling):
            start = time.process_time()
            for _ in range(500):
                step(values)
                sum(range(5_000))
            taken[sampling] = min(taken[sampling], time.process_time() - start)
    return taken


def main() -> None:
    """Measure and print."""
    network, data = model()
    network.fit(data, data, verbose=0)
    taken: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(ROUNDS + 1):
        for source, runs in taken.items():
            start = time.process_time()
            with tfvis_nb.trace(source=source) as trace:
                network.fit(data, data, verbose=0)
            runs.append(time.process_time() - start)
            if source:
                kept = trace
    with_source, without = (min(taken[source][1:]) for source in (True, False))
    pages = [len(kept.to_html(source=source, max_bytes=None)) for source in (True, False)]
    extra, loop = with_source - without, sampled()
    show(
        f"Lines of code (64 batches of Keras, least CPU time of {ROUNDS})",
        [
            Row(
                "%%trace",
                f"{with_source:.2f} s",
                f"--no-source {without:.2f} s",
                f"{with_source / without:.2f}x",
                f"<= {1 + EXTRA}x or {EXTRA_S} s more",
                extra <= max(EXTRA * without, EXTRA_S),
            ),
            Row(
                f"loop in a recording, least of {SAMPLED_ROUNDS}",
                f"{loop[True] * 1e3:.1f} ms",
                f"--no-sampling {loop[False] * 1e3:.1f} ms",
                f"{loop[True] / loop[False]:.3f}x",
                f"<= {1 + SAMPLING}x",
                loop[True] <= (1 + SAMPLING) * loop[False],
            ),
            Row(
                "page",
                f"{pages[0] / 1e6:.2f} MB",
                f"source=False {pages[1] / 1e6:.2f} MB",
                f"{pages[0] / pages[1]:.2f}x",
                f"<= {1 + BYTES}x",
                pages[0] <= (1 + BYTES) * pages[1],
            ),
        ],
    )


if __name__ == "__main__":
    main()
