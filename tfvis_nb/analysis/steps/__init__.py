"""Figures of steps: breakdown, utilisation, statistics by op, comparison."""
