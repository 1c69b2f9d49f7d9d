"""The overview and the findings of a trace, for the tabs and the details panel."""
