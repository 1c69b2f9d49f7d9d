"""The time of the user's Python itself by line, from the samples of a recording.

Each sample stands for the time around it. If an event covers that time and only calls Python, the line gets
the time of the event; if none does, the line has time that no event has. So no time counts twice.
"""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.events.unattributed import RUNTIME, WAITING, reasons
from tfvis_nb.analysis.source.calling_thread import PYTHON_CALL, calling_thread, innermost
from tfvis_nb.analysis.source.lock_waits import lock_waits
from tfvis_nb.analysis.source.python_samples import are_called
from tfvis_nb.analysis.source.waiting_time import waiting_ns
from tfvis_nb.core.categories import beginning
from tfvis_nb.core.metadata import GC_PAUSES, PYTHON_SAMPLES, THREAD_SAMPLES, table_of
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.python_rows import NEXT_BATCH
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_DELETING = re.compile(r"TFE_Delete")
"""Calls whose own time is TensorFlow's: the end of an iterator waits for its threads."""
_LINE = ["file", "line", "function"]
_NONE = pd.DataFrame({name: [] for name in (*_LINE, "sampled_ns", "event")}).astype(
    {"line": "int64", "sampled_ns": "int64", "event": "int64", "file": "object", "function": "object"}
)
NEARLY_ALL = 0.5
"""A line with this part of the samples has all time: the other samples came late."""
_LONGEST = 2
"""A sample stands for at most this many periods: others are missing while the interpreter is held."""


class SampledTime(NamedTuple):
    """The time of lines, and the part of it that events have as well."""

    lines: pd.DataFrame
    """``file``, ``line``, ``function``, ``sampled_ns`` (int64), and an ``event`` with this time, or -1."""
    taken: np.ndarray
    """The part of the self time of each event that is in `lines` (int64)."""


class TaskSamples(NamedTuple):
    """The samples of a task: ``time_ns``, ``file``, ``line``, ``function``, the time ``ns`` of each.

    ``event`` is the event that only calls Python then, or -1.
    """

    main: pd.DataFrame
    """All samples of the main thread; ``event`` is any event of the thread."""
    called: pd.DataFrame
    """Samples of threads on which TensorFlow called Python."""
    calls: np.ndarray
    """The events that may have them."""
    held: pd.DataFrame
    """Samples of the main thread within its events that only call Python."""
    own: np.ndarray
    """Events of the main thread whose own time is that of Python, not of TensorFlow's work or of a wait."""
    inside: pd.DataFrame
    """Samples of the main thread within its events that do not wait.

    The end of an iterator is among them, because a line that is left out ends none.
    """
    free: pd.DataFrame
    """Samples of the main thread outside its events, or outside steps if these are unknown."""
    thread: np.ndarray
    """The events of the main thread; empty if unknown."""
    collections: pd.DataFrame
    """``start_ns`` and ``end_ns`` of the garbage collections of Python, in order of time."""


@per_trace
def task_samples(trace: Trace) -> list[TaskSamples]:
    """Return the samples of each task with samples of its main thread."""
    looks, found = trace.metadata.get(PYTHON_SAMPLES), []
    if looks is None or len(looks) < 2:
        return []
    for task in looks["task"].fillna("").unique():
        here = trace.events["start_ns"].notna() if not task else trace.events["task"] == task
        here = here.to_numpy(bool)
        main, called = (_samples(trace, subject, task) for subject in (PYTHON_SAMPLES, THREAD_SAMPLES))
        if main.empty:
            continue
        weight, time = _weights(main["time_ns"].to_numpy()), main["time_ns"].to_numpy()
        calls = np.flatnonzero(here & beginning(trace.events["op"], PYTHON_CALL))
        at = np.clip(np.searchsorted(time, called["time_ns"]), 0, len(main) - 1)
        called = called.assign(ns=weight[at], event=_any_around(trace, calls, called["time_ns"].to_numpy()))
        thread = calling_thread(trace, here)
        # Of JAX's thread only the batches are known. If workers make them, their samples have the time.
        known = thread if len(thread) or (called["event"] >= 0).any() else _batches(trace, here)
        holder = innermost(trace, known, time)
        main = main.assign(ns=weight, event=holder)
        why = reasons(trace, known, event_stacks(trace)[known])
        of_python, works = np.zeros((2, len(here) + 1), bool)
        ops = trace.events["op"].iloc[known]
        works[known] = why != WAITING
        of_python[known] = ((why == RUNTIME) & ~beginning(ops, _DELETING)) | beginning(ops, PYTHON_CALL)
        waits = lock_waits(trace).get(task)
        runs = np.ones(len(time), bool) if waits is None else ~waits.at(time)
        held, inside = (mask[np.where(holder < 0, -1, holder)] & runs for mask in (of_python, works))
        free = (holder < 0) & (bool(len(thread)) | ~_in_steps(trace, time))
        found.append(
            TaskSamples(
                main,
                called[called["event"] >= 0],
                calls,
                main[held],
                np.flatnonzero(of_python[:-1]),
                main[inside],
                main[free],
                thread,
                _collections(trace, task),
            )
        )
    return found


