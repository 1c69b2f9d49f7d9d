"""Other processes, also on other machines -> Trace, through the profiler service that TensorFlow has."""
