"""A timeline whose view can be read, set, named and stored."""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Collection
from typing import Any

import traitlets

from tfvis_nb.core.labels import matches_lane
from tfvis_nb.display.options import DEFAULTS
from tfvis_nb.display.shaping.views import OPTIONS, DrawnView, Views, check_named, check_view
from tfvis_nb.display.timeline.runs_of_cells import shown_before
from tfvis_nb.display.timeline.view import TimelineView
from tfvis_nb.texts import text_of


class ViewedTimeline(TimelineView):
    """The views of `TimelineWidget` and `DatasetTimeline`; `_views_of` converts those of its events.

    `_given` names the options that its call has set.
    """

    _views_of: Views
    _given: Collection[str] = ()
    _displayed = False

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
        own = {name for name in OPTIONS if name in self._given or getattr(self, name) != DEFAULTS[name]}
        own |= {name for name in ("view", "views") if getattr(self, f"_{name}")}
        self._take_over(other, but=own)

    def _take_over(self, other: ViewedTimeline, *, but: Collection[str] = ()) -> None:
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

    def _taken_over(self, shown: DrawnView, other: ViewedTimeline) -> DrawnView:
        taken = self._views_of.taken_over(shown, other._views_of)
        if self._filters_to_some(taken.options["lane_filter"]):
            return taken
        return taken._replace(options={**taken.options, "lane_filter": DEFAULTS["lane_filter"]})

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
