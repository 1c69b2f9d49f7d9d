"""Causes of idle time of devices."""
