"""Record other processes, also on other machines, through TensorFlow's profiler service."""
