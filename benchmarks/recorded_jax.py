"""Calls of a jitted function of about 1 ms: bare, under the profiler of JAX, and recorded, by turns.

``python -m benchmarks.recorded_jax`` prints as JSON how long a call took each way, round by round.
"""

import json
import statistics
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp

import tfvis_nb as tv

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


def turn(way: AbstractContextManager[object], values: Any) -> tuple[float, float]:
    """Return the median and mean seconds of a call."""
    taken = []
    with way:
        for _ in range(SETTLING + CALLS):
            start = time.perf_counter()
            step(values).block_until_ready()
            taken.append(time.perf_counter() - start)
    taken = taken[SETTLING:]
    return statistics.median(taken), statistics.fmean(taken)


def main() -> None:
    """Measure and print."""
    values = jnp.ones([SIZE, SIZE])
    step(values).block_until_ready()
    times: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            ways: dict[str, AbstractContextManager[object]] = {
                "bare": nullcontext(),
                "jax.profiler": jax.profiler.trace(folder),
                "tfvis_nb": tv.trace(framework="jax"),
            }
            for way, on in ways.items():
                times.setdefault(way, []).append(turn(on, values))
    print(json.dumps(times))


if __name__ == "__main__":
    main()
