"""Shared by all packages: the Trace, its errors, devices, labels, intervals and options."""
