"""Checks whether GPU kernels can be recorded here, and why not."""
