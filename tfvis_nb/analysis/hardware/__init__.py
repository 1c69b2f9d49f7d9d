"""The hardware, and how far each part of it is from its limits."""
