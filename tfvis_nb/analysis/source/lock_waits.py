"""Waits of the thread that calls TensorFlow for Python's interpreter lock, which another thread holds.

TensorFlow releases the lock in each call. If another thread runs Python then, the call is done long before it
gets the lock back: its own time is that wait.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.traced_calls import function_calls, traced_calls
from tfvis_nb.analysis.source.calling_thread import PYTHON_CALL, calling_thread, innermost
from tfvis_nb.analysis.source.python_samples import SampledLine, are_called, most_sampled
from tfvis_nb.core.categories import beginning
from tfvis_nb.core.intervals import overlap, union
from tfvis_nb.core.metadata import PYTHON_SAMPLES, THREAD_SAMPLES, table_of
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace

LEAST_NS = 100_000
"""The shortest wait: a call's own time is up to this long if it gets the lock back at once."""
LEAST_IN_FUNCTION_NS = 5_000_000
"""The same of calls of a tf.function, which run Python: Python's switch interval, because a thread that waits
for the lock asks for it only then."""

LOCK_ADVICE = (
    "Run the other thread's work in a process of its own, or in calls that release the lock, such as NumPy on"
    " whole arrays."
)

_MOST = 0.5
_CALL = re.compile(r"TFE_(?:Py_|Delete)")
"""Calls whose own time is no wait for a device."""


