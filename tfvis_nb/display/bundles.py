"""The built front end: its bundles, which are read where a widget or a page is made."""

import os
from pathlib import Path

from tfvis_nb.texts import Text

_STATIC = Path(__file__).parents[1] / "static"


def bundle_path(name: str) -> Path:
    """Where the bundle ``widget.js`` or ``page.js`` is, or is to be."""
    return _STATIC / name


def bundle(name: str) -> str:
    """Read a bundle; FileNotFoundError names the command that builds it."""
    path = bundle_path(name)
    if not path.is_file():
        raise FileNotFoundError(Text("front_end_missing", path=path))
    return path.read_text(encoding="utf-8")


def widget_bundle(name: str) -> Path | str:
    """Return a widget's ``_esm``.

    anywidget watches a path, to reload the view (ANYWIDGET_HMR), but never lets go of a widget that has one:
    closed ones would stay in memory with their traces.
    """
    return bundle_path(name) if os.environ.get("ANYWIDGET_HMR") == "1" else bundle(name)
