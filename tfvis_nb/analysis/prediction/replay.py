"""Replay the dependencies of a trace forward in time with other durations."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.critical_path.dependency_table import KIND
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_LEAST = 0.05
_NOT_YET = -(1 << 62)


class Replayed(NamedTuple):
    """New times of a trace's events, in ns since the earliest recorded start (float64)."""

    start: np.ndarray
    end: np.ndarray


class Altered(NamedTuple):
    """The changes in a replay."""

    factor: np.ndarray
    """Factor of each event's own work (float64, at least 0)."""
    lag_factor: np.ndarray
    """Factor of each dependency's lag (float64, at least 0)."""
    hidden: np.ndarray
    """Events for which only other hidden events wait (bool)."""
    met: np.ndarray
    """Dependencies without effect (bool)."""
    python_factor: np.ndarray
    """Factor of each dependency's lag for the Python that runs during it, also between steps (float64)."""
    core_factor: np.ndarray
    """The part of `factor` that comes from sharing the cores with less work (float64, above 0)."""
    removes: bool = False
    """Whether less than half is left of some work or wait that changes."""

    @property
    def adds_work(self) -> bool:
        """Whether an event or a lag gets longer."""
        return any((factor > 1).any() for factor in (self.factor, self.lag_factor, self.python_factor))

    @property
    def of_loop(self) -> bool:
        """Whether the time between steps changes."""
        return bool((self.python_factor != 1).any())


def no_change(trace: Trace) -> Altered:
    """Return the change that changes nothing."""
    events, count = len(trace.events), len(backtracker(trace).dependencies.source)
    factor, lag_factor, python_factor, core_factor = (
        np.ones(each) for each in (events, count, count, events)
    )
    hidden, met = np.zeros(events, bool), np.zeros(count, bool)
    return Altered(factor, lag_factor, hidden, met, python_factor, core_factor)


@per_trace
def unchanged(trace: Trace) -> Replayed:
    """Return the replay of the recorded durations."""
    return replay(trace, no_change(trace))


def replay(trace: Trace, altered: Altered) -> Replayed:
    """Return when each event would run after a change.

    Events continue as soon as their dependencies allow. A sweep forward in time meets two times of each
    dependency, first the earlier one:

        source  ====|released_at
                     | lag: what lies between
        target            satisfied_at|=======

    * Released: the source has done its own work up to there, in `factor` times the recorded time.
    * Satisfied: the target continues when the last dependency it waited for at that time has been released
      and its lag has passed. Before that it waited, without work of its own since its last point.
    * Lags: a dependency takes at least as long as the shortest of its kind in the trace (the 5 % quantile,
      as for launching a kernel). The one that would be last with these lags is assumed to be the decisive
      one: it keeps its recorded lag, the others get the shortest. All lags are multiplied by
      `python_factor`, and those within steps by `lag_factor`.
    * Hidden events and others do not wait for each other. They start with the others of their step.

    An event without dependencies starts as recorded. Without a change every event keeps its times, except
    events that wait for each other in a cycle within one nanosecond.
    """
    table, times, hidden = backtracker(trace).dependencies, backtracker(trace).times, altered.hidden
    released = np.where(altered.met, float(_NOT_YET), np.nan)
    if hidden.any():
        factor = np.where(hidden, 0.0, altered.factor)
        lag_factor = np.where(hidden[table.target], 0.0, altered.lag_factor)
        leaves = hidden[table.source] & ~hidden[table.target]
        # Hidden work does not wait for that of other steps, or it would fall behind from step to step.
        crosses = times.step[table.source] != times.step[table.target]
        enters = hidden[table.target] & (~hidden[table.source] | crosses)
        free, free_released = _sweep(trace, altered._replace(factor=factor, lag_factor=lag_factor), released)
        others = times.counts & ~hidden
        first = pd.Series(free.start[others]).groupby(times.step[others]).min()
        released[leaves] = free_released[leaves]
        begins = first.reindex(times.step[table.target[enters]]).to_numpy()
        released[enters] = np.where(np.isnan(begins), free_released[enters], begins)
    return _sweep(trace, altered, released)[0]


class _Points(NamedTuple):
    """The times at which events start, or go on after a wait, event by event and in order of time."""

    event: np.ndarray
    time: np.ndarray
    """In ns since the earliest recorded start, as in `Replayed`."""
    starts: np.ndarray
    """The point at which each event of the trace starts."""
    source: np.ndarray
    """The last point of its source before each dependency is released."""
    target: np.ndarray
    """The point that waits for each dependency."""
    later: np.ndarray
    """The points after the start of their event: each waits for the one before it, too."""
    order: np.ndarray
    """The order in which the sweep meets what points wait for: `later` ones, then dependencies."""


