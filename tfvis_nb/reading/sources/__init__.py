"""Paths, bytes and objects turned into pieces to read: folders, archives, packed files."""
