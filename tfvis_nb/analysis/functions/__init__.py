"""Functions that TensorFlow and JAX trace: their calls, tracings and compilations."""
