"""The layers of live models in this process, and their events."""
