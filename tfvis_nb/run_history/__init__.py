"""The memory of traced cells: a summary of each run, and how the next one differs."""
