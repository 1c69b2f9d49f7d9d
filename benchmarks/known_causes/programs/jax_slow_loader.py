"""A loop of JAX takes batches from a generator that reads slowly, and waits for each of them."""

import time

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/google/grain/issues/569"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}


@jax.jit
def update(w, x):
    h = jnp.tanh(x @ w)
    return w - 1e-3 * (x.T @ h)


def batches(slow, steps):
    rng = np.random.default_rng(5)
    for _ in range(steps):
        if slow:
            time.sleep(0.03)  # <<CAUSE
        yield rng.random((512, 256), np.float32)


def make(slow):
    def run(steps):
        w = jnp.eye(256)
        for x in batches(slow, steps):
            step()
            w = update(w, x)
            w.block_until_ready()

    return run
