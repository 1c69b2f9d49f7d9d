"""Comparison of two traces."""
