"""The chain of events that a step waited for, and the slack of all others."""
