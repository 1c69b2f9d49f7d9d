"""Figures of steps: breakdown, utilization, statistics by op, comparison."""
