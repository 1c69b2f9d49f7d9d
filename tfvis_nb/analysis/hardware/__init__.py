"""What the hardware is, and how far each part is from what it could be."""
