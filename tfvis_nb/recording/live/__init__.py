"""A job recorded while it runs: TraceSession, its runs and batches, the traces requested of it."""
