"""Analyses of a dataset's tables, listed by their names in docs/metrics.md."""

MODULES = {
    "fleet_outliers": "outliers",
    "fleet_stragglers": "stragglers",
    "fleet_drift": "drift",
    "slower_ops": "slower_ops",
}
"""The modules of the analyses, which define ``FIGURES``."""
