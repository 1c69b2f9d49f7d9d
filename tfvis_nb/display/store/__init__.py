"""The events of a timeline: searches, totals and parts of the run, from memory or from files."""
