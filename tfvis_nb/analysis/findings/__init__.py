"""What makes the steps of a trace slow, in sentences with figures."""
