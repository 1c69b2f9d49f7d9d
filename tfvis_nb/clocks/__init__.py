"""Clocks of several tasks laid on one: no figure, no file format."""
