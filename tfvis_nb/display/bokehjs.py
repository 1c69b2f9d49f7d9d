"""BokehJS of the installed bokeh: it draws a dashboard's charts, so that no page fetches it."""

import functools
import gzip
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Any

from tfvis_nb.display.refusals import answer_message
from tfvis_nb.texts import Text

MESSAGE_KIND = "bokeh"
"""The kind of message with which a page requests it from a widget."""

_CODE = "server/static/js/bokeh.min.js"


def version() -> str:
    """Return the version of bokeh, without importing it."""
    return importlib.metadata.version("bokeh")


@functools.cache
def compressed_code() -> bytes:
    """Return the code of BokehJS, gzip'd: 350 kB instead of 1.3 MB; FileNotFoundError if bokeh lacks it."""
    spec = importlib.util.find_spec("bokeh")
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        path = Path(folder) / _CODE
        if path.is_file():
            return gzip.compress(path.read_bytes(), 9, mtime=0)
    raise FileNotFoundError(Text("bokeh_incomplete", version=version(), file=_CODE))


def answer(widget: Any, content: dict[str, Any]) -> None:
    """Send a page the code that it requested from a widget, or the reason why there is none.

    Views of one widget receive each other's answers, and recognise theirs by the ``id`` in `content`.
    """
    message = {"kind": MESSAGE_KIND, "id": content.get("id")}
    answer_message(widget, content, lambda: widget.send(message, buffers=[compressed_code()]))
