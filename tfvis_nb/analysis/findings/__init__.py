"""Findings: why the steps of a trace are slow, in sentences with figures."""
