"""What a trace shows at a glance."""
