"""The layers of live models during a recording, and their events."""
