"""Traces without the names and code of the recorded program."""
