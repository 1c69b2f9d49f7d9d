"""Aligning the clocks of several tasks: no figure, no file format."""
