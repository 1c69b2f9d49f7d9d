"""A decoder of JAX calls its jitted model with a prompt that is one token longer each time."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/jax-ml/jax/issues/2521"
CAUSE = {"retracing", "compiling.all"}
WHAT = {"activities": {"compile": 0}}
STEPS = 10

table = jax.random.normal(jax.random.key(2), (50, 64)) / 8


@jax.jit
def next_token(tokens, length):
    x = table[tokens]
    mask = jnp.arange(len(tokens)) < length
    scores = jax.nn.softmax(jnp.where(mask, x @ x.T, -1e9))
    return jnp.argmax((scores @ x)[length - 1] @ table.T)


def make(slow):
    tokens = [1]

    def run(steps):
        for _ in range(steps):
            step()
            padded = tokens if slow else tokens + [0] * (256 - len(tokens))
            found = next_token(np.array(padded, np.int32), len(tokens))  # <<CAUSE
            tokens.append(int(found))

    return run