def sampled_time(trace: Trace, rows: np.ndarray) -> SampledTime:
    """Return the time of lines that Python ran during events, and outside all of them if `rows` has all."""
    taken = np.zeros(len(trace.events), np.int64)
    chosen = np.zeros(len(trace.events), bool)
    chosen[rows] = True
    times = []
    for task in task_samples(trace) if len(rows) else []:
        for samples, events in ((task.called, task.calls), (task.held, task.own)):
            times.append(_given(trace, samples, events[chosen[events]], chosen, taken))
        if chosen.all():
            times.append(_sums(task.free))
    # pandas 2.2 warns of tables without rows.
    lines = [each for each in times if len(each)]
    return SampledTime(pd.concat(lines, ignore_index=True) if lines else _NONE, taken)


@per_trace
def all_sampled_time(trace: Trace) -> SampledTime:
    """Return `sampled_time` of all events."""
    return sampled_time(trace, np.arange(len(trace.events)))


def _batches(trace: Trace, here: np.ndarray) -> np.ndarray:
    """Return the events in which Python takes batches; the recording only has those of one thread."""
    return np.flatnonzero(here & (trace.events["op"] == NEXT_BATCH).to_numpy(bool))


def _samples(trace: Trace, subject: str, task: str) -> pd.DataFrame:
    table = trace.metadata.get(subject)
    if table is None:
        return pd.DataFrame({name: [] for name in ("time_ns", *_LINE)})
    if subject == THREAD_SAMPLES:
        table = table[are_called(table)]
    own = table[(table["task"].fillna("") == task) & table["time_ns"].notna()]
    own = own.astype({"time_ns": "int64", "function": "object"}).fillna({"function": ""})
    return own.sort_values("time_ns", kind="stable").reset_index(drop=True)


def _collections(trace: Trace, task: str) -> pd.DataFrame:
    pauses = trace.metadata.get(GC_PAUSES)
    if pauses is None:
        pauses = table_of(GC_PAUSES, [])
    own = pauses[pauses["task"].fillna("") == task].dropna(subset=["time_ns", "duration_ns"])
    start, took = (own[name].to_numpy(np.int64) for name in ("time_ns", "duration_ns"))
    spans = pd.DataFrame({"start_ns": start, "end_ns": start + took})
    return spans.sort_values("start_ns", kind="stable").reset_index(drop=True)


def _weights(time: np.ndarray) -> np.ndarray:
    """Return for how much time each sample stands: half of the way to both neighbours."""
    gap = np.diff(time)
    gap = np.minimum(gap, _LONGEST * np.median(gap)) if len(gap) else gap
    weights: np.ndarray = (np.append(gap, 0) + np.append(0, gap)) / 2
    return weights


def _any_around(trace: Trace, calls: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return one of the calls, on any thread, that are under way at each time, or -1."""
    start = trace.events["start_ns"].to_numpy(np.int64)[calls]
    end = start + trace.events["duration_ns"].to_numpy(np.int64)[calls]
    longest = np.append(np.maximum.accumulate(end), 0) if len(end) else np.zeros(1, np.int64)
    at = np.searchsorted(start, time, "right") - 1
    return np.where((at >= 0) & (longest[at] > time), np.append(calls, -1)[at], -1)


def _in_steps(trace: Trace, time: np.ndarray) -> np.ndarray:
    steps = trace.steps[trace.steps["step"] != NO_STEP].sort_values("start_ns", kind="stable")
    if steps.empty:
        return np.ones(len(time), bool)
    end = np.append(np.maximum.accumulate(steps["end_ns"].to_numpy(np.int64)), np.iinfo(np.int64).min)
    mask: np.ndarray = time < end[np.searchsorted(steps["start_ns"], time, "right") - 1]
    return mask


def _given(
    trace: Trace, samples: pd.DataFrame, events: np.ndarray, chosen: np.ndarray, taken: np.ndarray
) -> pd.DataFrame:
    """Take the time of samples from the self times of events, at most all, and return it by line.

    If samples have half of that time they get all: the rest is of samples that came late.
    """
    lines = _sums(samples[chosen[samples["event"]]])
    own = self_times_of(trace)[0][events] - waiting_ns(trace)[events]
    whole, sampled = int(own.sum()), int(lines["sampled_ns"].sum())
    if not whole or not sampled:
        return lines[:0]
    part = sampled / whole
    taken[events] = np.floor(own * (part if part < NEARLY_ALL else 1)).astype(np.int64)
    # The sum of the lines equals the time taken from the events.
    until = np.rint(lines["sampled_ns"].cumsum().to_numpy() * (int(taken[events].sum()) / sampled))
    return lines.assign(sampled_ns=np.diff(until.astype(np.int64), prepend=0))


def _sums(samples: pd.DataFrame) -> pd.DataFrame:
    known = samples[samples["line"].notna()]
    sums = known.groupby(_LINE, sort=False).agg(sampled_ns=("ns", "sum"), event=("event", "first"))
    return sums.reset_index().astype({"sampled_ns": "int64", "event": "int64", "line": "int64"})
