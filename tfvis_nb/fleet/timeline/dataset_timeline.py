"""A dataset of traces as a timeline in a notebook cell."""

import html
import json
import warnings
from collections.abc import Collection, Mapping
from typing import Any, Unpack

import pandas as pd

from tfvis_nb.core.display_options import TimelineOptions
from tfvis_nb.core.options import check_title, only_known_options
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.pages.page import file_stem
from tfvis_nb.display.shaping.selection import validate_drawn_range
from tfvis_nb.display.shaping.views import OPTIONS, DrawnView
from tfvis_nb.display.timeline.view import TimelineView, checked_options
from tfvis_nb.fleet.dataset import TraceDataset
from tfvis_nb.fleet.timeline.source import MOST_SELECTED, DatasetSource
from tfvis_nb.fleet.timeline.views import DatasetViews
from tfvis_nb.texts import Text
from tfvis_nb.writing.chrome_trace import chrome_trace_text
from tfvis_nb.writing.csv import rows_csv


class _OfTraces:
    """What `TimelineWidget` has, but the timeline of a dataset has not: the error says where it is."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, timeline: Any, owner: type) -> Any:
        if timeline is None:
            return self
        raise AttributeError(Text("only_of_traces", name=self._name))

    def __set__(self, timeline: Any, value: Any) -> None:
        raise AttributeError(Text("only_of_traces", name=self._name))


class DatasetTimeline(TimelineView):
    """The traces of a dataset as one timeline, which only reads the parts in view.

    Parameters
    ----------
    dataset
        The dataset to show.
    run
        One of its runs; None if there is only one.
    tasks
        Names of tasks, such as ``"worker 1"`` or in full; None for all.
    steps
        Numbers of steps; None for all, with the events outside steps.
    selection, title, view, **options
        As in `TimelineWidget`.

    Raises
    ------
    TypeError
        If an option or a key of the view is unknown, or the title no text.
    ValueError
        If an option, the view or the selection has an invalid value, if there is no such run, task or step,
        or if there are more lanes or days than a timeline shows.
    OSError
        If a part of the dataset is damaged.
    """

    _delivery: "_Delivery"
    annotations, tracks, add_track = _OfTraces(), _OfTraces(), _OfTraces()

    @only_known_options
    def __init__(
        self,
        dataset: TraceDataset,
        *,
        run: str | None = None,
        tasks: Collection[str] | str | None = None,
        steps: Collection[int] | int | None = None,
        selection: Any = None,
        title: str | None = None,
        view: Mapping[str, Any] | None = None,
        **options: Unpack[TimelineOptions],
    ) -> None:
        values = checked_options(options)
        self._given = options.keys()
        check_title(title)
        self._dataset = dataset
        self._delivery = _Delivery(dataset, run, tasks, steps)
        self._title = self._delivery.run if title is None else title
        self._delivery.first = self._delivery.outline(self._title)
        self._views_of = DatasetViews(self._delivery)
        if view is not None:
            # Before creating a widget that would have to be closed again.
            self._views_of.drawn(view, DrawnView({}, {name: values[name] for name in OPTIONS}, None))
        super().__init__(selection=selection, **values)
        if view is not None:
            self.view = view

    @property
    def dataset(self) -> TraceDataset:
        """The dataset that is shown."""
        return self._dataset

    @property
    def selection(self) -> pd.DataFrame:
        """The selected events; for a selected time range, those that overlap it.

        The columns are those of ``trace.events``; the index is the number of each event in this timeline. A
        range has at most a million rows: if there are more, those of the first tasks are returned, with a
        warning, and ``attrs["left_out"]`` is the number of missing ones. Set it to such rows, a list of these
        numbers, a tuple ``(start_ns, end_ns)`` in epoch nanoseconds, or None.
        """
        rows, left_out = self._delivery.rows(self._selection)
        rows.attrs["left_out"] = left_out
        if left_out:
            warnings.warn(Text("selection_cut", most=MOST_SELECTED, left_out=left_out), stacklevel=2)
        return rows

    @selection.setter
    def selection(self, value: Any) -> None:
        self.set_trait("_selection", self._selection_of(value))

    def _selection_of(self, value: Any) -> dict[str, Any] | None:
        return self._delivery.selection_of(value)

    def _checked(self, selection: Any) -> dict[str, Any] | None:
        if selection is None:
            return None
        if isinstance(selection, dict) and set(selection) == {"events"}:
            return {"events": self._delivery.validate_ids(selection["events"])}
        return validate_drawn_range(selection, self._delivery.lanes)

    def _html(self, title: str | None, **options: Any) -> str:
        """Return a page of the traces, if they are small enough."""
        values = {name: getattr(self, name) for name in timeline_options.DEFAULTS}
        if title is None and not options.get("anonymize"):
            title = self._title
        return str(self._delivery.whole_trace().to_html(None, title, **values, **options))

    def _exported(self, form: Any) -> tuple[str, str]:
        stem = file_stem(self._title)
        if form == "html":
            return f"{stem}.html", self.to_html()
        if form == "json":
            return f"{stem}.json", chrome_trace_text(self._delivery.whole_trace())
        if form == "csv":
            return f"{stem}.csv", rows_csv(self.selection)
        raise ValueError(Text("no_export", format=json.dumps(form)))

    def _store_changed(self) -> None:
        self._unsaved = "no" if self._views else ""

    def __repr__(self) -> str:
        counts = {"event": self._delivery.events, "task": self._delivery.tasks}
        events, tasks = (f"{count:,} {noun}{'s' * (count != 1)}" for noun, count in counts.items())
        return f"<{type(self).__name__} {self._title!r}: {events} of {tasks}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._show_as_before()
        bundled: Any = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundled if isinstance(bundled, tuple) else (bundled, {})
        return {**data, "text/html": self._store(lambda: f"<p>{html.escape(repr(self))}</p>")}, metadata


class _Delivery(DatasetSource):
    first = b""
