"""Shape traces for displays: parts, shortened pauses, selections, and sides of a comparison."""
