"""Time that belongs to no line: waits for Python's interpreter lock and, in collectives, for other ranks."""

import numpy as np

from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.events.nesting import parents_of, self_times, self_times_of
from tfvis_nb.analysis.source.lock_waits import lock_waits
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace


@per_trace
def waiting_ns(trace: Trace) -> np.ndarray:
    """Return the part of each event's self time that is a wait for the lock or for other ranks, in ns."""
    waited = _in_collectives(trace)
    for waits in lock_waits(trace).values():
        np.add.at(waited, waits.event, waits.end - waits.start)
    return waited


def _in_collectives(trace: Trace) -> np.ndarray:
    """Return the part of each event's self time in which a collective waits for its last rank, in ns.

    On the threads of a profile, calls nested in a collective have the time of its wait.
    """
    events = trace.events
    waited = np.zeros(len(events), np.int64)
    if not is_kind(events, "collective").any():
        return waited
    table = collective_waits(trace)
    event, wait = table["event"].to_numpy(np.int64), table["wait_ns"].to_numpy(np.int64, na_value=0)
    counts = (wait > 0) & is_kind(events, "collective")[event]
    event, wait = event[counts], wait[counts]
    if not len(event):
        return waited
    start, duration = (events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    end = start + duration
    arrived = np.full(len(events), -1)
    arrived[event] = start[event] + wait
    parent = parents_of(trace)
    inner = np.flatnonzero(parent >= 0)
    while len(within := inner[(arrived[inner] < 0) & (arrived[parent[inner]] >= 0)]):
        arrived[within] = arrived[parent[within]]
    rows = np.flatnonzero(arrived >= 0)
    # Events that are cut at the same end stay nested if the longer one comes first.
    rows = rows[np.lexsort((-duration[rows], start[rows]))]
    began, ended = (np.minimum(time[rows], arrived[rows]) for time in (start, end))
    cut = events.iloc[rows].assign(start_ns=began, duration_ns=ended - began)
    waited[rows] = np.minimum(self_times(cut)[0], self_times_of(trace)[0][rows])
    return waited
