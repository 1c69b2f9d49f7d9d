"""A solver of JAX is called with a basis that has another number of rows each time."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/jax-ml/jax/issues/15412"
CAUSE = {"retracing", "compiling.all"}
WHAT = {"activities": {"compile": 0}}
STEPS = 10
MOST_ROWS = 512


@jax.jit
def solve(basis, data):
    normal = basis.T @ basis + jnp.eye(basis.shape[1])
    return jnp.linalg.solve(normal, basis.T @ data)


def make(slow):
    rng = np.random.default_rng(7)
    rows = iter(rng.permutation(np.arange(200, MOST_ROWS)))

    def run(steps):
        for _ in range(steps):
            step()
            count = int(next(rows))
            basis = rng.standard_normal((count, 64), np.float32)
            data = rng.standard_normal(count, np.float32)
            if not slow:
                basis = np.pad(basis, ((0, MOST_ROWS - count), (0, 0)))
                data = np.pad(data, (0, MOST_ROWS - count))
            solve(basis, data).block_until_ready()  # <<CAUSE

    return run
