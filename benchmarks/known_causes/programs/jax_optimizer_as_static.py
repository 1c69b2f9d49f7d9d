"""A loop of JAX passes an optimizer, made anew for each epoch, as a static argument."""

from functools import partial

import jax
import jax.numpy as jnp

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/google-deepmind/optax/issues/353"
CAUSE = {"retracing", "compiling.all"}
WHAT = {"activities": {"compile": 0}}
STEPS = 10


class Momentum:
    """An optimizer whose objects are equal only to themselves."""

    def __init__(self, rate):
        self.rate = rate

    def updated(self, w, speed, gradient):
        speed = 0.9 * speed + gradient
        return w - self.rate * speed, speed


def loss(w, x):
    return jnp.mean(jnp.tanh(jnp.tanh(x @ w) @ w.T) ** 2)


@partial(jax.jit, static_argnums=0)
def train_step(optimizer, w, speed, x):
    return optimizer.updated(w, speed, jax.grad(loss)(w, x))


def make(slow):
    x = jax.random.normal(jax.random.key(1), (256, 128))
    kept = Momentum(0.1)

    def run(steps):
        w = jax.random.normal(jax.random.key(0), (128, 128)) / 12
        speed = jnp.zeros_like(w)
        for _ in range(steps):
            step()
            optimizer = Momentum(0.1) if slow else kept  # <<CAUSE
            w, speed = train_step(optimizer, w, speed, x)  # <<CAUSE
            w.block_until_ready()

    return run
