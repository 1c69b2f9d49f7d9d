"""Recording of TensorFlow 2 by its profiler."""
