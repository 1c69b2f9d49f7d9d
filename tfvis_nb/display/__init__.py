"""Displays of a `tfvis_nb.Trace`: the timeline, exported pages, and static pictures."""
