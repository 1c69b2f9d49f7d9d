"""Trace -> tables: pure functions on the event table. Imports nothing of display or recording."""
