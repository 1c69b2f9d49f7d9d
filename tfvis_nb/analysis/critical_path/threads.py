"""Dependencies between events of one thread, or of threads that hand over work."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.dependency_table import COARSE, Dependencies, Times
from tfvis_nb.analysis.events.activity import NUMBER
from tfvis_nb.core.categories import beginning
from tfvis_nb.core.executions import Executions

_BEGIN = re.compile(r"ExecutorState::ProcessAsync::Start")
_STAMP = 500
_CALLERS = ("none", "runtime")
_DEEPEST = 256


def thread_order(times: Times) -> list[Dependencies]:
    """Return the dependencies from the order of events on recorded threads.

    A nested event starts when the enclosing one calls it, and releases it at its end. Otherwise an event
    starts after the previous one on its thread.
    """
    inner = np.flatnonzero(times.thread & (times.parent >= 0))
    took = inner[times.end[inner] > times.start[inner]]
    top = times.by_thread[times.parent[times.by_thread] < 0]
    follows = np.flatnonzero(times.lane[top[1:]] == times.lane[top[:-1]])
    begin, end = times.start[inner], times.end[took]
    return [
        times.dependencies(times.parent[inner], begin, inner, begin, "thread"),
        times.dependencies(took, end, times.parent[took], end, "thread"),
        times.at_start(top[follows], top[follows + 1], "thread"),
    ]


def executor_turns(times: Times) -> Dependencies:
    """Return the op that an executor's thread ran before each op.

    The thread is not recorded. But an op is ready when the previous op on its thread, or the last of its
    inputs, is done: both are stamped one right after the other (``Process`` and ``NodeDone`` in TensorFlow's
    ``executor.cc``). In real traces they are 20 to 350 ns apart, and of 28,155 ops of one thread only 3 were
    ready at the end of the same one as another.
    """
    rows = np.flatnonzero(times.executor & times.known_ready)
    width = [int(numbers.max(initial=0)) + 2 for numbers in (times.task, times.device_number)]
    where = (
        ((times.step[rows] + 1) * width[0] + times.task[rows] + 1) * width[1] + times.device_number[rows] + 1
    )
    ends = Executions(where, times.end[rows], times.start[rows], rows)
    before = ends.latest(where, np.minimum(times.ready[rows] + _STAMP, times.start[rows]))
    found = (before >= 0) & (times.end[before] >= times.ready[rows] - COARSE)
    return times.at_start(before[found], rows[found], "thread")


def calls(times: Times, source: np.ndarray, target: np.ndarray, activity: np.ndarray) -> list[Dependencies]:
    """Return the dependencies between threads that work for one call, from recorded links.

    A profiler links a call with the work of other threads for it, but does not link that work with each
    other. A thread takes up an op when another has computed its inputs. So work that starts later in a call
    depends on the work of the same call that ended last before it or is still running. The caller, if it does
    nothing else, continues when the work on all threads has ended. What hands over the work has nothing else
    to do either: it returns late if the work takes its processor, as in 6 of 16 steps on two processors.
    """
    if not len(source):
        return []
    first = pd.Series(source).groupby(target).first()
    taken, given = first.index.to_numpy(np.int64), first.to_numpy(np.int64)
    call = _caller(times, taken, given)
    order = np.lexsort((times.start[taken], call))
    taken, given, call = taken[order], given[order], call[order]
    latest_end = pd.Series(times.end[taken]).groupby(call).cummax().to_numpy()
    latest = np.maximum.accumulate(np.where(latest_end == times.end[taken], np.arange(len(taken)), 0))
    # The event that ends an asynchronous op waits only for that op.
    later = np.append(False, call[1:] == call[:-1])
    peers = later & ~beginning(times.events["op"], _BEGIN)[given]
    before, after = taken[latest[np.flatnonzero(peers) - 1]], taken[peers]
    # What still runs is at the event that is nested in it then.
    still = times.end[before] > times.start[after]
    before[still] = times.innermost(before[still], times.start[after][still])
    last, caller, continues = _last_ended(times, taken, call)
    waits = np.isin(activity[caller], [NUMBER[name] for name in _CALLERS])
    last, caller, continues = last[waits], caller[waits], continues[waits]
    until = times.end[given]
    runs = (times.start[taken] < until) & (until <= times.end[taken])
    runs &= np.isin(activity[given], [NUMBER[name] for name in _CALLERS])
    runs[runs] = ~pd.Series(given[runs]).duplicated(keep="last").to_numpy()
    shares = times.innermost(taken[runs], until[runs])
    return [
        times.dependencies(shares, until[runs], given[runs], until[runs], "call"),
        times.until_start(before, after, "call"),
        times.until_start(given[~peers], taken[~peers], "control"),
        times.dependencies(last, times.end[last], caller, continues, "call"),
    ]


def _last_ended(
    times: Times, taken: np.ndarray, call: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the work for each call that ended last before it returned on each thread, the call, and its end.

    The end is that of the last of these.

    A thread of the runtime often goes on for a while after it has released the caller
    (``ExecutorState::Process`` of TensorFlow 2.15 to 2.20), so what is nested in its row counts too.
    """
    of = np.full(len(times.start), -1, np.int64)
    of[taken] = call
    outer = times.parent.copy()
    inner = np.flatnonzero((outer >= 0) & (of < 0))
    # Each round doubles the number of enclosing events.
    while len(inner):
        of[inner] = of[outer[inner]]
        inner = inner[of[inner] < 0]
        outer[inner] = outer[outer[inner]]
        inner = inner[outer[inner] >= 0]
    ended = np.flatnonzero(of >= 0)
    caller = of[ended]
    within = (times.end[ended] > times.start[caller]) & (times.end[ended] <= times.end[caller])
    ended, caller = ended[within], caller[within]
    order = np.lexsort((times.end[ended], times.lane[ended], caller))
    changes = (np.diff(caller[order]) != 0) | (np.diff(times.lane[ended][order]) != 0)
    final = order[np.append(changes, True)[: len(order)]]
    ended, caller = ended[final], caller[final]
    return ended, caller, pd.Series(times.end[ended]).groupby(caller).transform("max").to_numpy(np.int64)


def _caller(times: Times, taken: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the calling event of each handed-over event, also across several handovers."""
    giver = np.full(len(times.start), -1, np.int64)
    giver[taken] = given
    event = given
    caller = np.where(times.parent[event] >= 0, times.parent[event], event)
    todo = np.arange(len(event))
    # Cycles of links would never end.
    for _ in range(_DEEPEST):
        handed = giver[event[todo]] >= 0
        outer = np.where(handed, giver[event[todo]], times.parent[event[todo]])
        through = outer[handed]
        caller[todo[handed]] = np.where(times.parent[through] >= 0, times.parent[through], through)
        event = event.copy()
        event[todo] = outer
        todo = todo[outer >= 0]
        if not len(todo):
            break
    return caller
