"""Timelines of a dataset: only bars and events in view are read from its parts."""
