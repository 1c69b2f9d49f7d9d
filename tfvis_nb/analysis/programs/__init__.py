"""Programs that XLA compiled: the instructions that ran, what they compute and access, and their memory."""
