"""A dataset of traces as a timeline in a notebook cell."""

import html
import json
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import pandas as pd

from tfvis_nb.core.display_options import TimelineOptions
from tfvis_nb.core.options import check_title, only_known_options
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.pages.page import file_stem
from tfvis_nb.display.shaping.selection import validate_drawn_range
from tfvis_nb.display.shaping.views import OPTIONS, DrawnView, Views
from tfvis_nb.display.timeline.view import TimelineView, checked_options
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.dataset import TraceDataset
from tfvis_nb.fleet.timeline.source import MOST_SELECTED, DatasetSource
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

    _delivery: DatasetSource
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
        self._delivery = DatasetSource(dataset, run, tasks, steps)
        self._title = self._delivery.run if title is None else title
        outline = self._delivery.outline(self._title)
        self._views_of = _Views(self._delivery)
        if view is not None:
            # Before creating a widget that would have to be closed again.
            self._views_of.drawn(view, DrawnView({}, {name: values[name] for name in OPTIONS}, None))
        super().__init__(_drawn=outline, selection=selection, **values)
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


class _Views(Views):
    """Converts views of a part of a dataset.

    The numbers of events in a timeline depend on the chosen tasks and steps. Views name an event by its
    source and its number there instead, which are the same in every timeline of the dataset.
    """

    def __init__(self, source: DatasetSource) -> None:
        self._source = source
        self._places = source.places
        super().__init__(self._places.origin, self._places.origin + self._places.span)

    def recorded_time(self, drawn: int) -> int:
        """Add the origin."""
        return self._places.origin + drawn

    def drawn_time(self, time: int) -> int:
        """Subtract the origin."""
        return time - self._places.origin

    def recorded_selection(self, selection: dict[str, Any] | None) -> Any:
        """Return a list of (source, event), or a range in epoch nanoseconds."""
        if selection is None:
            return None
        if "events" in selection:
            return self._source.origins_of(selection["events"]) or None
        return tuple(self.recorded_time(int(selection[end])) for end in ("start", "end"))

    def drawn_selection(self, value: Any) -> dict[str, Any] | None:
        """Take the same, or what `DatasetTimeline.selection` takes."""
        if isinstance(value, list) and value and isinstance(value[0], Sequence):
            value = self._numbers(value)
        return self._source.selection_of(value)

    def _numbers(self, events: Sequence[Any]) -> list[int]:
        of_source: dict[str, set[int]] = {}
        for source, event in filter(_is_event, events):
            of_source.setdefault(source, set()).add(event)
        known = {source: self._source.numbers_of(source, own) for source, own in of_source.items()}
        for event in events:
            if not _is_event(event) or event[1] not in known[event[0]]:
                expected = "a list of (source, event) of this timeline"
                raise ValueError(Text("view_value", name="selection", value=event, expected=expected))
        return [known[source][event] for source, event in events]

    def lanes(self) -> Iterable[tuple[str, str, str]]:
        """Those of the chosen tasks."""
        table = self._places.lanes[: len(self._places.lanes) - self._places.devices]
        return table[["task", "device", "lane"]].itertuples(index=False, name=None)

    def extent(self, step: int | None) -> tuple[int, int] | None:
        """Find the step by its number in the dataset."""
        if step is None:
            return 0, self._places.span
        steps = self._places.steps
        own = steps[(steps["step"] == step) & (step != NO_STEP)]
        return None if own.empty else (int(own["start"].iloc[0]), int(own["end"].iloc[0]))


def _is_event(value: Any) -> bool:
    is_pair = isinstance(value, Sequence) and len(value) == 2
    return (
        is_pair
        and isinstance(value[0], str)
        and isinstance(value[1], int | np.integer)
        and not isinstance(value[1], bool)
    )
