"""The functions that TensorFlow traces: their calls, tracings and compilations."""
