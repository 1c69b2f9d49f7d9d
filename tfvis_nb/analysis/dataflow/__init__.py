"""Which event gave another its input."""
