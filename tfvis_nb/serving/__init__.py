"""Serving a session to a browser: the monitor for a machine without Jupyter."""

from tfvis_nb.serving.server import MonitorServer

__all__ = ["MonitorServer"]
