"""The SQLite file of a session and the files beside it: who writes, who reads, what was counted."""
