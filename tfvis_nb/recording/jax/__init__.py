"""Recording of JAX with its own profiler."""
