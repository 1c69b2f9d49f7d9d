"""The hardware, and how close programs come to its limits."""
