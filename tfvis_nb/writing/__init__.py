"""A Trace as a file of another program, chosen by its suffix."""
