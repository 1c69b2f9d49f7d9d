"""Base of timelines in a notebook: bytes to draw, options, a selection, and answers to the front end."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, Unpack, overload

import pandas as pd
import traitlets

from tfvis_nb.core.display_options import TimelineHtmlOptions
from tfvis_nb.core.html_export import HtmlExport
from tfvis_nb.core.options import only_known_options
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.bundles import bundle, bundle_path, widget_bundle
from tfvis_nb.display.comm_thread import answer_on_own_thread
from tfvis_nb.display.refusals import answer_message
from tfvis_nb.display.store.answers import Answer
from tfvis_nb.display.stored_output import StoredWidget
from tfvis_nb.texts import text_of

_FROM_FRONT_END = (*timeline_options.DEFAULTS, "_selection", "_annotations", "_view", "_views")


class Source(Protocol):
    """The source of a timeline's events: a trace in memory, or a dataset on disk."""

    rest: str

    @property
    def first(self) -> bytes:
        """The bytes that are drawn first."""

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Answer a query of the front end."""

    def details(self) -> bytes:
        """The content of the details panel, unless `rest` is requested in parts."""

    def chunks(self, part: str) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Yield the rest of the drawing, or of the details, in pieces."""


class TimelineView(HtmlExport, StoredWidget):
    """Base of `TimelineWidget` and `DatasetTimeline`."""

    if bundle_path("widget.js").is_file():
        _esm = widget_bundle("widget.js")

    height = traitlets.Int(timeline_options.DEFAULTS["height"]).tag(sync=True)
    group_by = traitlets.Unicode(timeline_options.DEFAULTS["group_by"]).tag(sync=True)
    color_by = traitlets.Unicode(timeline_options.DEFAULTS["color_by"]).tag(sync=True)
    lane_filter = traitlets.Unicode(timeline_options.DEFAULTS["lane_filter"]).tag(sync=True)
    _selection = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    _annotations: traitlets.List[Any] = traitlets.List().tag(sync=True)
    # Two, because several timelines of a widget report their views but do not follow each other.
    _view: "traitlets.Dict[str, Any]" = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    _wanted_view: "traitlets.Dict[str, Any]" = traitlets.Dict(default_value=None, allow_none=True).tag(
        sync=True
    )
    _views: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _tracks: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _drawn = traitlets.Bytes().tag(sync=True, echo_update=False)
    _details = traitlets.Bytes().tag(sync=True, echo_update=False)
    _link = traitlets.Unicode("").tag(sync=True)

    _delivery: Source
    _title: str

    def __init__(self, *, selection: Any, **options: Any) -> None:
        super().__init__(**options, _selection=self._selection_of(selection), _drawn=self._delivery.first)
        answer_on_own_thread(self.comm)
        self.on_msg(self._answer)

    @property
    @abstractmethod
    def selection(self) -> pd.DataFrame:
        """The selected rows."""

    @abstractmethod
    def _selection_of(self, value: Any) -> dict[str, Any] | None:
        """Convert a selection of the user for the front end."""

    @abstractmethod
    def _checked(self, selection: Any) -> dict[str, Any] | None:
        """Return a selection of the front end; ValueError if it does not fit this timeline."""

    @abstractmethod
    def _exported(self, form: Any) -> tuple[str, str]:
        """Return the name and the text of an exported file."""

    @overload
    def to_html(
        self, path: None = None, title: str | None = None, **options: Unpack[TimelineHtmlOptions]
    ) -> str: ...
    @overload
    def to_html(
        self, path: str | Path, title: str | None = None, **options: Unpack[TimelineHtmlOptions]
    ) -> Path: ...
    @only_known_options
    def to_html(
        self, path: str | Path | None = None, title: str | None = None, **options: Unpack[TimelineHtmlOptions]
    ) -> str | Path:
        """Write one HTML file that opens offline, with the options and the selection of the timeline.

        Options are ``max_bytes``, ``source``, ``anonymize``, ``time_range`` and ``view``, as in
        `tfvis_nb.Trace.to_html`, which also lists the errors.
        """
        return self._written_html(path, title, options)

    def on_selection(self, callback: Callable[[pd.DataFrame], object]) -> None:
        """Call `callback` with the selected rows when the selection changes, by click or from Python."""
        self.observe(lambda _: callback(self.selection), names="_selection")

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take over changes of the front end, except of what only Python sets, such as what is drawn."""
        super().set_state({name: value for name, value in sync_data.items() if name in _FROM_FRONT_END})

    def close(self) -> None:
        """Remove the timeline from the notebook and free its memory."""
        super().close()
        self._drawn = b""
        self._details = b""

    @traitlets.validate(*timeline_options.DEFAULTS)
    def _check_option(self, proposal: Any) -> Any:
        try:
            return timeline_options.validate_option(proposal["trait"].name, proposal["value"])
        except ValueError as error:
            raise traitlets.TraitError(text_of(error)) from error

    @traitlets.validate("_selection")
    def _check_selection(self, proposal: Any) -> Any:
        try:
            return self._checked(proposal["value"])
        except ValueError as error:
            # Only this error makes traitlets reject the value from the front end.
            raise traitlets.TraitError(text_of(error)) from error

    def _send_details(self) -> None:
        # Closed widgets have no drawing and no viewers.
        if self._drawn:
            self._details = self._delivery.details()

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Answer a message of the front end, possibly on a second thread."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind in ("details", "export", "rest", "ask", "stored"):
            answer_message(self, content, lambda: self._reply(kind, content))

    def _reply(self, kind: str, content: dict[str, Any]) -> None:
        message = {"kind": kind, "id": content.get("id")}
        if kind == "details":
            if not self._details:
                self._send_details()
        elif kind == "export":
            name, text = self._exported(content.get("format"))
            self.send({**message, "name": name}, buffers=[text.encode()])
        elif kind == "stored":
            self._send_stored(content)
        elif kind == "rest":
            for chunk, data in self._delivery.chunks(content["part"]):
                self.send({**message, **chunk}, buffers=[data])
        else:
            answer, buffers = self._delivery.answer(content["question"])
            self.send({**message, "answer": answer}, buffers=buffers)


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a timeline; FileNotFoundError if its front end is not built."""
    if not hasattr(TimelineView, "_esm"):
        bundle("widget.js")
    return timeline_options.validate_options(options)
