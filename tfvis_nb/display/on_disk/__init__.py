"""Timelines of a dataset: bars and events read from its parts, as many as are looked at."""
