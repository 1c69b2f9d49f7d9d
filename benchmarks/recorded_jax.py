"""Calls of a jitted function of about 1 ms: bare, under the profiler of JAX, and recorded, by turns.

Recordings are without samples (of Python and of the machine), with them, and with a callback of Keras before
each call, which has a row. ``python -m benchmarks.recorded_jax`` prints as JSON how long a call took each
way, round by round.
"""

import json
import os
import statistics
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp

import tfvis_nb as tv

os.environ["KERAS_BACKEND"] = "jax"
from keras.callbacks import Callback

ROUNDS = 8
CALLS = 200
"""Calls of each way in a round."""
SETTLING = 20
"""Calls at the beginning of each turn that do not count."""
SIZE = 160


@jax.jit
def step(values: Any) -> Any:
    """Multiply matrices a few times."""
    for _ in range(6):
        values = values @ values * 0.01
    return values.sum()


class Hook(Callback):  # type: ignore[misc] # keras has no types
    """Does nothing."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Have a row in recordings."""


def turn(way: AbstractContextManager[object], values: Any, hook: Hook | None) -> tuple[float, float]:
    """Return the median and mean seconds of a call."""
    taken = []
    with way:
        for number in range(SETTLING + CALLS):
            start = time.perf_counter()
            if hook is not None:
                hook.on_train_batch_begin(number)
            step(values).block_until_ready()
            taken.append(time.perf_counter() - start)
    taken = taken[SETTLING:]
    return statistics.median(taken), statistics.fmean(taken)


def main() -> None:
    """Measure and print."""
    values, hook = jnp.ones([SIZE, SIZE]), Hook()
    step(values).block_until_ready()
    times: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            ways: dict[str, AbstractContextManager[object]] = {
                "bare": nullcontext(),
                "jax.profiler": jax.profiler.trace(folder),
                "without samples": tv.trace(framework="jax", sampling=False),
                "tfvis_nb": tv.trace(framework="jax"),
                "with rows": tv.trace(framework="jax"),
            }
            for way, on in ways.items():
                times.setdefault(way, []).append(turn(on, values, hook if way == "with rows" else None))
    print(json.dumps(times))


if __name__ == "__main__":
    main()
