"""Read Chrome trace events in JSON, in the dialects of several programs."""
