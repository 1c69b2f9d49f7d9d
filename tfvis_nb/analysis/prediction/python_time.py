"""The part of events and of lags that Python of the user takes: a sampled line, or all between the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.source.sampled_time import NEARLY_ALL, TaskSamples, task_samples
from tfvis_nb.analysis.steps.outside_steps import pauses
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_COLLECTION = -1
"""The kind of stretches in which Python collects garbage."""
_ENOUGH = 3
"""With fewer samples, an event or a gap has the shares of all such events or gaps together."""


class PythonTime(NamedTuple):
    """The parts that some Python takes, from 0 to 1 (float64)."""

    own: np.ndarray
    """Of the own time of each event."""
    lag: np.ndarray
    """Of the lag of each dependency."""

    def more(self, other: PythonTime, factor: float) -> PythonTime:
        """Return the parts with those of other Python, multiplied by a factor; at most all."""
        return PythonTime(*(np.minimum(a + factor * b, 1) for a, b in zip(self, other, strict=True)))


def no_python_time(trace: Trace) -> PythonTime:
    """Return the parts of no Python."""
    return PythonTime(np.zeros(len(trace.events)), np.zeros(len(backtracker(trace).dependencies.source)))


def of_sampled_lines(trace: Trace, is_line: Callable[[str], bool]) -> PythonTime:
    """Return the parts that sampled lines take of calls of Python, and of the time between events."""
    own, lag = no_python_time(trace)
    for task in task_samples(trace):
        for samples, events in ((task.called, task.calls), (task.inside, task.thread)):
            rows = trace.events.iloc[events]
            names, _ = number_rows(rows["op"], rows["name"])
            place = np.searchsorted(events, samples["event"].to_numpy(np.int64))
            own[events] = np.maximum(own[events], _shares(samples, is_line, place, names))
        start, end, names = _gaps(trace, task)
        if len(start):
            time = task.free["time_ns"].to_numpy(np.int64)
            place = np.searchsorted(start, time, "right") - 1
            inside = (place >= 0) & (time < end[place])
            share = _shares(task.free[inside], is_line, place[inside], names)
            collects = names == _COLLECTION
            if (share[collects] > NEARLY_ALL).any():
                share[collects] = 1
            lag = np.maximum(lag, _of_lags(trace, start, end, share))
    return PythonTime(own, lag)


def of_idle_lines(trace: Trace) -> np.ndarray:
    """Return the part of each event's own time in which lines run that leave TensorFlow idle (float64).

    Such a line has most of its samples while its thread runs nothing of TensorFlow, like a callback of Keras.
    """
    idle = (activity(trace) == NUMBER["none"]) & (backtracker(trace).times.parent < 0)
    calls: Counter[str] = Counter()
    for task in task_samples(trace):
        samples = task.main[task.main["line"].notna() & (task.main["event"] >= 0)]
        lines = samples["file"].astype(str) + ":" + samples["line"].astype("int64").astype(str)
        for line, is_idle in zip(lines, idle[samples["event"].to_numpy(np.int64)].tolist(), strict=True):
            calls[line] += -1 if is_idle else 1
    return np.where(idle, of_sampled_lines(trace, lambda line: calls[line] < 0).own, 0)


def between_steps(trace: Trace) -> PythonTime:
    """Return the parts between the steps, without waiting for input and threads that prepare it."""
    own, lag = no_python_time(trace)
    start, end = pauses(trace)
    if len(start):
        times, works = backtracker(trace).times, activity(trace)
        at = np.searchsorted(start, times.start, "right") - 1
        inside = (at >= 0) & (times.end <= end[at]) & (times.step == NO_STEP)
        calling = np.isin(times.lane, times.lane[np.isin(times.start, end) & times.thread])
        ahead = times.with_nested(works == NUMBER["preprocessing"]) & ~calling
        own[inside & ~ahead & ~times.with_nested(works == NUMBER["input"])] = 1
        lag = _of_lags(trace, start, end, np.ones(len(start)))
    return PythonTime(own, lag)


def _shares(
    samples: pd.DataFrame, is_line: Callable[[str], bool], place: np.ndarray, kind: np.ndarray
) -> np.ndarray:
    """Return the part of lines in each place, which has a kind, given the places of samples."""
    known = samples["line"].notna().to_numpy(bool)
    named = samples[known]
    lines = named["file"].astype(str) + ":" + named["line"].astype("int64").astype(str)
    fits = known.copy()
    fits[known] = lines.map({line: is_line(line) for line in lines.unique()}).to_numpy(bool)
    took = samples["ns"].to_numpy(np.float64)
    whole, own, number = (
        np.bincount(place, weights, len(kind)) for weights in (took, np.where(fits, took, 0), None)
    )
    few = number < _ENOUGH
    together = pd.DataFrame({"whole": whole[few], "own": own[few]}).groupby(kind[few]).transform("sum")
    whole[few], own[few] = together["whole"], together["own"]
    return np.divide(own, whole, out=np.zeros(len(kind)), where=whole > 0)


def _gaps(trace: Trace, task: TaskSamples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return start, end and kind of the stretches without events of the main thread, or between steps.

    They are cut where Python collects garbage: the recorder cannot look meanwhile, so its samples come late.
    """
    if not len(task.thread):
        start, end = pauses(trace)
        return _cut(task, start, end, np.zeros(len(start), np.int64))
    times = backtracker(trace).times
    top = task.thread[times.counts[task.thread] & (times.parent[task.thread] < 0)]
    top = top[np.argsort(times.start[top], kind="stable")]
    start, end = np.maximum.accumulate(times.end[top])[:-1], times.start[top[1:]]
    some = end > start
    return _cut(task, start[some], end[some], trace.events["op"].cat.codes.to_numpy()[top[1:][some]])


def _cut(
    task: TaskSamples, start: np.ndarray, end: np.ndarray, kind: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    begin, until = (task.collections[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    bounds = distinct_numbers(np.concatenate([start, end, begin, until]))
    first, last = bounds[:-1], bounds[1:]
    at, collection = (np.searchsorted(each, first, "right") - 1 for each in (start, begin))
    inside = (at >= 0) & (first < np.append(end, 0)[at])
    collects = (collection >= 0) & (first < np.append(until, 0)[collection])
    return first[inside], last[inside], np.where(collects, _COLLECTION, np.append(kind, 0)[at])[inside]


def _of_lags(trace: Trace, start: np.ndarray, end: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the part of each lag that stretches in order of time take, of which a share counts."""
    table = backtracker(trace).dependencies
    if not len(start):
        return np.zeros(len(table.source))
    before = np.append(0, np.cumsum((end - start) * share))

    def until(time: np.ndarray) -> np.ndarray:
        begun = np.searchsorted(start, time, "right")
        last = np.maximum(begun - 1, 0)
        rest = np.where(begun > 0, np.maximum(end[last] - time, 0) * share[last], 0)
        passed: np.ndarray = before[begun] - rest
        return passed

    length = table.satisfied_at - table.released_at
    part: np.ndarray = (until(table.satisfied_at) - until(table.released_at)) / np.maximum(length, 1)
    return part.clip(0, 1)
