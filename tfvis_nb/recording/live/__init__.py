"""A job recorded while it runs: TraceSession, the traces requested of it, the batches of Keras."""
