"""A loop of JAX writes its weights to a file in each step."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/mlflow/mlflow/issues/4470"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}


@jax.jit
def update(w, x):
    h = jnp.tanh(x @ w)
    return w - 1e-3 * (x.T @ h)


def save(w, folder):
    np.savetxt(folder / "weights", np.asarray(w))  # <<CAUSE


def make(slow):
    folder = Path(tempfile.mkdtemp())
    x = jax.random.normal(jax.random.key(3), (512, 256))

    def run(steps):
        w = jnp.eye(256)
        for number in range(steps):
            step()
            w = update(w, x)
            w.block_until_ready()
            if slow or number == steps - 1:
                save(w, folder)

    return run
