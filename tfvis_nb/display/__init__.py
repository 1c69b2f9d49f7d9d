"""From a `tfvis_nb.Trace` to what a person looks at: the timeline, its exported page, its static picture."""
