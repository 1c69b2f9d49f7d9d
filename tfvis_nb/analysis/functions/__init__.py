"""The functions that TensorFlow traces: what their calls, tracings and compilations take."""
