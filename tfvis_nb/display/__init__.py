"""From a `tfvis_nb.Trace` to the displays: the timeline, its exported page, its static picture."""
