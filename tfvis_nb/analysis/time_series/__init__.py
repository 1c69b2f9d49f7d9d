"""Values over time that are not events."""
