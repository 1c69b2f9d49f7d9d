"""A loop of JAX writes a checkpoint in each tenth step, and the next step waits for it."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/google/flax/pull/1548"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 40
EVERY = 10


@jax.jit
def update(params, x):
    h = x
    for w in params:
        h = jnp.sin(h @ w)
    return [w - 1e-3 * (x.T @ h) for w in params]


def make(slow):
    file = Path(tempfile.mkdtemp()) / "params"
    keys = jax.random.split(jax.random.key(11), 3)
    x = jax.random.normal(keys[0], (384, 384))

    def run(steps):
        params = [jax.random.normal(key, (384, 384)) / 20 for key in keys]
        for number in range(steps):
            step()
            params = jax.block_until_ready(update(params, x))
            if slow and number % EVERY == EVERY - 1:
                file.write_text(repr([w.tolist() for w in params]))  # <<CAUSE

    return run
