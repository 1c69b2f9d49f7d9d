"""Offline HTML pages and still pictures."""
