"""A loop of JAX passes the step size of its schedule as a static argument, so that each value is compiled."""

from functools import partial

import jax
import jax.numpy as jnp

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/google-deepmind/optax/issues/577"
CAUSE = {"retracing", "compiling.all"}
WHAT = {"activities": {"compile": 0}}
STEPS = 10


def loss(w, x):
    for _ in range(3):
        x = jnp.tanh(x @ w)
    return jnp.mean(x**2)


def descend(w, x, size):
    return w - size * jax.grad(loss)(w, x)


with_static = partial(jax.jit, static_argnames="size")(descend)
with_array = jax.jit(descend)


def make(slow):
    w = jax.random.normal(jax.random.key(0), (128, 128)) / 12
    x = jax.random.normal(jax.random.key(1), (256, 128))
    done = 0

    def run(steps):
        nonlocal done
        state = w
        for _ in range(steps):
            step()
            done += 1
            size = 0.1 / done
            state = with_static(state, x, size=size) if slow else with_array(state, x, size)  # <<CAUSE
            state.block_until_ready()

    return run
