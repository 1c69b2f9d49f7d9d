"""Views of a trace's timeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfvis_nb.analysis.events.lane_order import LaneOrder
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.shaping.gap_compression import moved_time
from tfvis_nb.display.shaping.selection import Selection, drawn_selection, selected_rows
from tfvis_nb.display.shaping.views import Views
from tfvis_nb.display.wire.header import origin_ns


class TraceViews(Views):
    """Converts views of a trace; `shown` has its events at their drawn times, in `lanes`."""

    def __init__(self, trace: Trace, shown: Trace, lanes: LaneOrder) -> None:
        self._trace, self._shown, self._lanes = trace, shown, lanes
        events = trace.events
        last = int((events["start_ns"] + events["duration_ns"]).max()) if len(events) else 1
        super().__init__(origin_ns(events), last)

    def recorded_time(self, drawn: int) -> int:
        """Add the origin, and the pauses that are not drawn."""
        return moved_time(self._shown, self._trace, origin_ns(self._shown.events) + drawn)

    def drawn_time(self, time: int) -> int:
        """Return the time at which the events of a time are drawn."""
        return moved_time(self._trace, self._shown, time) - origin_ns(self._shown.events)

    def recorded_selection(self, selection: Selection | None) -> Any:
        """Return event ids, or a range in epoch nanoseconds."""
        rows = selected_rows(self._shown.events, self._lanes, selection)
        chosen = rows.attrs.get("range_ns")
        if chosen is not None:
            return tuple(moved_time(self._shown, self._trace, time) for time in chosen)
        return rows.index.tolist() or None

    def drawn_selection(self, value: Any) -> Selection | None:
        """Take what `selection_of` takes."""
        return drawn_selection(self._trace, self._shown, value)

    def lanes(self) -> Iterable[tuple[str, str, str]]:
        """Those of `Trace.lanes`."""
        table = self._trace.lanes[["task", "device", "lane"]].astype(str)
        return table.itertuples(index=False, name=None)

    def extent(self, step: int | None) -> tuple[int, int] | None:
        """Find the span of the step."""
        steps = self._shown.steps
        if step is not None:
            steps = steps[steps["step"] == step]
        if steps.empty:
            return None
        origin = origin_ns(self._shown.events)
        return int(steps["start_ns"].min()) - origin, int(steps["end_ns"].max()) - origin
