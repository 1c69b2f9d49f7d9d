"""The history of traced cells: a summary of each run, and differences of the next one."""
