"""The names and files of tfvis and tftracer, on top of what this package offers itself."""
