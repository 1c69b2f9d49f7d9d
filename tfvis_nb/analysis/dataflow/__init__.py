"""The data flow between events."""
