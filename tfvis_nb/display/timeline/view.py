"""Base of timelines in a notebook: bytes to draw, options, selection, views, and answers to the front end."""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol, Unpack, overload

import pandas as pd
import traitlets

from tfvis_nb.core.display_options import TimelineHtmlOptions
from tfvis_nb.core.html_export import HtmlExport
from tfvis_nb.core.labels import matches_lane
from tfvis_nb.core.options import only_known_options
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.bundles import bundle, bundle_path, widget_bundle
from tfvis_nb.display.messages import ExportFormat, Part, Question, Replies, answer_messages, message
from tfvis_nb.display.shaping.views import OPTIONS, DrawnView, Views, check_named, check_view
from tfvis_nb.display.store.answers import Answer
from tfvis_nb.display.stored_output import StoredWidget
from tfvis_nb.display.timeline.runs_of_cells import shown_before
from tfvis_nb.texts import text_of

_FROM_FRONT_END = (*timeline_options.DEFAULTS, "_selection", "_annotations", "_view", "_views")


class Source(Protocol):
    """The source of a timeline's events: a trace in memory, or a dataset on disk."""

    rest: str

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Answer a query of the front end."""

    def details(self) -> bytes:
        """The content of the details panel, unless `rest` is requested in parts."""

    def chunks(self, part: Part) -> Replies:
        """Yield the rest of the drawing, or of the details, in pieces."""


class TimelineView(HtmlExport, StoredWidget):
    """Base of `TimelineWidget` and `DatasetTimeline`.

    `_views_of` converts views of its events, and `_given` names the options that its call has set.
    """

    if bundle_path("widget.js").is_file():
        _esm = widget_bundle("widget.js")

    height = traitlets.Int(timeline_options.DEFAULTS["height"]).tag(sync=True)
    group_by = traitlets.Unicode(timeline_options.DEFAULTS["group_by"]).tag(sync=True)
    color_by = traitlets.Unicode(timeline_options.DEFAULTS["color_by"]).tag(sync=True)
    lane_filter = traitlets.Unicode(timeline_options.DEFAULTS["lane_filter"]).tag(sync=True)
    _selection = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    _annotations: traitlets.List[Any] = traitlets.List().tag(sync=True)
    # Two, because several timelines of a widget report their views but do not follow each other.
    _view: traitlets.Dict[str, Any] = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    _wanted_view: traitlets.Dict[str, Any] = traitlets.Dict(default_value=None, allow_none=True).tag(
        sync=True
    )
    _views: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _tracks: traitlets.List[Any] = traitlets.List().tag(sync=True)
    _drawn = traitlets.Bytes().tag(sync=True, echo_update=False)
    _details = traitlets.Bytes().tag(sync=True, echo_update=False)
    _link = traitlets.Unicode("").tag(sync=True)

    _delivery: Source
    _title: str
    _views_of: Views
    _given: Collection[str] = ()
    _displayed = False

    def __init__(self, *, selection: Any, **options: Any) -> None:
        super().__init__(**options, _selection=self._selection_of(selection))
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

    @property
    def view(self) -> dict[str, Any]:
        """What the timeline shows, as a dict; exported pages keep it, so that others see the same.

        ``start_ns`` and ``end_ns`` (epoch nanoseconds); ``step`` (the only one shown, or None);
        ``hidden`` and ``pinned`` (lists of lanes as (task, device, lane), where (task, device) is a whole
        device); whether the panes ``details``, ``graph`` and ``code`` are open; ``group_by``, ``color_by``
        and ``lane_filter``; ``selection`` (a list of event ids, a tuple (start_ns, end_ns), or None; in the
        timeline of a dataset, events are tuples (source, event), as in `TraceDataset.events`).
        Set it to a dict with some of these. TypeError and ValueError name invalid keys and values.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> table = events.build({"start_ns": [5, 9], "duration_ns": [3, 90], "kind": ["op", "op"]})
        >>> widget = tv.show_timeline(tv.Trace(table))
        >>> widget.view = {"start_ns": 5, "end_ns": 20, "selection": [1]}
        >>> {name: widget.view[name] for name in ("start_ns", "end_ns", "selection", "details")}
        {'start_ns': 5, 'end_ns': 20, 'selection': [1], 'details': True}
        """
        return self._views_of.recorded(self._now())

    @view.setter
    def view(self, changes: Any) -> None:
        # Everything is checked first: a wrong value changes nothing.
        shown = self._views_of.drawn(changes, self._now())
        with self.hold_sync():
            for name, value in shown.options.items():
                self.set_trait(name, value)
            self.set_trait("_selection", shown.selection)
            self.set_trait("_view", shown.view)
            # Unique each time: the front end may have left this view since it was last set.
            self.set_trait("_wanted_view", {**shown.view, "wish": uuid.uuid4().hex})

    @property
    def views(self) -> dict[str, dict[str, Any]]:
        """Named views, available with the key V; pages and notebooks keep them.

        Set it to a dict from names to views, each a dict with some keys of `view`; the rest is as shown now.
        TypeError and ValueError name invalid keys and values.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> table = events.build({"start_ns": [5, 9], "duration_ns": [3, 90], "kind": ["op", "op"]})
        >>> widget = tv.show_timeline(tv.Trace(table))
        >>> widget.views = {"slow copy": {"start_ns": 9, "end_ns": 20}}
        >>> {name: view["end_ns"] for name, view in widget.views.items()}
        {'slow copy': 20}
        >>> widget.view = widget.views["slow copy"]
        """
        return {view["name"]: self._views_of.recorded(DrawnView.of(view)) for view in self._views}

    @views.setter
    def views(self, views: Any) -> None:
        self.set_trait("_views", self._views_of.named(views, self._now()))

    @traitlets.observe("_views")
    def _keep_views(self, _: Any) -> None:
        self._store_changed()

    @traitlets.validate("_view", "_views")
    def _check_views(self, proposal: Any) -> Any:
        value = proposal["value"]
        try:
            if proposal["trait"].name == "_views":
                check_named(value)
                for view in value:
                    self._checked(DrawnView.of(view).selection)
            elif value is not None:
                check_view(value)
        except (TypeError, ValueError) as error:
            raise traitlets.TraitError(text_of(error)) from error
        return value

    def _show_as_before(self) -> None:
        """Show what the timeline showed that it replaces because its cell runs again.

        What this run of the cell has set itself stays. To be called whenever the timeline is displayed; one
        that has been displayed before stays as it is.
        """
        other, is_shown, self._displayed = shown_before(self), self._displayed, True
        if other is None or is_shown:
            return
        own = {
            name
            for name in OPTIONS
            if name in self._given or getattr(self, name) != timeline_options.DEFAULTS[name]
        }
        own |= {name for name in ("view", "views") if getattr(self, f"_{name}")}
        self._take_over(other, but=own)

    def _take_over(self, other: TimelineView, *, but: Collection[str] = ()) -> None:
        """Show what the timeline of another run of the same cell shows, as far as it applies to this trace.

        Its named views are taken over too, and no lane filter that matches nothing here. `but` names what to
        leave as it is: options, ``"view"`` and ``"views"``.
        """
        now = self._taken_over(other._now(), other)
        for name in now.options.keys() - but:
            self.set_trait(name, now.options[name])
        if "view" not in but:
            self.set_trait("_view", now.view or None)
        if "views" in but:
            return
        views = []
        for view in other._views:
            taken = self._taken_over(DrawnView.of(view), other)
            views.append({"name": view["name"], **taken.whole})
        self.set_trait("_views", views)

    def _taken_over(self, shown: DrawnView, other: TimelineView) -> DrawnView:
        taken = self._views_of.taken_over(shown, other._views_of)
        if self._filters_to_some(taken.options["lane_filter"]):
            return taken
        return taken._replace(
            options={**taken.options, "lane_filter": timeline_options.DEFAULTS["lane_filter"]}
        )

    def _filters_to_some(self, text: str) -> bool:
        """Return whether a lane filter leaves something to see."""
        words = text.lower().split()
        return any(matches_lane(lane, words) for lane in self._views_of.lanes())

    def _now(self) -> DrawnView:
        """Return the current view in the front end's form."""
        options = {name: getattr(self, name) for name in OPTIONS}
        return DrawnView(self._view or {}, options, self._selection)

    @abstractmethod
    def _store_changed(self) -> None:
        """Store the changed timeline in the notebook's file, or tell the user how to keep the change."""


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a timeline; FileNotFoundError if its front end is not built."""
    if not hasattr(TimelineView, "_esm"):
        bundle("widget.js")
    return timeline_options.validate_options(options)
