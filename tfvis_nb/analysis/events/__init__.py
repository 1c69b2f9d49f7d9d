"""Figures of single events and lanes."""
