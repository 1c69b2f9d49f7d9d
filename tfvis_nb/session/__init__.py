"""Saved sessions: an SQLite file that recording processes write, and that others read and control."""

from tfvis_nb.session.session import SavedSession, open_session

__all__ = ["SavedSession", "open_session"]
