"""What every event had to wait for, and from when to when: the edges that paths and slack are found on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfvis_nb.analysis.critical_path.dependency_table import KIND, Releases, Times, joined
from tfvis_nb.analysis.critical_path.device import (
    Pairs,
    awaited,
    device_data,
    launches,
    stream_order,
    streams,
)
from tfvis_nb.analysis.critical_path.graph_inputs import graph_inputs
from tfvis_nb.analysis.critical_path.peers import channels, copies_of_received, last_arrivals
from tfvis_nb.analysis.critical_path.threads import calls, executor_turns, thread_order
from tfvis_nb.analysis.dataflow.executions import Executions
from tfvis_nb.analysis.dataflow.recorded_links import recorded_links
from tfvis_nb.analysis.events.activity import activity
from tfvis_nb.core.categories import is_kind

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

LONG_SLEEP = 100_000
"""Nanoseconds after which a thread that had nothing to do did not wait for what it had run before."""
_AT_ONCE = 32


def releases(trace: Trace, times: Times) -> Releases:
    """Return what let each event go on, ordered by when it did.

    * ``data``, ``control``: what an op used or had to come after, by its label (`Trace.edges`) and the
      graphs that ran; what a thread took up from another. Of a kernel or copy, what it used from another
      stream or device.
    * ``transfer``: the op that made a tensor that was received or copied, and what used it from there.
    * ``launch``: the call that launched a kernel or copy.
    * ``stream``: the kernel or copy before it on its stream.
    * ``thread``: what a recorded thread ran before it, or the event within which it ran; of an executor's
      op, the op before it on its thread.
    * ``call``: of what threads do for one call, what did so before; of the call, the last of it.
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
        *graph_inputs(trace, times),
        *_moved(times, *of_kind("transfer")),
        *launches(times, launch),
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
    known = joined(parts)
    every = joined([known, _guesses(times, known, np.unique(np.concatenate([given, taken])))])
    return every.take(np.lexsort((_turns(every), every.left, every.reached)))


def _turns(every: Releases) -> np.ndarray:
    """Return how many others at the same moment each release comes after (int64).

    What goes on and lets something else go on within one nanosecond had to go on first. Events may also
    wait for each other in a circle then; there is no right order of those.
    """
    turn = np.zeros(len(every.left), np.int64)
    at_once = np.flatnonzero(every.left == every.reached)
    begun = np.zeros(max(every.source.max(initial=0), every.target.max(initial=0)) + 1, bool)
    begun[every.target[at_once]] = True
    after = at_once[begun[every.source[at_once]]]
    let_on = np.zeros(len(begun), bool)
    let_on[every.source[after]] = True
    before = at_once[let_on[every.target[at_once]]]
    moments = np.unique(every.reached[before])

    def key(event: np.ndarray, at: np.ndarray) -> np.ndarray:
        found: np.ndarray = event * (len(moments) + 1) + np.searchsorted(moments, every.reached[at])
        return found

    before = before[np.argsort(key(every.target[before], before), kind="stable")]
    own, asked = key(every.target[before], before), key(every.source[after], after)
    first, end = (np.searchsorted(own, asked, side) for side in ("left", "right"))
    after, first = (column[first < end] for column in (after, first))
    # Those that one release asks about lie side by side.
    heads = np.flatnonzero(np.diff(own, prepend=-1))
    asked_about = np.searchsorted(heads, first)
    for _ in range(_AT_ONCE):
        moved = np.maximum.reduceat(turn[before], heads)[asked_about] + 1
        if np.array_equal(moved, turn[after]):
            break
        turn[after] = moved
    return turn


def _moved(times: Times, source: np.ndarray, target: np.ndarray) -> list[Releases]:
    """Return releases by transfers: a tensor may be asked for before it is made, and then waits inside."""
    arrives = times.received[target]
    maker, tensor = source[arrives], target[arrives]
    reached = np.clip(times.end[maker], times.start[tensor], times.end[tensor])
    return [
        times.at_start(source[~arrives], target[~arrives], "transfer"),
        times.releases(maker, np.minimum(times.end[maker], reached), tensor, reached, "transfer"),
    ]


def _guesses(times: Times, known: Releases, linked: np.ndarray) -> Releases:
    """Return for what nothing is known of what came last on its task: an end, or the begin of a link.

    A thread that had nothing to do for long did not wait for what it had run before: something woke it.
    """
    begun = known.reached == times.start[known.target]
    slept = (
        times.thread[known.target]
        & (known.kind == KIND["thread"])
        & (known.reached - known.left > LONG_SLEEP)
    )
    sure = np.zeros(len(times.start), bool)
    sure[known.target[begun & ~slept]] = True
    rows = np.flatnonzero(times.counts & ~sure)
    took = np.flatnonzero(times.counts & (times.end > times.start))
    event = np.concatenate([took, linked])
    when = np.concatenate([times.end[took], times.start[linked]])
    by_time = Executions(times.task[event], when, when, np.arange(len(event)))
    # A link that begins does not wait for its own begin.
    before = by_time.latest(times.task[rows], times.start[rows] - np.isin(rows, linked))
    some = before >= 0
    source, left, rows = event[before[some]], when[before[some]], rows[some]
    # A thread that wakes up while its task is in a collective most likely works for that.
    shared = np.flatnonzero(is_kind(times.events, "collective") & times.thread)
    running = Executions(times.task[shared], times.start[shared], times.start[shared], shared)
    inside = running.latest(times.task[rows], times.start[rows] - 1)
    inside[(times.end[inside] < times.start[rows]) | (times.start[rows] - left <= LONG_SLEEP)] = -1
    source, left = np.where(inside >= 0, inside, source), np.where(inside >= 0, times.start[rows], left)
    return times.releases(source, left, rows, times.start[rows], "order")
