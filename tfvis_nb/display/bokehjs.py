"""BokehJS as the installed bokeh brings it: it draws a dashboard's charts, and no page fetches it."""

from __future__ import annotations

import functools
import gzip
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Any

from tfvis_nb.display.refusals import answer_message

ASKED = "bokeh"
"""The kind of the message by which a page asks a widget for it."""

_CODE = "server/static/js/bokeh.min.js"


def version() -> str:
    """Return the version of bokeh, without importing it.

    Examples
    --------
    >>> from tfvis_nb.display.bokehjs import version
    >>> int(version().split(".")[0]) >= 3
    True
    """
    return importlib.metadata.version("bokeh")


@functools.cache
def packed_code() -> bytes:
    """Return the code of BokehJS, gzip'd: 350 kB instead of 1.3 MB.

    Raises
    ------
    FileNotFoundError
        If the installed bokeh has none.

    Examples
    --------
    >>> from tfvis_nb.display.bokehjs import packed_code
    >>> 100_000 < len(packed_code()) < 1_000_000
    True
    """
    found = importlib.util.find_spec("bokeh")
    for folder in (found.submodule_search_locations if found is not None else None) or ():
        path = Path(folder) / _CODE
        if path.is_file():
            return gzip.compress(path.read_bytes(), 9, mtime=0)
    raise FileNotFoundError(f"bokeh {version()} is installed without its {_CODE}; install it again")


def answer(widget: Any, content: dict[str, Any]) -> None:
    """Send a page the code that it has asked a widget for, or why there is none.

    Parameters
    ----------
    widget
        That was asked.
    content
        The message; views of one widget hear each other's answers, and know theirs by its ``id``.

    Examples
    --------
    >>> from tfvis_nb.display.bokehjs import answer
    >>> class Asked:
    ...     def send(self, content, buffers): print(content, len(buffers))
    >>> answer(Asked(), {"kind": "bokeh", "id": "1"})
    {'kind': 'bokeh', 'id': '1'} 1
    """
    said = {"kind": ASKED, "id": content.get("id")}
    answer_message(widget, content, lambda: widget.send(said, buffers=[packed_code()]))
