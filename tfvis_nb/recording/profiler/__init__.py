"""What runs in TensorFlow 2, recorded by its profiler."""
