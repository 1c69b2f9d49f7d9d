"""Pictures of traces: vector graphics for papers, and still pictures of notebooks and pages."""
