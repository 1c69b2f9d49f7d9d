"""Traces too large to send whole: outlines, windows, search and statistics in the kernel."""
