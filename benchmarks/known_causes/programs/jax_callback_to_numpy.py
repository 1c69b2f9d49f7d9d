"""A jitted step of JAX calls back into NumPy for a statistic."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/jax-ml/jax/issues/29322"
CAUSE = {"host_compute"}
WHAT = None
WHY_NOT = "which event of the program is the callback differs between versions"
STEPS = 20


def quantiles(x):
    values = np.sort(np.tile(np.asarray(x).ravel(), 8))  # <<CAUSE
    return np.float32(values[len(values) // 2])


@jax.jit
def with_callback(w, x):
    h = jnp.tanh(x @ w)
    middle = jax.pure_callback(quantiles, jax.ShapeDtypeStruct((), jnp.float32), h)  # <<CAUSE
    return w - 1e-3 * (h.T @ h) * middle


@jax.jit
def without(w, x):
    h = jnp.tanh(x @ w)
    return w - 1e-3 * (h.T @ h) * jnp.mean(h)


def make(slow):
    x = jax.random.normal(jax.random.key(3), (256, 128))
    update = with_callback if slow else without

    def run(steps):
        w = jnp.eye(128)
        for _ in range(steps):
            step()
            w = update(w, x)
            w.block_until_ready()

    return run
