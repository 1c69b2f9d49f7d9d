"""The overview and the findings of a trace, as drawn in the tabs and the details panel."""
