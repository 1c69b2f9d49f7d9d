"""The timeline in a notebook cell: an anywidget with a trace's bytes, options and selection."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, overload

import pandas as pd
import traitlets

from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.anonymizing.anonymized import anonymized
from tfvis_nb.core.display_options import PictureOptions, TimelineOptions
from tfvis_nb.core.html_export import MAX_BYTES
from tfvis_nb.core.labels import one_line
from tfvis_nb.core.options import check_flags, check_title, only_known_options, refuse_unknown
from tfvis_nb.core.picture_export import PictureExport
from tfvis_nb.core.timeline_source import TimelineSource
from tfvis_nb.core.trace import Trace
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.after_cell import after_cell
from tfvis_nb.display.pages.page import PageTooLargeError, anonymized_options, file_stem, html_page, page_text
from tfvis_nb.display.pages.static_html import QUICK, static_html, static_report
from tfvis_nb.display.pictures.picture import Picture, picture
from tfvis_nb.display.shaping.annotations import drawn_annotations, recorded_annotations
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.shaping.lane_filter import filters_to_some
from tfvis_nb.display.shaping.selection import drawn_selection, selected_rows, validate_selection
from tfvis_nb.display.shaping.trace_views import TraceViews
from tfvis_nb.display.shaping.tracks import checked_tracks, drawn_tracks
from tfvis_nb.display.shaping.views import OPTIONS as VIEW_OPTIONS
from tfvis_nb.display.shaping.views import DrawnView
from tfvis_nb.display.stored_output import KEPT_BYTES, KeptPage
from tfvis_nb.display.timeline.delivery import Delivery
from tfvis_nb.display.timeline.runs_of_cells import take_over_annotations
from tfvis_nb.display.timeline.view import TimelineView, checked_options
from tfvis_nb.display.wire.header import MOST_LANES
from tfvis_nb.texts import Text, text_of
from tfvis_nb.writing.chrome_trace import chrome_trace_text
from tfvis_nb.writing.csv import rows_csv

if TYPE_CHECKING:
    from tfvis_nb.fleet.dataset.dataset import TraceDataset
    from tfvis_nb.fleet.timeline.dataset_timeline import DatasetTimeline


class TimelineWidget(TimelineView, PictureExport):
    """A trace as a timeline that zooms, searches and selects.

    Parameters
    ----------
    trace
        The trace to show.
    against
        Another trace, the base: figures and findings have their differences from it.
    selection
        The initial selection; see `selection`.
    title
        DrawnView in the toolbar instead of the trace's own title.
    keep
        Whether to store the timeline in the notebook file, for use without a kernel, even if its page is
        larger than 2 MB.
    report
        Whether to store the headline, the findings and the slowest lines in the notebook file as Markdown,
        for people and programs that only read the file: at most 2 kB, without code, hosts and folders.
    view
        The initial view: a dict with some of the keys of `view`.
    tracks
        Tables to draw below the lanes, by name; see `add_track`.
    **options
        ``height`` in CSS pixels (160 to 4000, by default 560); ``group_by`` (``"device"``, ``"kind"`` or
        ``"none"``); ``color_by`` (``"kind"``, ``"op"`` or ``"device"``); ``lane_filter``, a text that names
        of shown lanes must contain. Each is also an attribute that follows the toolbar and can be set later.

    Raises
    ------
    TypeError
        If an option is unknown, or the title is not a text.
    ValueError
        If an option, the view or the selection has an invalid value.
    FileNotFoundError
        If this is a source checkout whose front end is not built.
    """

    _delivery: Delivery

    @only_known_options
    def __init__(
        self,
        trace: Trace,
        *,
        against: Trace | None = None,
        selection: Any = None,
        title: str | None = None,
        keep: bool = False,
        report: bool = True,
        view: Mapping[str, Any] | None = None,
        tracks: Mapping[str, Any] | None = None,
        **options: Unpack[TimelineOptions],
    ) -> None:
        values = checked_options(options)
        check_title(title)
        check_flags(keep=keep, report=report)
        self._trace = trace
        self._against = against
        self._given = options.keys()
        self._keep = keep
        self._report: Callable[[], str] = partial(static_report, trace) if report else str
        self._title = trace.title if title is None else title
        self._lanes = order_lanes(trace.events, at_most=MOST_LANES)
        self._shown = compress_gaps(trace)
        self._views_of = TraceViews(trace, self._shown, self._lanes)
        self._delivery = Delivery(self._shown, self._lanes, self._title, against)
        if view is not None:
            # Before creating a widget that would have to be closed again.
            now = {name: values[name] for name in VIEW_OPTIONS}
            self._views_of.drawn(view, DrawnView({}, now, None))
        self._own = checked_tracks(tracks, trace)
        drawn = drawn_annotations(trace, self._shown, self._lanes)
        own = drawn_tracks(self._own, trace, self._shown)
        first = self._delivery.first
        super().__init__(_drawn=first, selection=selection, _annotations=drawn, _tracks=own, **values)
        trace._watch_annotations(self, TimelineWidget._show_annotations)
        if view is not None:
            self.view = view

    @property
    def trace(self) -> Trace:
        """The trace that is shown."""
        return self._trace

    @property
    def selection(self) -> pd.DataFrame:
        """The selected rows of ``trace.events``; for a selected time range, those that overlap it.

        Set it to rows of ``trace.events`` or ``trace.transfers``, a boolean mask over
        ``trace.events``, a list of event ids, a time range such as ``"10ms:25ms"`` or a tuple
        ``(start_ns, end_ns)`` in epoch nanoseconds, or None.
        """
        rows = selected_rows(self._shown.events, self._lanes, self._selection)
        return rows if self._shown is self._trace else self._trace.events.loc[rows.index]

    @selection.setter
    def selection(self, value: Any) -> None:
        self.set_trait("_selection", self._selection_of(value))

    def _selection_of(self, value: Any) -> dict[str, Any] | None:
        """Convert a selection of the user for the front end."""
        return drawn_selection(self._trace, self._shown, value)

    @property
    def annotations(self) -> pd.DataFrame:
        """Names and comments on events, ranges and times of the trace; see `Trace.annotations`.

        Changes in the timeline appear here immediately, and changes here appear in the timeline.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> table = events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"], "name": ["MatMul"]})
        >>> widget = tv.show_timeline(tv.Trace(table))
        >>> widget.annotations = [{"event": 0, "name": "slow"}]
        >>> widget.annotations[["event", "event_name", "name"]].values.tolist()
        [[0, 'MatMul', 'slow']]
        """
        return self._trace.annotations

    @annotations.setter
    def annotations(self, values: Any) -> None:
        self._trace.annotations = values

    def _store_changed(self) -> None:
        # A closed timeline is not shown anywhere.
        if self._drawn:
            self._store_change(is_quick=len(self._trace.events) <= QUICK)

    def add_track(self, name: str, table: Any) -> None:
        """Draw a table below the lanes, replacing another track of this name.

        Bars have the columns ``start_ns``, ``duration_ns`` or ``end_ns``, and ``name``; values over time have
        ``time_ns``, ``value`` and optionally ``unit``, such as ``"bytes"`` or ``"%"``. Times are epoch
        nanoseconds. Pages and pictures of the timeline show the tracks, except for anonymized pages.

        Parameters
        ----------
        name
            Name of the track.
        table
            A DataFrame, or data that pandas converts to one. All tracks together have at most 20,000 rows.

        Raises
        ------
        TypeError, ValueError
            If the table has other columns or an invalid value, which the message names.

        Examples
        --------
        >>> import pandas as pd
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> columns = {"start_ns": [5, 9], "duration_ns": [3, 90], "kind": ["op", "op"]}
        >>> widget = tv.show_timeline(tv.Trace(events.build(columns)))
        >>> widget.add_track("phases", {"start_ns": [5], "end_ns": [50], "name": ["warm-up"]})
        >>> widget.add_track("loss", pd.DataFrame({"time_ns": [8, 99], "value": [2.5, 1.5]}))
        >>> list(widget.tracks)
        ['phases', 'loss']
        """
        self.tracks = {**self._own, name: table}

    @property
    def tracks(self) -> dict[str, pd.DataFrame]:
        """The tables that `add_track` has drawn, by name; settable."""
        return {name: track.table for name, track in self._own.items()}

    @tracks.setter
    def tracks(self, tables: Any) -> None:
        self._own = checked_tracks(tables, self._trace)
        self.set_trait("_tracks", drawn_tracks(self._own, self._trace, self._shown))
        self._store_changed()

    def _take_over(self, other: TimelineView, *, but: Collection[str] = ()) -> None:
        """Show what another timeline shows, and have its annotations."""
        super()._take_over(other, but=but)
        self._take_over_annotations(other)

    def _take_over_annotations(self, other: TimelineView) -> None:
        if isinstance(other, TimelineWidget):
            take_over_annotations(self._trace, other.trace)

    def _show_annotations(self) -> None:
        """Show the annotations of the trace, which this timeline or other code has changed."""
        self.set_trait("_annotations", drawn_annotations(self._trace, self._shown, self._lanes))
        self._store_changed()

    def _filters_to_some(self, text: str) -> bool:
        return filters_to_some(self._trace, text, self._own)

    def _checked(self, selection: Any) -> dict[str, Any] | None:
        return validate_selection(self._shown.events, self._lanes, selection)

    def _html(self, title: str | None, **options: Any) -> str:
        """Return the page that `to_html` writes."""
        check_title(title)
        values = {name: getattr(self, name) for name in timeline_options.DEFAULTS}
        anonymize, view = options.pop("anonymize", False), options.pop("view", None)
        limits: dict[str, Any] = {"max_bytes": MAX_BYTES, "source": True, "against": self._against} | options
        is_part = limits.pop("time_range", None) is not None
        if is_part or (anonymize and view is not None):
            title = self._title if title is None and not anonymize else title
            values |= {"view": view, "tracks": self._own, "anonymize": anonymize}
            return html_page(self._trace, title, **limits | options, **values)
        if anonymize:
            trace, *base = anonymized([self._trace, *([] if self._against is None else [self._against])])
            limits |= {"against": base[0] if base else None}
            shown, values = compress_gaps(trace), anonymized_options(values)
            return page_text(shown, title=title or "", selection=self._selection, **limits, **values)
        title = self._title if title is None else title
        payloads: dict[str, Any] = self._delivery.payloads if title == self._title else {}
        now = self._now() if view is None else self._views_of.drawn(view, self._now())
        kept: dict[str, Any] = {"selection": now.selection, "annotations": self._annotations}
        kept |= {"view": now.view or None, "views": self._views, "tracks": self._tracks}
        return page_text(self._shown, title=title, **kept, **payloads, **limits, **values | now.options)

    def _picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """Return the picture that `to_svg` writes, by default of the filtered lanes and selected time."""
        own: PictureOptions = {"lanes": self.lane_filter, "tracks": self._own}
        if "range_ns" in self.selection.attrs:
            own["time_range"] = self.selection.attrs["range_ns"]
        return picture(self._trace, **(own | options))

    @traitlets.validate("_annotations")
    def _check_annotations(self, proposal: Any) -> Any:
        values = proposal["value"]
        if values == drawn_annotations(self._trace, self._shown, self._lanes):
            return values
        try:
            table = recorded_annotations(values, self._trace, self._shown, self._lanes)
        except ValueError as error:
            raise traitlets.TraitError(text_of(error)) from error
        self._trace._annotate_by_hand(table)
        return drawn_annotations(self._trace, self._shown, self._lanes)

    def _exported(self, form: Any) -> tuple[str, str]:
        stem = file_stem(self._title)
        if form == "html":
            return f"{stem}.html", self.to_html()
        if form == "json":
            return f"{stem}.json", chrome_trace_text(self._trace)
        if form == "csv":
            return f"{stem}.csv", rows_csv(self.selection)
        raise ValueError(Text("no_export", format=json.dumps(form)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {one_line(self._trace, self._title)}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._show_as_before()
        bundled: Any = super()._repr_mimebundle_(**kwargs)
        if not self._details and not self._delivery.rest:
            # Pushed instead of requested, because a kernel busy with later cells does not answer. But only
            # after the cell, because finding them takes longer than drawing.
            after_cell(self._send_details)
        data, metadata = bundled if isinstance(bundled, tuple) else (bundled, {})
        still = partial(static_html, self._trace, title=self._title)
        return {**data, "text/html": self._store(still, self._page_to_keep, self._report)}, metadata

    def _page_to_keep(self) -> KeptPage:
        """Return the page to store in the notebook file, if it is small or `keep`."""
        page = ""
        # Closed widgets have no drawing.
        if self._drawn and (self._keep or not self._delivery.rest):
            with suppress(PageTooLargeError):
                page = TimelineWidget._html(self, None, max_bytes=None if self._keep else KEPT_BYTES)
        return KeptPage(page if self._keep or len(page) <= KEPT_BYTES else "", self.height)


@overload
def show_timeline(
    source: TraceDataset,
    *,
    selection: Any = None,
    title: str | None = None,
    report: bool = True,
    view: Mapping[str, Any] | None = None,
    run: str | None = None,
    tasks: Collection[str] | str | None = None,
    steps: Collection[int] | int | None = None,
    **options: Unpack[TimelineOptions],
) -> DatasetTimeline: ...
@overload
def show_timeline(
    source: Any,
    *,
    against: Any = None,
    selection: Any = None,
    title: str | None = None,
    keep: bool = False,
    report: bool = True,
    view: Mapping[str, Any] | None = None,
    tracks: Mapping[str, Any] | None = None,
    **options: Unpack[TimelineOptions],
) -> TimelineWidget: ...
@only_known_options
def show_timeline(
    source: Any,
    *,
    against: Any = None,
    selection: Any = None,
    title: str | None = None,
    keep: bool = False,
    report: bool = True,
    view: Mapping[str, Any] | None = None,
    tracks: Mapping[str, Any] | None = None,
    run: str | None = None,
    tasks: Collection[str] | str | None = None,
    steps: Collection[int] | int | None = None,
    **options: Unpack[TimelineOptions],
) -> TimelineWidget | DatasetTimeline:
    """Show a trace as a timeline, in a notebook as the last expression of a cell.

    Parameters
    ----------
    source
        A `Trace`, a `TraceDataset`, or anything `tfvis_nb.read_trace` reads: a path, bytes, a
        ``RunMetadata`` or ``StepStats``, or an iterable of those, one per step.
    selection, title, view, **options
        As in `TimelineWidget`.
    against
        A base, as in `TimelineWidget`, or anything `tfvis_nb.read_trace` reads; not for datasets.
    keep, tracks
        As in `TimelineWidget`; not for datasets.
    report
        As in `TimelineWidget`; for datasets there is none.
    run, tasks, steps
        As in `DatasetTimeline`; only for datasets.

    Returns
    -------
    TimelineWidget or DatasetTimeline
        With ``selection``, ``to_html`` and the options as attributes.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        As in `TimelineWidget`, and the errors of reading `source`.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> from tfvis_nb import events
    >>> table = events.build({"start_ns": [5, 9], "duration_ns": [3, 90], "kind": ["op", "op"]})
    >>> timeline = tv.show_timeline(tv.Trace(table), selection=[1], color_by="op")
    >>> timeline.selection["duration_ns"].tolist(), timeline.color_by
    ([90], 'op')
    """
    # A notebook's file cannot keep a dataset.
    own: dict[str, Any] = {"against": against, "keep": keep or None, "tracks": tracks}
    others: dict[str, Any] = {"run": run, "tasks": tasks, "steps": steps}
    if isinstance(source, TimelineSource):
        own, others = others, own
    known = [*timeline_options.DEFAULTS, "selection", "title", "report", "view", *own]
    refuse_unknown((name for name, value in others.items() if value is not None), known)
    check_title(title)
    if isinstance(source, TimelineSource):
        shown: DatasetTimeline = source.show_timeline(
            run=run, tasks=tasks, steps=steps, selection=selection, title=title, view=view, **options
        )
        return shown
    return TimelineWidget(
        as_trace(source),
        against=None if against is None else as_trace(against),
        selection=selection,
        title=title,
        keep=keep,
        report=report,
        view=view,
        tracks=tracks,
        **options,
    )


def as_trace(source: Any) -> Trace:
    """Return a trace unchanged, and read anything else."""
    from tfvis_nb.reading import read_trace

    return source if isinstance(source, Trace) else read_trace(source)
