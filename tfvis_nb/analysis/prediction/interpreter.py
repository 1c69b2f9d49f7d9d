"""Waits for Python's interpreter lock, which removed Python work held on another thread."""

import re

import numpy as np

from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.core.categories import beginning, containing
from tfvis_nb.core.intervals import union
from tfvis_nb.core.trace import Trace

_SWITCH = 5_000_000
"""A thread that runs Python hands the lock over when another one has waited this long (ns): the default of
`sys.setswitchinterval` in CPython 3.2 to 3.14."""

_HOLDS = re.compile(r"(?:Eager)?PyFunc")
_PYTHON = re.compile(r"python")


def without_lock_waits(trace: Trace, removed: np.ndarray) -> np.ndarray:
    """Return the factor of each event's own work (float64) if removed work leaves the interpreter to others.

    A thread that returns to Python while another one runs Python waits for 5 ms, and the trace has no event
    for that. So of each stretch of work of a thread of Python, whole multiples of that are waits if removed
    Python runs on another thread for at least half of it.
    """
    times, table = backtracker(trace).times, backtracker(trace).dependencies
    events, found = trace.events, np.ones(len(removed))
    holds = np.flatnonzero(removed & times.thread & beginning(events["op"], _HOLDS))
    may_wait = times.thread & ~removed & containing(events["lane"], _PYTHON)
    if not len(holds) or not may_wait.any():
        return found
    held = union(np.zeros(len(holds), np.int64), times.start[holds], times.end[holds])
    rows = np.flatnonzero(may_wait)
    event = np.concatenate([rows, table.source, table.target, rows])
    time = np.concatenate([times.start[rows], table.released_at, table.satisfied_at, times.end[rows]])
    # Until a dependency is satisfied, its target has no work.
    works = np.repeat([True, True, False, True], [len(rows), len(table.source), len(table.target), len(rows)])
    order = np.lexsort((np.arange(len(time)), time, event))
    order = order[may_wait[event[order]]]
    event, time, works = event[order], time[order], works[order]
    own = np.append(False, (event[1:] == event[:-1]) & works[1:])
    start, end, event = time[np.flatnonzero(own) - 1], time[own], event[own]
    length = end - start
    during = _covered(held.start, held.end, end) - _covered(held.start, held.end, start)
    waited = np.where(2 * during >= length, length // _SWITCH * _SWITCH, 0)
    total, lost = (np.bincount(event, part, len(found)) for part in (length, waited))
    found[lost > 0] -= (lost / np.maximum(total, 1))[lost > 0]
    return found


def _covered(start: np.ndarray, end: np.ndarray, until: np.ndarray) -> np.ndarray:
    """Return how long intervals, ordered and apart, cover the time until each of some times (ns)."""
    done = np.append(0, np.cumsum(end - start))
    before = np.searchsorted(start, until, "right")
    open_ns = np.where(before > 0, np.maximum(end[before - 1] - until, 0), 0)
    covered: np.ndarray = done[before] - open_ns
    return covered
