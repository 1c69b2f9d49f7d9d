"""The dependencies of every event, with their times: the base of paths and slack."""

from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis.critical_path.dependency_table import KIND, Dependencies, Times, concat_dependencies
from tfvis_nb.analysis.critical_path.device import (
    Pairs,
    awaited,
    device_data,
    launches,
    stream_order,
    streams,
)
from tfvis_nb.analysis.critical_path.peers import channels, copies_of_received, last_arrivals
from tfvis_nb.analysis.critical_path.threads import calls, executor_turns, thread_order
from tfvis_nb.analysis.dataflow.executions import Executions
from tfvis_nb.analysis.dataflow.recorded_links import recorded_links
from tfvis_nb.analysis.events.activity import activity
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.trace import Trace

LONG_SLEEP = 100_000
"""Nanoseconds after which a thread that had nothing to do did not wait for what it had run before."""
_MOST_ROUNDS = 32
"""Of passing turns on: dependencies within one nanosecond may form a circle."""


def dependencies(trace: Trace, times: Times) -> Dependencies:
    """Return what let each event go on, ordered by when it did.

    * ``data``, ``control``: the inputs and control inputs of an op (`Trace.edges`), work that a thread took
      over from another, and what a kernel or copy used from another stream or device.
    * ``transfer``: the op that made a tensor that was received or copied, and what used it from there.
    * ``launch``: the call that launched a kernel or copy.
    * ``flow``: the source of a Chrome trace's arrow, which may go on after the arrow starts.
    * ``stream``: the kernel or copy before it on its stream.
    * ``thread``: the previous event on a recorded thread, or the event around it; for an executor's op, the
      op before it on its thread.
    * ``call``: the previous work of threads for the same call; for the call itself, the last of that work.
    * ``copy``: copies to the host, or all of a device's work, that a call waited for.
    * ``channel``: the tensor received before it from the same task.
    * ``collective``: the rank that came last.
    * ``order``: where nothing of the above is known, what ended last before it on its task. That is a guess.
    """
    edges = trace.edges
    source, target = (edges[name].to_numpy(np.int64) for name in ("source", "target"))
    links = recorded_links(trace)
    handed = links[(links["kind"] == "control").to_numpy()]
    given, taken = (handed[name].to_numpy(np.int64) for name in ("source", "target"))

    def of_kind(*kinds: str) -> Pairs:
        which = edges["kind"].isin(kinds).to_numpy()
        return source[which], target[which]

    stream = streams(trace, times)
    launch = of_kind("launch")
    parts = [
        times.at_start(*of_kind("data"), "data"),
        times.at_start(*of_kind("control"), "control"),
        *_moved(times, *of_kind("transfer")),
        *launches(times, launch),
        times.until_start(*of_kind("flow"), "flow"),
        stream_order(times, stream),
        device_data(times, stream, launch, of_kind("data", "transfer")),
        *thread_order(times),
        executor_turns(times),
        *calls(times, given, taken, activity(trace)),
        *awaited(times),
        copies_of_received(trace, times, launch[1]),
        channels(trace, times),
        last_arrivals(trace, times),
    ]
    known = concat_dependencies(parts)
    every = concat_dependencies([known, _guesses(times, known, np.unique(np.concatenate([given, taken])))])
    return every.take(np.lexsort((_turns(every), every.released_at, every.satisfied_at)))


class _InstantLinks(NamedTuple):
    """Which dependencies without length follow which at the same nanosecond."""

    follower: np.ndarray  # dependencies that others may precede
    group: np.ndarray  # for each follower the group of those that precede it
    leader: np.ndarray  # dependencies that precede others, group by group
    head: np.ndarray  # where each group begins in `leader`


