"""Finds out what JAX can record here by recording in a separate process."""

import importlib.util
import sys

from tfvis_nb.recording.gpu.probe import Probe, in_a_process, say


def probe() -> Probe | None:
    """Record a small JAX multiplication in another process; None if JAX is not installed."""
    return in_a_process(__name__) if importlib.util.find_spec("jax") is not None else None


def _run() -> None:
    import jax
    import jax.numpy as jnp

    from tfvis_nb.reading import EmptyTraceError
    from tfvis_nb.recording import trace

    result = Probe(version=jax.__version__)
    say(result)
    result.backend = jax.default_backend()
    result.gpus = [str(device) for device in jax.devices() if device.platform != "cpu"]
    say(result)
    values = jnp.ones([256, 256])
    try:
        with trace(framework="jax") as recorded:
            jax.jit(jnp.matmul)(values, values).block_until_ready()
        result.events = len(recorded.events)
        result.kernels = int((recorded.events["kind"] == "kernel").sum())
    except EmptyTraceError as error:
        sys.stderr.write(f"{error}\n")
    say(result)


if __name__ == "__main__":
    _run()
