"""Analyses of many runs and tasks, from the tables of a dataset of traces."""
