"""Nothing is wrong: one jitted update of JAX, called with arrays of the same shapes."""

import jax
import jax.numpy as jnp

from benchmarks.known_causes.clock import step

CAUSE = {}
STEPS = 25


def loss(params, x):
    for w in params:
        x = jax.nn.gelu(x @ w)
    return jnp.mean(x**2)


@jax.jit
def update(params, x):
    value, gradients = jax.value_and_grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), value


def make(_slow):
    keys = jax.random.split(jax.random.key(21), 4)
    params = [jax.random.normal(key, (512, 512)) / 22 for key in keys]
    x = jax.random.normal(keys[0], (256, 512))

    def run(steps):
        state = params
        for _ in range(steps):
            step()
            state, value = update(state, x)
            value.block_until_ready()

    return run
