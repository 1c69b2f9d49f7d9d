"""Align the clocks of several tasks."""
