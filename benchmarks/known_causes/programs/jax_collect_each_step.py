"""A loop of JAX collects garbage after each step; the heap is large."""

import gc

import jax
import jax.numpy as jnp

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/dpeerlab/segger/issues/46"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}

vocabulary = [{"word": f"w{number}", "counts": [number, number + 1]} for number in range(50_000)]


@jax.jit
def update(w, x):
    h = jax.nn.gelu(x @ w)
    return w - 1e-3 * (x.T @ h)


def make(slow):
    x = jax.random.normal(jax.random.key(8), (384, 256))

    def run(steps):
        w = jnp.eye(256)
        for _ in range(steps):
            step()
            w = update(w, x)
            w.block_until_ready()
            if slow:
                gc.collect()  # <<CAUSE

    return run
