"""BokehJS of the installed bokeh: it draws a dashboard's charts, so that no page fetches it."""

import functools
import gzip
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import Any, TypedDict

from tfvis_nb.display.messages import Replies
from tfvis_nb.texts import Text

_CODE = "server/static/js/bokeh.min.js"


class BokehItem(TypedDict):
    """A figure for BokehJS."""

    target_id: None
    root_id: str
    doc: Any
    version: str


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


def answer() -> Replies:
    """Reply with the code to a page that lacks it."""
    return [({}, [compressed_code()])]
