"""Time counted nanosecond by nanosecond: what sweeps over intervals are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tfvis_nb import Trace
from tfvis_nb.analysis.events.activity import ACTIVITIES, BY_TIME, activity

Interval = tuple[int, int]


def painted(window: Interval, layers: Iterable[Iterable[Interval]]) -> np.ndarray:
    """Paint layers over one another; return how many ns of the window show none, the first, the second..."""
    picture = np.zeros(window[1] - window[0], np.uint8)
    count = 0
    for count, intervals in enumerate(layers, start=1):
        for start, end in intervals:
            picture[max(start - window[0], 0) : max(end - window[0], 0)] = count
    return np.bincount(picture, minlength=count + 1)


def windows(trace: Trace) -> dict[int, Interval]:
    """Return from when to when each step is."""
    found: dict[int, Interval] = {}
    events = trace.events
    for step, start, duration in zip(
        events["step"].tolist(), events["start_ns"].tolist(), events["duration_ns"].tolist(), strict=True
    ):
        if step >= 0:
            first, last = found.get(step, (start, start))
            found[step] = (min(first, start), max(last, start + duration))
    return found


def counted(trace: Trace) -> Iterator[tuple[int, int, Interval]]:
    """Return each event, a step it counts to, and from when to when."""
    steps = sorted(windows(trace).items(), key=lambda item: (item[1][0], item[0]))
    events = trace.events
    columns = (events[name].tolist() for name in ("step", "start_ns", "duration_ns"))
    for event, (step, start, duration) in enumerate(zip(*columns, strict=True)):
        end = start + duration
        if step >= 0:
            yield event, step, (start, end)
        elif ACTIVITIES[activity(trace)[event]] in BY_TIME:
            for place, (number, (first, last)) in enumerate(steps):
                until = min([last, *(later[1][0] for later in steps[place + 1 : place + 2])])
                if max(start, first) < min(end, until):
                    yield event, number, (max(start, first), min(end, until))
