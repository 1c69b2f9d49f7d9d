"""A loop of JAX wraps a new lambda in jax.jit for each step."""

import jax
import jax.numpy as jnp

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/jax-ml/jax/issues/9288"
CAUSE = {"retracing", "compiling.all"}
WHAT = {"activities": {"compile": 0}}
STEPS = 10


def loss(w, x):
    for _ in range(4):
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


update = jax.jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x))


def make(slow):
    w = jax.random.normal(jax.random.key(0), (128, 128)) / 12
    x = jax.random.normal(jax.random.key(1), (256, 128))

    def run(steps):
        state = w
        for _ in range(steps):
            step()
            fn = jax.jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x)) if slow else update  # <<CAUSE
            state = fn(state, x)  # <<CAUSE
            state.block_until_ready()

    return run
