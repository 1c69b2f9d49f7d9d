"""Predict the effect of changes: replay the dependencies of a trace with other durations."""
