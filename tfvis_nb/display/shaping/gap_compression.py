"""Draw recordings closer together if they are too far apart for one axis.

The front end counts nanoseconds in float64, which is exact up to 2**53: about a hundred days. A step from
last year next to one of today, or from a file without a date, which starts in 1970, needs more.
"""

import numpy as np

from tfvis_nb.clocks.shift import records_moved
from tfvis_nb.core.trace import Trace, replaced
from tfvis_nb.events import TIMES
from tfvis_nb.texts import Text

LONGEST_NS = 2**52
"""The longest span that is drawn unchanged."""

_HOUR_NS = 3600 * 10**9
_SECOND_NS = 10**9


def compress_gaps(trace: Trace) -> Trace:
    """Return a trace whose axis can be drawn: this one, or one with long pauses cut to a second each.

    Only traces that span more than `LONGEST_NS` change, and only where nothing ran for an hour. Rows keep
    their numbers and their order, and a note describes the change.
    """
    events = trace.events
    start = events["start_ns"].to_numpy()
    ends = np.maximum.accumulate(start + events["duration_ns"].to_numpy())
    if not len(start) or int(ends[-1]) - int(start[0]) <= LONGEST_NS:
        return trace
    pause = np.diff(start, prepend=start[0])
    pause[1:] = start[1:] - ends[:-1]
    is_long = pause > _HOUR_NS
    cut = np.cumsum(np.where(is_long, pause - _SECOND_NS, 0))
    moved = events.assign(**{name: events[name] - cut for name in TIMES})
    notes = [*trace.notes, Text("pauses_shortened", pauses=int(is_long.sum()))]
    counters = trace.recorded_counters
    time = counters["time_ns"].to_numpy()
    before = np.maximum(np.searchsorted(start, time, "right") - 1, 0)
    # A value in a pause starts no later than the next recording.
    behind = np.append(moved["start_ns"].to_numpy()[1:], np.iinfo(np.int64).max)[before]
    return replaced(
        trace,
        moved,
        nested=records_moved(trace.nested, cut),
        notes=notes,
        recorded_counters=counters.assign(time_ns=np.minimum(time - cut[before], behind)),
    )


def shown_range(trace: Trace, shown: Trace, ends: tuple[int, int]) -> tuple[int, ...]:
    """Return a time range moved like `compress_gaps`."""
    return ends if shown is trace else tuple(moved_time(trace, shown, time) for time in ends)


def moved_time(trace: Trace, shown: Trace, time: int) -> int:
    """Return where a time of `trace` is in `shown`, the result of `compress_gaps`."""
    if shown is trace:
        return time
    start = trace.events["start_ns"].to_numpy()
    moved = shown.events["start_ns"].to_numpy()
    before = max(int(np.searchsorted(start, time, "right")) - 1, 0)
    here = int(time - start[before] + moved[before])
    # A time in a pause is no later than the start of the next recording.
    return min(here, int(moved[before + 1])) if before + 1 < len(moved) else here
