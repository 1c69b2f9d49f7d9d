"""One program per module; `benchmarks.known_causes` describes their names."""
