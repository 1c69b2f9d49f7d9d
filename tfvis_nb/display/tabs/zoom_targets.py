"""Positions of table rows in the timeline."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.overview.findings_block import Zoom

_ROOM = 2
"""Context before and after an event, as a multiple of its length."""
_LEAST_NS = 400
"""Minimum context, for very short events."""
MOST_SELECTED = 200
"""Maximum events that a row selects, because every page holds their numbers."""


class ZoomTargets:
    """Time ranges and events of one trace, in nanoseconds from its first event, as in the timeline."""

    def __init__(self, trace: Trace) -> None:
        start = trace.events["start_ns"].to_numpy()
        self._trace = trace
        self.origin = int(start[0])
        self._start = start
        self._end = start + trace.events["duration_ns"].to_numpy()

    def of_events(self, events: Iterable[Any]) -> list[Zoom | None]:
        """Return the position of each event, with some context; none for NA or -1."""
        return [None if pd.isna(event) or event < 0 else self._of_event(int(event)) for event in events]

    def of_device_events(self, longest: Iterable[int], group: np.ndarray) -> list[Zoom | None]:
        """Return the position of the longest event on a device in each event's group, with the others.

        `group` numbers the group of each event of the trace. If no event of a group ran on a device, its
        position is that of the event given.
        """
        events = self._trace.events
        on_device = np.flatnonzero(locations(events) == LOCATIONS.index("device"))
        by_length = on_device[np.argsort(-events["duration_ns"].to_numpy()[on_device], kind="stable")]
        of_group: dict[int, list[int]] = {}
        wanted = {int(group[event]) for event in longest}
        for event, number in zip(by_length.tolist(), group[by_length].tolist(), strict=True):
            if number in wanted and len(listed := of_group.setdefault(number, [])) < MOST_SELECTED:
                listed.append(event)
        counts = np.bincount(group[on_device], minlength=1 + int(group.max(initial=0)))
        rows = [
            (of_group.get(int(group[event]), [int(event)]), int(counts[group[event]])) for event in longest
        ]
        return [self._of_event(selected[0]) | {"events": selected, "of": count} for selected, count in rows]

    def _of_event(self, event: int) -> Zoom:
        start, end = int(self._start[event]) - self.origin, int(self._end[event]) - self.origin
        room = max(_ROOM * (end - start), _LEAST_NS)
        return {"start": start - room, "end": end + room, "events": [event]}

    def of_steps(self, steps: Iterable[int]) -> list[Zoom | None]:
        """Return the position of each step, by number."""
        known = self._trace.steps.set_index("step")
        times = known[["start_ns", "end_ns"]].to_numpy() - self.origin
        at = {int(step): index for index, step in enumerate(known.index)}
        return [
            {"start": int(times[at[step], 0]), "end": int(times[at[step], 1])} if step in at else None
            for step in (int(step) for step in steps)
        ]

    def of_ranges(
        self, starts: np.ndarray, ends: np.ndarray, events: np.ndarray | None = None
    ) -> list[Zoom | None]:
        """Return ranges of epoch ns, each with an event if given; an end of 0 means the end of the trace."""
        last = int(self._end.max())
        targets: list[Zoom | None] = [
            {"start": int(start) - self.origin, "end": (int(end) if end > 0 else last) - self.origin}
            for start, end in zip(starts, ends, strict=True)
        ]
        for target, event in zip(targets, [] if events is None else events, strict=False):
            if target is not None and event >= 0:
                target["events"] = [int(event)]
        return targets

    def of_devices(
        self, tasks: pd.Series, devices: pd.Series, starts: np.ndarray, ends: np.ndarray
    ) -> list[Zoom | None]:
        """Return ranges of epoch nanoseconds, each on all lanes of a device, by the timeline's numbers."""
        lanes: dict[tuple[str, str], list[int]] = {}
        drawn = order_lanes(self._trace.events).table
        for number, where in enumerate(zip(drawn["task"], drawn["device"], strict=True)):
            lanes.setdefault(where, []).append(number)
        targets = self.of_ranges(starts, ends)
        keys = zip(tasks.astype(str), devices.astype(str), strict=True)
        for target, where in zip(targets, keys, strict=True):
            if target is not None and where in lanes:
                target["lanes"] = lanes[where]
        return targets
