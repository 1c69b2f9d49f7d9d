"""The chain of events that determines the length of a step, and the slack of all others."""
