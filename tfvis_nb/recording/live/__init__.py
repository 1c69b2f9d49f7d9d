"""Record a running job: TraceSession, its runs and batches, and requested traces."""
