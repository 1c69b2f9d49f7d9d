"""Convert a view between the front end's form and that of `TimelineWidget.view`.

The front end (``SavedView`` in ``js/model/view.ts``) has times in nanoseconds from the earliest start drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb.core.options import refuse_unknown
from tfvis_nb.display.options import validate_option
from tfvis_nb.display.shaping.selection import is_drawn_time
from tfvis_nb.texts import Text

View = dict[str, Any]

PANELS = ("details", "graph", "code")
_TIMES = ("start_ns", "end_ns")
_LANES = ("hidden", "pinned")
OPTIONS = ("group_by", "color_by", "lane_filter")
_BESIDE = (*OPTIONS, "selection", "name")
MOST_VIEWS, MOST_NAME = 100, 200
"""Maximum named views of a timeline, and characters of a name; ``js/model/view.ts`` has the same."""
KEYS = (*_TIMES, "step", *_LANES, *PANELS, *OPTIONS, "selection")


class DrawnView(NamedTuple):
    """A view for the front end: its option ``view``, the options named in `OPTIONS`, and the selection."""

    view: View
    options: dict[str, Any]
    selection: dict[str, Any] | None

    @property
    def whole(self) -> View:
        """Everything in one dict, the form in which the front end saves views."""
        return {**self.view, **self.options, "selection": self.selection}

    @classmethod
    def of(cls, whole: Mapping[str, Any]) -> DrawnView:
        """Split a view saved by the front end into its parts."""
        view = {name: value for name, value in whole.items() if name not in _BESIDE}
        return cls(view, {name: whole[name] for name in OPTIONS}, whole.get("selection"))


def check_view(view: Any) -> None:
    """Raise TypeError or ValueError unless a view from the front end has the form ``View`` there."""
    if not isinstance(view, dict):
        raise TypeError(Text("view_no_dict", view=view))
    refuse_unknown(view, _FORM)
    for name, (has_form, expected) in _FORM.items():
        if not has_form(view.get(name)):
            raise ValueError(Text("view_value", name=name, value=view.get(name), expected=expected))
    if view["start"] >= view["end"]:
        expected = f"more than {view['start']}"
        raise ValueError(Text("view_value", name="end", value=view["end"], expected=expected))


def check_named(views: Sequence[Any]) -> None:
    """Raise TypeError or ValueError unless views from the front end have the form ``NamedView`` there."""
    if len(views) > MOST_VIEWS:
        raise ValueError(Text("too_many_views", views=len(views), most=MOST_VIEWS))
    for view in views:
        if not isinstance(view, dict):
            raise TypeError(Text("view_no_dict", view=view))
        _check_name(view.get("name"))
        for name in OPTIONS:
            validate_option(name, view.get(name))
        check_view({name: value for name, value in view.items() if name not in _BESIDE})


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or len(name) > MOST_NAME:
        expected = f"a text of 1 to {MOST_NAME} characters"
        raise ValueError(Text("view_value", name="name", value=name, expected=expected))


def _are_lanes(value: Any) -> bool:
    lanes = value if isinstance(value, list) else [None]
    return all(isinstance(lane, list) and all(isinstance(part, str) for part in lane) for lane in lanes)


_FORM: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("start", "end"), (is_drawn_time, "a time in nanoseconds")),
    "step": (lambda value: value is None or type(value) is int, "a whole number, or None"),
    **dict.fromkeys(_LANES, (_are_lanes, "a list of lanes")),
    **dict.fromkeys(PANELS, (lambda value: isinstance(value, bool), "True or False")),
}


class Views(ABC):
    """Converts views of a timeline whose events are from `first` to `last` (epoch ns)."""

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last

    @abstractmethod
    def recorded_time(self, drawn: int) -> int:
        """Return the epoch time of a time of the front end, both in nanoseconds."""

    @abstractmethod
    def drawn_time(self, time: int) -> int:
        """Return the front end's time of an epoch time."""

    @abstractmethod
    def recorded_selection(self, selection: dict[str, Any] | None) -> Any:
        """Return a selection of the front end in the form of `TimelineWidget.view`."""

    @abstractmethod
    def drawn_selection(self, value: Any) -> dict[str, Any] | None:
        """Return a selection for the front end; TypeError or ValueError if there is no such one."""

    @abstractmethod
    def lanes(self) -> Iterable[tuple[str, str, str]]:
        """Yield the lanes as task, device and lane."""

    @abstractmethod
    def extent(self, step: int | None) -> tuple[int, int] | None:
        """Return start and end of a step, or of everything, in the front end; None for an unknown step."""

    def new(self, options: Mapping[str, Any]) -> View:
        """Return the view of a new timeline with these `OPTIONS`."""
        lanes: View = {name: [] for name in _LANES}
        panels = {name: name == "details" for name in PANELS}
        times = {"start_ns": self._first, "end_ns": max(self._last, self._first + 1)}
        own = {name: options[name] for name in OPTIONS}
        return {**times, "step": None, **lanes, **panels, **own, "selection": None}

    def recorded(self, shown: DrawnView) -> View:
        """Return a view of the front end in terms of the trace; an empty one is that of a new timeline."""
        view = self.new(shown.options)
        if drawn := shown.view:
            for name, end in zip(_TIMES, ("start", "end"), strict=True):
                view[name] = self.recorded_time(round(drawn[end]))
            view |= {name: [tuple(lane) for lane in drawn.get(name, ())] for name in _LANES}
            view |= {name: bool(drawn.get(name, False)) for name in PANELS}
            view["step"] = drawn.get("step")
        return {**view, "selection": self.recorded_selection(shown.selection)}

    def drawn(self, changes: Any, now: DrawnView) -> DrawnView:
        """Return a view for the front end: `now` with some values replaced.

        TypeError or ValueError names an invalid key or value.
        """
        if not isinstance(changes, Mapping):
            raise TypeError(Text("view_no_dict", view=changes))
        refuse_unknown(map(str, changes), KEYS)
        view = {**self.recorded(now), **changes}
        times = [self._time(view, name, is_new=name in changes) for name in _TIMES]
        if times[0] >= times[1]:
            expected = f"more than {times[0]}"
            raise ValueError(Text("view_value", name="end_ns", value=times[1], expected=expected))
        step = None if view["step"] is None else _whole(view, "step")
        if step is not None and self.extent(step) is None:
            expected = "a step of the trace, or None"
            raise ValueError(Text("view_value", name="step", value=step, expected=expected))
        for name in PANELS:
            if not isinstance(view[name], bool):
                raise TypeError(Text("view_value", name=name, value=view[name], expected="True or False"))
        options = {name: validate_option(name, view[name]) for name in OPTIONS}
        start, end = map(self.drawn_time, times)
        lanes = {name: self._named_lanes(view, name) for name in _LANES}
        panels = {name: view[name] for name in PANELS}
        selection = now.selection
        if "selection" in changes:
            selection = self.drawn_selection(changes["selection"])
        return DrawnView({"start": start, "end": end, "step": step, **lanes, **panels}, options, selection)

    def named(self, views: Any, now: DrawnView) -> list[View]:
        """Return named views for the front end, with omitted values from `now`; errors as in `drawn`."""
        if not isinstance(views, Mapping):
            raise TypeError(Text("views_no_dict", views=views))
        if len(views) > MOST_VIEWS:
            raise ValueError(Text("too_many_views", views=len(views), most=MOST_VIEWS))
        for name in views:
            _check_name(name)
        return [{"name": name.strip(), **self.drawn(view, now).whole} for name, view in views.items()]

    def taken_over(self, before: DrawnView, other: Views) -> DrawnView:
        """Return a view of another run of the same cell, as far as it applies to this trace.

        Times count from the start of the only shown step, else from that of the run. A range that ends after
        this trace is moved and shortened. A range that this trace does not reach, or that of a trace without
        a lane of this one, becomes the whole run. Everything stays everything: only the margins around it
        grow or shrink with the run. Selected events are not kept.
        """
        shown = before._replace(selection=None)
        if not before.view:
            return shown
        view = dict(before.view)
        lanes = self._known_lanes()
        for name in _LANES:
            view[name] = [lane for lane in view[name] if len(lane) > 3 or tuple(lane) in lanes]
        here, there = self.extent(view["step"]), other.extent(view["step"])
        shares_lanes = any(len(lane) == 3 for lane in lanes & other._known_lanes())
        if not shares_lanes or here is None or there is None:
            view["step"] = None
            here, there = self.extent(None) or (0, 1), None
        first, last = here[0], max(here[1], here[0] + 1)
        room = (last - first) // 100
        start, end = view["start"], view["end"]
        if there and start <= there[0] and end >= there[1]:
            scale = (last - first) / max(there[1] - there[0], 1)
            start = max(first + (start - there[0]) * scale, first - room)
            end = min(last + (end - there[1]) * scale, last + room)
        elif there and start - there[0] < last - first:
            # As the front end moves it into the trace.
            span = min(end - start, last - first + 2 * room)
            start = min(max(start + first - there[0], first - room), last + room - span)
            end = start + span
        else:
            start, end = first - room, last + room
        return shown._replace(view={**view, "start": start, "end": end})

    def _time(self, view: View, name: str, *, is_new: bool) -> int:
        value = _whole(view, name)
        # In a comparison, the view of a short trace next to a long one extends further.
        room = self._last - self._first
        least, most = (self._first - room, self._last) if name == "start_ns" else (self._first, 2**63 - 1)
        if is_new and not least <= value <= most:
            expected = f"a time of the trace, from {self._first} to {self._last}"
            raise ValueError(Text("view_value", name=name, value=value, expected=expected))
        return value

    def _named_lanes(self, view: View, name: str) -> list[list[str]]:
        """Return lanes and groups by name: task, device and lane, or the first of these."""
        known = self._known_lanes()
        named = []
        for lane in view[name] if isinstance(view[name], list | tuple) else [view[name]]:
            is_texts = isinstance(lane, list | tuple) and all(isinstance(part, str) for part in lane)
            # Names with more parts are tracks of memory or counters.
            if is_texts and len(lane) <= 3 and tuple(lane) not in known:
                raise ValueError(Text("view_of_no_lane", name=name, lane=lane))
            if not is_texts:
                expected = "a list of lanes (task, device, lane), as in trace.lanes"
                raise ValueError(Text("view_value", name=name, value=lane, expected=expected))
            named.append(list(lane))
        return named

    def _known_lanes(self) -> set[tuple[str, ...]]:
        return {lane[:size] for lane in self.lanes() for size in (1, 2, 3)}


def _whole(view: Mapping[str, Any], name: str) -> int:
    value = view[name]
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(Text("view_value", name=name, value=value, expected="a whole number"))
    return int(value)
