from .server import MonitorServer as MonitorServer

__all__ = ["MonitorServer"]
