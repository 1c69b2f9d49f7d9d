"""The dependencies of every event, with their times, from which paths and slack are computed."""

from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis.critical_path.blocking_calls import BlockingCalls
from tfvis_nb.analysis.critical_path.dependency_table import KIND, Dependencies, Times, concat_dependencies
from tfvis_nb.analysis.critical_path.device import (
    Pairs,
    awaited,
    device_data,
    launches,
    stream_order,
)
from tfvis_nb.analysis.critical_path.peers import channels, copies_of_received, last_arrivals
from tfvis_nb.analysis.critical_path.threads import calls, executor_turns, thread_order
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.dataflow.recorded_links import recorded_links
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.executions import Executions
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

LONG_SLEEP = 100_000
"""A thread that was idle for longer than this, in ns, did not wait for its previous work."""
_MOST_ROUNDS = 32
"""Limit of rounds that pass turns on, because dependencies within one nanosecond may form a cycle."""


def dependencies(
    trace: Trace, times: Times, stream: np.ndarray, launch: Pairs, blocking: BlockingCalls
) -> Dependencies:
    """Return the dependencies of all events, ordered by the time when they were satisfied.

    * ``data``, ``control``: the inputs and control inputs of an op (`Trace.edges`), work that one thread took
      over from another, and data that a kernel or copy used from another stream or device.
    * ``transfer``: the op that made a received or copied tensor, and the ops that used it there.
    * ``launch``: the call that launched a kernel or copy.
    * ``flow``: the source of an arrow in a Chrome trace, which may continue after the arrow starts.
    * ``stream``: the previous kernel or copy on its stream.
    * ``thread``: the previous event on a recorded thread, or the enclosing event; for an executor's op, the
      previous op on its thread.
    * ``call``: previous work for the same call on any thread; for the call itself, the last of that work.
    * ``copy``: copies, earlier work of a stream, or all work of a device, that a call waited for.
    * ``channel``: the previous tensor received from the same task.
    * ``collective``: the rank that arrived last.
    * ``order``: a guess if none of the above is known: the event that ended last before it on its task, or
      the end of the step before it on all tasks.
    """
    edges = edges_of(trace)
    source, target = (edges[name].to_numpy(np.int64) for name in ("source", "target"))
    links = recorded_links(trace)
    handed = links[(links["kind"] == "control").to_numpy()]
    given, taken = (handed[name].to_numpy(np.int64) for name in ("source", "target"))

    def of_kind(*kinds: str) -> Pairs:
        which = edges["kind"].isin(kinds).to_numpy()
        return source[which], target[which]

    parts = [
        times.at_start(*of_kind("data"), "data"),
        times.at_start(*of_kind("control"), "control"),
        *_moved(times, *of_kind("transfer")),
        *launches(times, launch, blocking),
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
    either = distinct_numbers(np.concatenate([given, taken]))
    ahead = times.with_nested(activity(trace) == NUMBER["preprocessing"])
    every = concat_dependencies([known, _guesses(times, known, either, ahead)])
    return every.take(np.lexsort((_turns(every), every.released_at, every.satisfied_at)))


class _InstantLinks(NamedTuple):
    """The order of instantaneous dependencies within the same nanosecond."""

    follower: np.ndarray  # dependencies that may follow others
    group: np.ndarray  # for each follower, the group of its predecessors
    leader: np.ndarray  # predecessors, group by group
    head: np.ndarray  # where each group starts in `leader`


def _turns(every: Dependencies) -> np.ndarray:
    """Return each dependency's position among those of the same nanosecond (int64).

    Dependencies are ordered by time. Some take no time: an event continues and releases another one within
    the same nanosecond. Then the chain decides the order:

        a --0--> b --1--> c        all at one nanosecond, with the turn of each dependency

    A dependency's turn is one more than the highest turn of those that lead to its source at that time. Turns
    start at 0, and each round passes them on by one link, until nothing changes. Events may also wait for
    each other in a cycle, which has no right order, so the number of rounds is limited.
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
    """Group instantaneous dependencies by target event and time."""
    instant = np.flatnonzero(every.released_at == every.satisfied_at)
    is_target = np.zeros(max(every.source.max(initial=0), every.target.max(initial=0)) + 1, bool)
    is_target[every.target[instant]] = True
    follower = instant[is_target[every.source[instant]]]
    is_source = np.zeros(len(is_target), bool)
    is_source[every.source[follower]] = True
    leader = instant[is_source[every.target[instant]]]
    moments = distinct_numbers(every.satisfied_at[leader])

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
    """Return dependencies through transfers: a tensor requested before it is made waits after its start."""
    arrives = times.received[target]
    maker, tensor = source[arrives], target[arrives]
    satisfied_at = np.clip(times.end[maker], times.start[tensor], times.end[tensor])
    released_at = np.minimum(times.end[maker], satisfied_at)
    return [
        times.at_start(source[~arrives], target[~arrives], "transfer"),
        times.dependencies(maker, released_at, tensor, satisfied_at, "transfer"),
    ]


def _guesses(times: Times, known: Dependencies, linked: np.ndarray, ahead: np.ndarray) -> Dependencies:
    """For events without a known dependency, return the last end on their task, or the start of a link.

    A thread that was idle for long did not wait for its previous work: something woke it. Work of the input
    pipeline, which runs `ahead` of the steps, neither starts them nor is started by them.
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
    where = times.task * 2 + ahead
    by_time = Executions(where[event], when, when, np.arange(len(event)))
    # A link cannot wait for its own start.
    before = by_time.latest(where[target], times.start[target] - np.isin(target, linked))
    source, released_at = (np.append(column, -1)[before] for column in (event, when))
    earlier = _last_of_earlier_steps(times, target)
    last = np.where(earlier >= 0, times.end[earlier], -1)
    begins = (last > released_at) & ((before < 0) | (times.step[source] != times.step[target]))
    source, released_at = np.where(begins, earlier, source), np.where(begins, last, released_at)
    source, released_at, target = (column[source >= 0] for column in (source, released_at, target))
    # A thread that wakes up while its task is in a collective most likely works for it.
    collective = np.flatnonzero(is_kind(times.events, "collective") & times.thread)
    started = times.start[collective]
    running = Executions(times.task[collective], started, started, collective)
    around = running.latest(times.task[target], times.start[target] - 1)
    around[(times.end[around] < times.start[target]) | (times.start[target] - released_at <= LONG_SLEEP)] = -1
    source = np.where(around >= 0, around, source)
    released_at = np.where(around >= 0, times.start[target], released_at)
    return times.dependencies(source, released_at, target, times.start[target], "order")


def _last_of_earlier_steps(times: Times, target: np.ndarray) -> np.ndarray:
    """Return for ops of executors the event that ended the last step that had ended on all tasks; else -1.

    A session runs its steps one after another, each on all of its tasks.
    """
    rows = np.flatnonzero(times.counts & times.executor & (times.step != NO_STEP))
    rows = rows[np.lexsort((times.end[rows], times.step[rows]))]
    final = rows[np.append(np.diff(times.step[rows]) != 0, True)[: len(rows)]]
    ends = Executions(np.zeros(len(final)), times.end[final], times.end[final], final)
    found = ends.latest(np.zeros(len(target)), times.start[target])
    of_session = times.executor[target] & (times.step[target] != NO_STEP)
    of_session &= times.step[found] != times.step[target]
    return np.where(of_session, found, -1)
