"""Serving a session to browsers: the monitor for a machine without Jupyter."""

import lazy_loader

# Only on demand: the process that has a widget serves nothing.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
