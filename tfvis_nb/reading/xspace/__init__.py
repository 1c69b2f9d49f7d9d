"""XSpace, the profile of TensorFlow 2 and JAX."""
