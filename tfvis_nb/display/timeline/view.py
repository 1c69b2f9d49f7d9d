"""Base of timelines in a notebook: bytes to draw, options, a selection, and answers to the front end."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, Unpack, overload

import pandas as pd
import traitlets

from tfvis_nb.core.display_options import TimelineHtmlOptions
from tfvis_nb.core.html_export import HtmlExport
from tfvis_nb.core.options import only_known_options
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.bundles import bundle, bundle_path, widget_bundle
from tfvis_nb.display.messages import ExportFormat, Part, Question, Replies, answer_messages, message
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

    def chunks(self, part: Part) -> Replies:
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
        answer_messages(self)

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

    @message()
    def _on_details(self) -> None:
        """Have the trait with the details, unless it is there."""
        if not self._details:
            self._send_details()

    @message()
    def _on_export(self, format: ExportFormat) -> Replies:  # noqa: A002
        """Make a file; the reply has its name."""
        name, text = self._exported(format)
        return [({"name": name}, [text.encode()])]

    @message()
    def _on_rest(self, part: Part) -> Replies:
        """Send all of the drawing or of the details in chunks; each says how many there are."""
        return self._delivery.chunks(part)

    @message()
    def _on_ask(self, question: Question) -> Replies:
        """Answer a question."""
        answer, buffers = self._delivery.answer(question)
        return [({"answer": answer}, buffers)]


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a timeline; FileNotFoundError if its front end is not built."""
    if not hasattr(TimelineView, "_esm"):
        bundle("widget.js")
    return timeline_options.validate_options(options)