def _turns(every: Dependencies) -> np.ndarray:
    """Return how many others at the same nanosecond each dependency comes after (int64).

    Dependencies are ordered by time. Some take no time: what goes on lets something else go on within
    the same nanosecond. Then the chain decides the order:

        a --0--> b --1--> c        all at one nanosecond, with the turn of each dependency

    A dependency has one turn more than the highest turn of those that lead to its source at that time.
    Turns start at 0 and each round passes them on by one link of the chains, until nothing
    changes. Events may also wait for each other in a circle; there is no right order of those, so the
    rounds are limited.
    """
    turn = np.zeros(len(every.source), np.int64)
    links = _instant_links(every)
    for _ in range(_MOST_ROUNDS):
        following = np.maximum.reduceat(turn[links.leader], links.head)[links.group] + 1
        if np.array_equal(following, turn[links.follower]):
            break
        turn[links.follower] = following
    return turn


def _instant_links(every: Dependencies) -> _InstantLinks:
    """Group the dependencies without length that lead to an event by event and time."""
    instant = np.flatnonzero(every.released_at == every.satisfied_at)
    is_target = np.zeros(max(every.source.max(initial=0), every.target.max(initial=0)) + 1, bool)
    is_target[every.target[instant]] = True
    follower = instant[is_target[every.source[instant]]]
    is_source = np.zeros(len(is_target), bool)
    is_source[every.source[follower]] = True
    leader = instant[is_source[every.target[instant]]]
    moments = np.unique(every.satisfied_at[leader])

    def key(event: np.ndarray, dependency: np.ndarray) -> np.ndarray:
        moment = np.searchsorted(moments, every.satisfied_at[dependency])
        combined: np.ndarray = event * (len(moments) + 1) + moment
        return combined

    leader = leader[np.argsort(key(every.target[leader], leader), kind="stable")]
    led_to, leads_on = key(every.target[leader], leader), key(every.source[follower], follower)
    first, end = (np.searchsorted(led_to, leads_on, side) for side in ("left", "right"))
    follower, first = (column[first < end] for column in (follower, first))
    head = np.flatnonzero(np.diff(led_to, prepend=-1))
    return _InstantLinks(follower, np.searchsorted(head, first), leader, head)


def _moved(times: Times, source: np.ndarray, target: np.ndarray) -> list[Dependencies]:
    """Return dependencies by transfers: a tensor requested before it is made waits after its start."""
    arrives = times.received[target]
    maker, tensor = source[arrives], target[arrives]
    satisfied_at = np.clip(times.end[maker], times.start[tensor], times.end[tensor])
    released_at = np.minimum(times.end[maker], satisfied_at)
    return [
        times.at_start(source[~arrives], target[~arrives], "transfer"),
        times.dependencies(maker, released_at, tensor, satisfied_at, "transfer"),
    ]


def _guesses(times: Times, known: Dependencies, linked: np.ndarray) -> Dependencies:
    """Return for events without a known dependency what came last on their task: an end, or a link's start.

    A thread that had nothing to do for long did not wait for what it had run before: something woke it.
    """
    is_start = known.satisfied_at == times.start[known.target]
    slept = times.thread[known.target] & (known.kind == KIND["thread"])
    slept &= known.satisfied_at - known.released_at > LONG_SLEEP
    has_dependency = np.zeros(len(times.start), bool)
    has_dependency[known.target[is_start & ~slept]] = True
    target = np.flatnonzero(times.counts & ~has_dependency)
    took_time = np.flatnonzero(times.counts & (times.end > times.start))
    event = np.concatenate([took_time, linked])
    when = np.concatenate([times.end[took_time], times.start[linked]])
    by_time = Executions(times.task[event], when, when, np.arange(len(event)))
    # A link does not wait for its own start.
    before = by_time.latest(times.task[target], times.start[target] - np.isin(target, linked))
    source, released_at, target = event[before[before >= 0]], when[before[before >= 0]], target[before >= 0]
    # A thread that wakes up while its task is in a collective most likely works for that.
    collective = np.flatnonzero(is_kind(times.events, "collective") & times.thread)
    started = times.start[collective]
    running = Executions(times.task[collective], started, started, collective)
    around = running.latest(times.task[target], times.start[target] - 1)
    around[(times.end[around] < times.start[target]) | (times.start[target] - released_at <= LONG_SLEEP)] = -1
    source = np.where(around >= 0, around, source)
    released_at = np.where(around >= 0, times.start[target], released_at)
    return times.dependencies(source, released_at, target, times.start[target], "order")
