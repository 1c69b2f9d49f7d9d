"""The part of a widget stored in a notebook file: a still picture, a small timeline, and a report in words.

JupyterLab 4.6 replaces a widget with "model not found" once its kernel has ended, and ignores other content
of that output. So the picture is in a separate output, which is hidden as long as the widget exists.
"""

import html
import threading
import uuid
from collections.abc import Callable
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple

import anywidget
import traitlets
from IPython import get_ipython
from IPython.core.display_functions import publish_display_data

from tfvis_nb.display.after_cell import after_cell
from tfvis_nb.display.messages import Replies, message

_publish: Any = publish_display_data  # which has no types
_OUTPUT = Template(files(__package__).joinpath("stored_output.html").read_text(encoding="utf-8"))
# A sandboxed frame cannot see the notebook's theme: it requests it and gets a message on each change.
_FRAME = Template(files(__package__).joinpath("stored_frame.html").read_text(encoding="utf-8"))

KEPT_BYTES = 2_000_000
"""Limit for the page in the frame, code included: each cell of a notebook may have one."""


class KeptPage(NamedTuple):
    """The page for the frame, empty for no frame; its height in CSS pixels, and a sentence below it."""

    text: str
    height: int
    hint: str = ""


class StoredWidget(anywidget.AnyWidget):
    """A widget whose picture stays in the notebook after its kernel has ended."""

    height: int | traitlets.Int[int, int]
    _stored = traitlets.Unicode().tag(sync=True)
    _stored_version = traitlets.Int(0).tag(sync=True)
    """The version that the notebook should have, 0 before the first.

    A notebook whose page was loaded again ignores updates of outputs by their id: the front end then requests
    the version, and writes it itself.
    """
    _unsaved = traitlets.Unicode().tag(sync=True)
    """How to keep changes that are not stored: "rerun" the cell, "export", or "no" way; empty if all are."""

    @traitlets.default("_stored")
    def _new_name(self) -> str:
        return uuid.uuid4().hex

    _kept: tuple[Callable[[], str], Callable[[], KeptPage] | None, Callable[[], str]] | None = None
    _text = ""
    _stored_in: "StoredWidget | None" = None
    """The widget whose stored part includes this one; None if it is this one."""

    def _store(
        self,
        still: Callable[[], str],
        page: Callable[[], KeptPage] | None = None,
        report: Callable[[], str] = str,
    ) -> str:
        """Publish the stored part; return the HTML for the widget's own output: outside notebooks, `still`.

        `still`, `page` for the frame and `report`, Markdown for those who read only the file, are called
        after the cell: they take longer than drawing the widget, which is published after its HTML is
        returned.
        """
        self._unsaved = ""
        if not hasattr(get_ipython(), "kernel"):
            return still()
        self._kept = (still, page, report)
        self._storing = threading.Lock()
        # No HTML yet: for the first one, JupyterLab 4.6 loads MathJax, and the view is drawn after that.
        self._publish("")
        after_cell(self._store_again)
        return ""

    def _store_again(self) -> None:
        """Update the stored part, if there is one; may be called on any thread."""
        if self._kept is None:
            return
        still, page, report = self._kept
        with self._storing:
            kept = KeptPage("", self.height) if page is None else page()
            version = self._stored_version + 1
            self._text = stored_html(
                self._stored, still(), kept.text, height=kept.height, hint=kept.hint, version=version
            )
            self._publish(self._text, report(), update=True)
            # After the update, which the front end looks for.
            self._stored_version = version
            self._unsaved = ""

    def _store_change(self, *, is_quick: bool = True) -> None:
        """Store what the user has changed, or tell the user how to keep it."""
        if self._stored_in is not None:
            self._stored_in._store_change(is_quick=is_quick)  # noqa: SLF001 - of this class
        elif self._kept is None:
            self._unsaved = "export"
        elif is_quick:
            self._store_again()
        else:
            self._unsaved = "rerun"

    @message()
    def _on_stored(self) -> Replies:
        """Send the current version of the stored part."""
        return [({}, [self._text.encode()])]

    def _publish(self, text: str, report: str = "", *, update: bool = False) -> None:
        # A text-only front end shows the widget's own text; all others prefer HTML to Markdown.
        data = {"text/plain": "", "text/html": text, "text/markdown": report}
        data = {form: content for form, content in data.items() if content or form == "text/plain"}
        _publish(data, transient={"display_id": f"tfvis-{self._stored}"}, update=update)


def stored_html(name: str, still: str, page: str, *, height: int, hint: str = "", version: int = 0) -> str:
    """Return what a notebook's file stores for the widget of that name: `page` in a frame, else `still`."""
    frame = _FRAME.substitute(id=name, page=html.escape(page)) if page else ""
    frame += f"<p>{html.escape(hint)}</p>" if hint else ""
    return _OUTPUT.substitute(id=name, height=height, still=still, frame=frame, version=version)
