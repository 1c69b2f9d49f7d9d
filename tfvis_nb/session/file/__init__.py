"""The SQLite file of a session and its companion files: writers, readers and counts."""
