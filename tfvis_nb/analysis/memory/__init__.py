"""Memory of each allocator over time and by op."""