class LockWaits(NamedTuple):
    """The waits of a task, in order of time."""

    event: np.ndarray
    """The calls that wait."""
    start: np.ndarray
    end: np.ndarray
    of_input: bool
    """Whether Python of the input pipeline holds the lock."""
    holder: SampledLine | None
    """The line that ran most in the threads that hold the lock; None if none was sampled."""

    def within(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return how long the waits are in each of some stretches, in ns."""
        zero = np.zeros(len(self.start), np.int64)
        waits = union(zero, self.start, self.end)
        covered: np.ndarray = overlap(waits, np.zeros(len(start), np.int64), start, end)
        return covered

    def at(self, time: np.ndarray) -> np.ndarray:
        """Return a mask of the times at which the task waits."""
        mask: np.ndarray = time < np.append(self.end, 0)[np.searchsorted(self.start, time, "right") - 1]
        return mask


@per_trace
def lock_waits(trace: Trace) -> dict[str, LockWaits]:
    """Return the waits of each task that has any."""
    waits = {}
    tasks = trace.events["task"].astype(object).fillna("")
    for task in tasks.unique():
        found = _of_task(trace, str(task), (tasks == task).to_numpy(bool))
        if found is not None:
            waits[str(task)] = found
    return waits


def lock_times(trace: Trace, table: pd.DataFrame, *, of_input: bool) -> np.ndarray:
    """Return how long each step and task of a table waits, in ns.

    Only if Python of the input pipeline holds the lock, or only if other threads of the program do.
    """
    steps = trace.steps.set_index("step").loc[table["step"]]
    start, end = (steps[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    lost = np.zeros(len(table), np.int64)
    for task, waits in lock_waits(trace).items():
        own = (table["task"].astype(str) == task).to_numpy()
        if waits.of_input == of_input:
            lost[own] = waits.within(start[own], end[own])
    return lost


def running_thread(trace: Trace, task: str) -> SampledLine | None:
    """Return the line that other threads of the program run most, if any of them runs in most of the looks.

    A thread may hold the lock for less than shows as a wait. Its samples show that it can.
    """
    looks, samples = trace.metadata.get(PYTHON_SAMPLES), _samples(trace, task)
    running = samples[_are_running(samples) & ~are_called(samples)]
    line = most_sampled(running)
    if looks is None or line is None:
        return None
    times = looks.loc[looks["task"].fillna("").isin([task, ""]), "time_ns"].dropna().unique()
    share = float(np.isin(times, running["time_ns"]).mean())
    return line._replace(share=share, samples=len(times)) if share > _MOST else None


def other_thread(python: Mapping[str, Any] | None) -> str:
    """Name the thread that holds the lock.

    >>> other_thread({"line": "log.py:7"})
    'another thread, at log.py:7,'
    """
    return f"another thread, at {python['line']}," if python else "another thread"


def _of_task(trace: Trace, task: str, here: np.ndarray) -> LockWaits | None:
    thread = calling_thread(trace, here)
    calls = here & beginning(trace.events["op"], PYTHON_CALL)
    calls[thread] = False
    samples = _samples(trace, task)
    if not len(thread) or not (calls.any() or len(samples)):
        return None
    start, duration = (trace.events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    end = start + duration
    event, began, ended = _own_stretches(trace, thread, start, end)
    is_function = function_calls(trace).copy()
    is_function[traced_calls(trace).call] = False
    least = np.where(is_function[event], LEAST_IN_FUNCTION_NS, LEAST_NS)
    is_wait = (is_function | beginning(trace.events["op"], _CALL))[event] & (ended - began > least)
    event, began, ended = event[is_wait], began[is_wait], ended[is_wait]
    sampled_from, sampled_until = _around_samples(trace, task, samples)
    held_from, held_until = np.append(start[calls], sampled_from), np.append(end[calls], sampled_until)
    held = 2 * _covered(held_from, held_until, began, ended) >= ended - began
    if not held.any():
        return None
    event, began, ended = event[held], began[held], ended[held]
    holding = _holding(samples, began, ended)
    of_input = calls & (activity(trace) == NUMBER["preprocessing"])
    during = int(_covered(start[of_input], end[of_input], began, ended).sum())
    is_called = 2 * int(are_called(holding).sum()) > len(holding)
    is_input = of_input.any() and is_called if len(holding) else 2 * during >= int((ended - began).sum())
    return LockWaits(event, began, ended, bool(is_input), most_sampled(holding))


def _samples(trace: Trace, task: str) -> pd.DataFrame:
    samples = trace.metadata.get(THREAD_SAMPLES)
    if samples is None:
        return table_of(THREAD_SAMPLES, [])
    own: pd.DataFrame = samples[samples["task"].fillna("").isin([task, ""]) & samples["time_ns"].notna()]
    return own


def _around_samples(trace: Trace, task: str, samples: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the time that samples stand for: from half of the way since the last look to the next one."""
    looks = trace.metadata.get(PYTHON_SAMPLES, samples)
    of_task = looks["task"].fillna("").isin([task, ""]) & looks["time_ns"].notna()
    time = np.unique(looks["time_ns"][of_task].to_numpy(np.int64))
    if len(time) < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    middle = (time[1:] + time[:-1]) // 2
    at = np.flatnonzero(np.isin(time, samples["time_ns"].to_numpy(np.int64)))
    first, last = np.append(time[0], middle), np.append(middle, time[-1])
    return first[at], last[at]


def _holding(samples: pd.DataFrame, start: np.ndarray, end: np.ndarray) -> pd.DataFrame:
    """Return the samples of threads that hold the lock: during waits if there are any, running ones first."""
    time = samples["time_ns"].to_numpy(np.int64)
    at = np.searchsorted(start, time, "right") - 1
    for chosen in ((at >= 0) & (time < end[at]), np.ones(len(time), bool)):
        during = samples[chosen]
        running = during[_are_running(during)]
        if len(during):
            return running if len(running) else during
    return samples


def _own_stretches(
    trace: Trace, thread: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the stretches of a thread's events in which none nested in them runs: event, start, end."""
    time = distinct_numbers(np.concatenate([start[thread], end[thread]]))
    event = innermost(trace, thread, time)[:-1]
    inside = event >= 0
    return event[inside], time[:-1][inside], time[1:][inside]


def _covered(start: np.ndarray, end: np.ndarray, began: np.ndarray, ended: np.ndarray) -> np.ndarray:
    both = union(np.zeros(len(start), np.int64), start, end)
    covered: np.ndarray = overlap(both, np.zeros(len(began), np.int64), began, ended)
    return covered


def _are_running(samples: pd.DataFrame) -> np.ndarray:
    mask: np.ndarray = samples["running"].to_numpy(np.int64, na_value=0) == 1
    return mask
