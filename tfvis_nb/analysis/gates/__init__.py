"""Checks of a trace against limits and against another trace."""
