"""The overview and the findings of a trace as the tabs and the panel beside the timeline draw them."""
