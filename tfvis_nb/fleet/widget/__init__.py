"""A fleet: a heat map of steps and tasks, the timeline of a cell, and tables below."""
