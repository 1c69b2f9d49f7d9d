"""Traces without the names and code of the program that they were recorded of."""
