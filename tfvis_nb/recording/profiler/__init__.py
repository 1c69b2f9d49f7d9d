"""Recording of TensorFlow 2 with its profiler."""
