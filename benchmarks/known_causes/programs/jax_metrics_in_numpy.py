"""A loop of JAX brings each prediction to NumPy and computes a confusion matrix in Python."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.known_causes.clock import step

REPORTED = "https://github.com/jax-ml/jax/issues/1832"
CAUSE = {"between_steps"}
WHAT = {"lines": {"<<CAUSE": 0}}
STEPS = 20


@jax.jit
def predict(w, x):
    return jnp.argmax(jnp.tanh(x @ w) @ w.T[:, :10], axis=1)


def confusion(predicted, labels):
    table = np.zeros((10, 10), int)
    for one, other in zip(np.asarray(predicted), labels, strict=True):
        table[int(one), int(other)] += 1  # <<CAUSE
    return table


def make(slow):
    w = jax.random.normal(jax.random.key(4), (64, 64))
    x = jax.random.normal(jax.random.key(5), (20_000, 64))
    labels = np.random.default_rng(14).integers(0, 10, 20_000)

    def run(steps):
        for _ in range(steps):
            step()
            predicted = predict(w, x)
            if slow:
                confusion(predicted, labels)  # <<CAUSE
            else:
                np.bincount(np.asarray(predicted) * 10 + labels, minlength=100)

    return run