@per_trace
def _points(trace: Trace) -> _Points:
    times, table = backtracker(trace).times, backtracker(trace).dependencies
    events, count = len(times.start), len(table.source)
    origin = int(times.start[0]) if events else 0
    event = np.concatenate([np.arange(events), table.target, table.source])
    time = np.concatenate([times.start, table.satisfied_at, table.released_at]) - origin
    # At the same time, an event releases a dependency before it goes on after later ones.
    turn = np.concatenate([np.full(events, -1), np.arange(count) * 2 + 1, np.arange(count) * 2])
    order = np.lexsort((turn, time, event))
    waits = np.flatnonzero(order < events + count)
    rows = order[waits]
    is_new = np.append(True, (np.diff(event[rows]) != 0) | (np.diff(time[rows]) != 0))[: len(rows)]
    new = np.zeros(len(order), np.int64)
    new[waits] = is_new
    point = np.empty(len(order), np.int64)
    point[order] = np.cumsum(new) - 1
    points = rows[is_new]
    later = np.flatnonzero(points >= events)
    when = np.concatenate([time[points[later]], time[events + count :]])
    starts, target, source = np.split(point, [events, events + count])
    return _Points(
        event[points], time[points], starts, source, target, later, np.argsort(when, kind="stable")
    )


def _sweep(trace: Trace, altered: Altered, released: np.ndarray) -> tuple[Replayed, np.ndarray]:
    """Return the new times, and when each dependency releases its target: `released` unless NaN there."""
    times, table, points = backtracker(trace).times, backtracker(trace).dependencies, _points(trace)
    is_known, later, factor = ~np.isnan(released), points.later, altered.factor
    # Time between steps is no event's work. But a row without a step, as of an iterator, may run within one.
    between = (times.step[table.source] != times.step[table.target]) & (times.step[table.target] != NO_STEP)
    lag = np.where(between, 1.0, altered.lag_factor) * altered.python_factor * _lags(trace)
    released_at = table.released_at - (int(times.start[0]) if len(times.start) else 0)
    # An event works from a point until it last releases something before the next one; then it waits.
    until = points.time.copy()
    np.maximum.at(until, points.source[~is_known], released_at[~is_known])
    done = (until - points.time)[later - 1] * factor[points.event[later]]
    takes = (released_at - points.time[points.source]) * factor[table.source] + lag
    reached = points.time.astype(np.float64)
    reached[points.target] = _NOT_YET
    np.maximum.at(reached, points.target[is_known], released[is_known])
    order = points.order[~np.append(np.zeros(len(later), bool), is_known)[points.order]]
    columns = (
        np.concatenate(pair)[order].tolist()
        for pair in (
            (later - 1, points.source),
            (later, points.target),
            (done, takes),
            (points.time[later - 1], released_at),
        )
    )
    reaches = reached.tolist()
    for source, target, length, time in zip(*columns, strict=True):
        at = reaches[source]
        if at == _NOT_YET:
            # In a cycle, one event has to start.
            at = reaches[source] = float(time)
        at += length
        if at > reaches[target]:  # noqa: PLR1730 - a call takes longer
            reaches[target] = at
    reached = np.array(reaches)
    last = np.append(points.starts[1:], len(reached))[: len(points.starts)] - 1
    rest = times.end - times.start - (points.time[last] - points.time[points.starts])
    end = reached[last] + rest * factor
    return Replayed(reached[points.starts], end), np.where(is_known, released, reached[points.source] + takes)


@per_trace
def _lags(trace: Trace) -> np.ndarray:
    """Return the lag of each dependency from its release until its target continues, in ns (float64)."""
    table = backtracker(trace).dependencies
    recorded = (table.satisfied_at - table.released_at).astype(np.float64)
    least = np.zeros(len(recorded))
    # Elements lie in a buffer for any time.
    timed = distinct_numbers(table.kind[table.kind != KIND["element"]])
    for kind in timed.tolist():
        of_kind = table.kind == kind
        least[of_kind] = np.quantile(recorded[of_kind], _LEAST, method="lower")
    # The time each dependency alone would allow, the last one of each point at its end.
    order = np.lexsort((table.released_at + least, table.satisfied_at, table.target))
    target, satisfied_at = table.target[order], table.satisfied_at[order]
    is_last = np.append((target[1:] != target[:-1]) | (satisfied_at[1:] != satisfied_at[:-1]), True)
    decisive = np.zeros(len(recorded), bool)
    decisive[order] = is_last[: len(order)]
    lag: np.ndarray = np.where(decisive, recorded, np.minimum(recorded, least))
    return lag
