"""The bundles of the built front end, read when a widget or a page is created."""

import os
from pathlib import Path

from tfvis_nb.texts import Text

_STATIC = Path(__file__).parents[1] / "static"


def bundle_path(name: str) -> Path:
    """Return the path of the bundle ``widget.js`` or ``page.js``, which need not exist."""
    return _STATIC / name


def bundle(name: str) -> str:
    """Read a bundle; FileNotFoundError names the command that builds it."""
    path = bundle_path(name)
    if not path.is_file():
        raise FileNotFoundError(Text("front_end_missing", path=path))
    return path.read_text(encoding="utf-8")


def widget_bundle(name: str) -> Path | str:
    """Return a widget's ``_esm``.

    anywidget watches a path to reload the view (ANYWIDGET_HMR), but never releases a widget that has one:
    closed widgets would stay in memory with their traces.
    """
    return bundle_path(name) if os.environ.get("ANYWIDGET_HMR") == "1" else bundle(name)
