"""Metrics of single events and lanes."""
