"""Recording of JAX by its own profiler."""
