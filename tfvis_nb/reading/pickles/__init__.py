"""Pickles, read by a small machine that imports and calls nothing."""
