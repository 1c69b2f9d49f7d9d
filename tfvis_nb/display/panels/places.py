"""Where in the timeline the rows of tables are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

_ROOM = 4
"""An event is shown with so many times its length before and after it."""
_LEAST_NS = 400
"""Room of an event that has hardly any length."""


class Places:
    """Ranges of time of one trace, in nanoseconds from its first event, as the timeline counts.

    Parameters
    ----------
    trace
        As the timeline shows it; one with events.
    """

    def __init__(self, trace: Trace) -> None:
        start = trace.events["start_ns"].to_numpy()
        self._trace = trace
        self.origin = int(start[0])
        self._start = start
        self._end = start + trace.events["duration_ns"].to_numpy()

    def of_events(self, events: Iterable[Any]) -> list[dict[str, Any] | None]:
        """Return where each event is, with some room around it; nowhere where there is none (NA or -1).

        Examples
        --------
        >>> from tfvis_nb import Trace, events
        >>> from tfvis_nb.display.panels.places import Places
        >>> table = events.build({"start_ns": [1000, 2000], "duration_ns": [9, 800], "kind": ["op"] * 2})
        >>> Places(Trace(table)).of_events([1, -1])
        [{'start': -2200, 'end': 5000, 'events': [1]}, None]
        """
        return [None if pd.isna(event) or event < 0 else self._of_event(int(event)) for event in events]

    def _of_event(self, event: int) -> dict[str, Any]:
        start, end = int(self._start[event]) - self.origin, int(self._end[event]) - self.origin
        room = max(_ROOM * (end - start), _LEAST_NS)
        return {"start": start - room, "end": end + room, "events": [event]}

    def of_steps(self, steps: Iterable[int]) -> list[dict[str, Any] | None]:
        """Return where each step is, by its number.

        Examples
        --------
        >>> from tfvis_nb import Trace, events
        >>> from tfvis_nb.display.panels.places import Places
        >>> table = events.build({"start_ns": [5, 9], "duration_ns": [3, 3], "kind": ["op"] * 2,
        ...                       "step": [0, 1]})
        >>> Places(Trace(table)).of_steps([1])
        [{'start': 4, 'end': 7}]
        """
        known = self._trace.steps.set_index("step")
        times = known[["start_ns", "end_ns"]].to_numpy() - self.origin
        at = {int(step): place for place, step in enumerate(known.index)}
        return [
            {"start": int(times[at[step], 0]), "end": int(times[at[step], 1])} if step in at else None
            for step in (int(step) for step in steps)
        ]

    def of_ranges(self, starts: np.ndarray, ends: np.ndarray) -> list[dict[str, Any] | None]:
        """Return ranges of epoch nanoseconds; an end that is missing (0 or less) is that of the trace.

        Examples
        --------
        >>> import numpy as np
        >>> from tfvis_nb import Trace, events
        >>> from tfvis_nb.display.panels.places import Places
        >>> table = events.build({"start_ns": [1000], "duration_ns": [800], "kind": ["op"]})
        >>> Places(Trace(table)).of_ranges(np.array([1100]), np.array([0]))
        [{'start': 100, 'end': 800}]
        """
        last = int(self._end.max())
        return [
            {"start": int(start) - self.origin, "end": (int(end) if end > 0 else last) - self.origin}
            for start, end in zip(starts, ends, strict=True)
        ]
