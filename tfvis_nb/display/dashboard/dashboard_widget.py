"""The dashboard: a timeline, with charts and tables below that move with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack, overload

import pandas as pd

from tfvis_nb.anonymizing.anonymized import anonymized
from tfvis_nb.core.display_options import TimelineOptions, ViewHtmlOptions
from tfvis_nb.core.html_export import MAX_BYTES, HtmlExport
from tfvis_nb.core.labels import one_line
from tfvis_nb.core.options import check_flags, check_title, only_known_options
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.composed import ComposedWidget
from tfvis_nb.display.dashboard.tabs_widget import PanelsWidget
from tfvis_nb.display.pages.dashboard import dashboard_page
from tfvis_nb.display.pages.page import anonymized_options, with_lanes_of
from tfvis_nb.display.pages.static_html import overview_html, static_html, static_report
from tfvis_nb.display.stored_output import KeptPage
from tfvis_nb.display.tabs import parts, tab
from tfvis_nb.display.timeline.linked import LinkedTimeline, OpenedTimeline
from tfvis_nb.display.timeline.timeline_widget import as_trace

_WITHOUT_TABS = "This notebook keeps the timeline without its tabs. Run the cell again to see them."


class Dashboard(HtmlExport, ComposedWidget):
    """A trace as a timeline with its analyses: breakdown, ops, transfers, memory, steps.

    Charts and tables are linked with the timeline, even while the kernel is busy: a click on a row shows it
    in the timeline, and charts over time zoom and pan with the timeline.

    Parameters
    ----------
    trace
        The trace to show.
    against
        Another trace, the base: figures have their differences from it, and a part of *Time* compares both.
    selection, title, report, view, tracks, **options
        As in `tfvis_nb.show_timeline`.

    Attributes
    ----------
    timeline
        The `TimelineWidget`; its Export menu writes the whole dashboard as HTML.
    panels
        The tabs; ``panels.height`` is their height in CSS pixels.
    """

    @only_known_options
    def __init__(
        self,
        trace: Trace,
        *,
        against: Trace | None = None,
        selection: Any = None,
        title: str | None = None,
        report: bool = True,
        view: Mapping[str, Any] | None = None,
        tracks: Mapping[str, Any] | None = None,
        **options: Unpack[TimelineOptions],
    ) -> None:
        check_flags(report=report)
        self._against = against
        self._has_report = report
        self.timeline = LinkedTimeline(
            trace, against=against, selection=selection, title=title, view=view, tracks=tracks, **options
        )
        self.timeline._write_page = self.to_html
        self.panels = PanelsWidget(self.timeline._shown, link=self.timeline._link, against=against)
        self.timeline._tabs = self.panels
        # The visible tab comes first, because computing others would delay it.
        self.timeline._before_details = self.panels._wait_for_first
        self.panels._opens = self._show_predicted
        super().__init__(
            {"timeline": self.timeline, "panels": self.panels},
            timelines=["timeline"],
            opens=OpenedTimeline,
        )

    @property
    def trace(self) -> Trace:
        """The trace that is shown."""
        return self.timeline.trace

    @property
    def selection(self) -> pd.DataFrame:
        """The selected rows, as in `TimelineWidget.selection`; settable."""
        return self.timeline.selection

    @selection.setter
    def selection(self, value: Any) -> None:
        self.timeline.selection = value

    @property
    def annotations(self) -> pd.DataFrame:
        """Names and comments on events, ranges and times, as in `TimelineWidget.annotations`; settable."""
        return self.timeline.annotations

    @annotations.setter
    def annotations(self, values: Any) -> None:
        self.timeline.annotations = values

    @property
    def view(self) -> dict[str, Any]:
        """What the timeline shows, as in `TimelineWidget.view`; settable."""
        return self.timeline.view

    @view.setter
    def view(self, changes: Any) -> None:
        self.timeline.view = changes

    @property
    def views(self) -> dict[str, dict[str, Any]]:
        """Views by their names, as for `TimelineWidget.views`; settable."""
        return self.timeline.views

    @views.setter
    def views(self, views: Any) -> None:
        self.timeline.views = views

    def _show_predicted(self, predicted: Trace) -> None:
        """Show a predicted trace below the tabs, replacing the previous one."""
        self._open(OpenedTimeline(predicted, title=self.timeline._title))

    @overload
    def to_html(
        self, path: None = None, title: str | None = None, **options: Unpack[ViewHtmlOptions]
    ) -> str: ...
    @overload
    def to_html(
        self, path: str | Path, title: str | None = None, **options: Unpack[ViewHtmlOptions]
    ) -> Path: ...
    @only_known_options
    def to_html(
        self, path: str | Path | None = None, title: str | None = None, **options: Unpack[ViewHtmlOptions]
    ) -> str | Path:
        """Write one HTML file that opens offline, with the timeline as it is shown and all tabs.

        Options are ``max_bytes``, ``source``, ``anonymize`` and ``view``, as in `tfvis_nb.Trace.to_html`,
        which also lists the errors.
        """
        return self._written_html(path, title, options)

    def _html(self, title: str | None, **options: Any) -> str:
        """Return the page that `to_html` writes."""
        check_title(title)
        limits = {"max_bytes": options.get("max_bytes", MAX_BYTES), "source": options.get("source", True)}
        view = options.get("view")
        now = self.timeline._as_now(title, view)
        if options.get("anonymize"):
            against = [] if self._against is None else [self._against]
            shown, *others = anonymized([self.timeline._shown, *against])
            tabs = [tab(shown, name, *others) for _, name in parts(shown, *others)]
            values = anonymized_options(now["options"])
            if view is not None:
                values["view"] = with_lanes_of(now["options"]["view"], self.timeline._shown, shown)
            base = others[0] if others else None
            return dashboard_page(shown, tabs, title=title or "", options=values, against=base, **limits)
        return dashboard_page(
            self.timeline._shown, self.panels.tabs(), against=self._against, **limits, **now
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {one_line(self.trace, self.timeline._title)}>"

    def _page_to_keep(self) -> KeptPage:
        kept = super()._page_to_keep()
        if kept.text:
            return kept
        page, height, _ = self.timeline._page_to_keep()
        return KeptPage(page, height, _WITHOUT_TABS if page else "")

    def _still(self) -> str:
        below = overview_html(self.timeline._shown, self._against)
        return static_html(self.trace, title=self.timeline._title, below=below)

    def _report(self) -> str:
        return static_report(self.timeline._shown) if self._has_report else ""


@only_known_options
def show_dashboard(
    source: Any,
    *,
    against: Any = None,
    selection: Any = None,
    title: str | None = None,
    report: bool = True,
    view: Mapping[str, Any] | None = None,
    tracks: Mapping[str, Any] | None = None,
    **options: Unpack[TimelineOptions],
) -> Dashboard:
    """Show a trace as a timeline with its analyses, in a notebook as the last expression of a cell.

    Tabs below the timeline have charts and tables of where the time went. They appear one by one, computed
    while the notebook runs the next cells.

    Parameters
    ----------
    source
        A `Trace`, or anything `tfvis_nb.read_trace` reads.
    against
        Another trace, the base: figures have their differences from it, and a part of *Time* compares both.
    selection, title, report, view, tracks, **options
        As in `tfvis_nb.show_timeline`.

    Returns
    -------
    Dashboard
        With ``timeline``, ``selection`` and ``to_html``.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        As in `tfvis_nb.show_timeline`.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> from tfvis_nb import events
    >>> table = events.build({"start_ns": [5], "duration_ns": [2000], "kind": ["op"]})
    >>> tv.show_dashboard(tv.Trace(table, title="mlp"))
    <Dashboard mlp: 1 event, 1 device, 1 step, 2.00 \u00b5s>
    """
    check_title(title)
    other = None if against is None else as_trace(against)
    return Dashboard(
        as_trace(source),
        against=other,
        selection=selection,
        title=title,
        report=report,
        view=view,
        tracks=tracks,
        **options,
    )
