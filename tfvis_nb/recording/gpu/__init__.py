"""Whether kernels of a GPU can be recorded here, and what is missing where they cannot."""
