"""Values over time that are no events."""
