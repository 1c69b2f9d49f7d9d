"""The key figures of a trace."""
