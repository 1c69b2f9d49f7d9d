"""Support for the API and the files of tfvis and tftracer, built on this package."""
