"""Pictures of traces: vectors for papers, and the still ones of notebooks and pages."""
