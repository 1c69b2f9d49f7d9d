"""Compiled XLA programs: executed instructions, their operations and bytes, and memory."""
