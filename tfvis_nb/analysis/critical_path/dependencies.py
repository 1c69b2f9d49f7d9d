"""The dependencies of every event, with their times, from which paths and slack are computed."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.critical_path.blocking_calls import BlockingCalls
from tfvis_nb.analysis.critical_path.dependency_table import (
    COARSE,
    KIND,
    Dependencies,
    Times,
    concat_dependencies,
)
from tfvis_nb.analysis.critical_path.device import (
    Pairs,
    awaited,
    device_data,
    launches,
    stream_order,
)
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.dataflow.recorded_links import recorded_links
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.input.elements import ELEMENT, elements
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.devices import task_of
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
    * ``element``: the production of an element of tf.data that another thread hands out.
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
        input_requests(times, given, taken, activity(trace)),
        *handed_out(trace, times),
        *captured(times, taken),
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
    # A thread that wakes up while its task or device is in a collective most likely works for it.
    collective = np.flatnonzero(is_kind(times.events, "collective") & times.thread)
    started = times.start[collective]
    running = Executions(times.participant[collective], started, started, collective)
    around = running.latest(times.participant[target], times.start[target] - 1)
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
    last = ends.latest(np.zeros(len(target)), times.start[target])
    of_session = times.executor[target] & (times.step[target] != NO_STEP)
    of_session &= times.step[last] != times.step[target]
    return np.where(of_session, last, -1)


def handed_out(trace: Trace, times: Times) -> list[Dependencies]:
    """Return the production of each element of tf.data that another event hands out.

    An element that was not there in time is what the enclosing call waited for.
    """
    table = elements(trace)
    made, taken = (
        table[table["edge"] == edge].drop_duplicates(ELEMENT, keep=False).rename_axis(name).reset_index()
        for edge, name in (("Produce", "source"), ("Consume", "target"))
    )
    pairs = made[[*ELEMENT, "source"]].merge(taken[[*ELEMENT, "target"]], on=ELEMENT)
    source, target = (pairs[name].to_numpy(np.int64) for name in ("source", "target"))
    caller = times.parent[target]
    waited = (caller >= 0) & (times.end[source] > times.start[caller])
    until = times.start[target]
    released = np.minimum(times.end[source], until)
    return [
        times.until_start(source[~waited], target[~waited], "element"),
        times.dependencies(source[waited], released[waited], caller[waited], until[waited], "element"),
    ]


_CAPTURED = re.compile(r"InstantiatedCapturedFunction::Run(?!Instantiated)")
_RUNS = re.compile(r"Executor(?:State::Process$|DoneCallback$)")


def captured(times: Times, linked: np.ndarray) -> list[Dependencies]:
    """Return what calls of functions of tf.data, such as a generator, wait for; no link is recorded.

    The call starts the executor on another thread, and continues when the last row that starts meanwhile on
    such threads ends. The executor's own row can end later, so the rows nested in it count too.
    """
    calling = np.flatnonzero(times.thread & beginning(times.events["op"], _CAPTURED))
    runs = times.thread & beginning(times.events["op"], _RUNS) & (times.step == NO_STEP)
    rows = np.flatnonzero(times.with_nested(runs))
    runs[linked] = False
    started = Executions(times.task[calling], times.start[calling], times.start[calling], calling)
    call = started.latest(times.task[rows], times.start[rows])
    inside = (call >= 0) & (times.end[call] >= times.start[rows]) & (times.lane[call] != times.lane[rows])
    rows, call = rows[inside], call[inside]
    by_start, by_end = (np.lexsort((when[rows], call)) for when in (times.start, times.end))
    by_start = by_start[runs[rows[by_start]] & (times.parent[rows[by_start]] < 0)]
    by_end = by_end[times.end[rows[by_end]] <= times.end[call[by_end]]]
    first = by_start[np.append(True, np.diff(call[by_start]) != 0)[: len(by_start)]]
    last = by_end[np.append(np.diff(call[by_end]) != 0, True)[: len(by_end)]]
    until = times.end[rows[last]]
    return [
        times.until_start(call[first], rows[first], "control"),
        times.dependencies(rows[last], until, call[last], until, "call"),
    ]


def last_arrivals(trace: Trace, times: Times) -> Dependencies:
    """Return the rank that each collective waited for: the last to arrive."""
    arrived = collective_waits(trace)
    event, group = (arrived[name].to_numpy(np.int64) for name in ("event", "collective"))
    # Rows of a collective are ordered by arrival.
    final = np.searchsorted(group, group, "right") - 1
    waited = np.flatnonzero(arrived["wait_ns"].to_numpy(np.int64, na_value=0) > 0)
    last = event[final[waited]]
    return times.dependencies(last, times.start[last], event[waited], times.start[last], "collective")


def copies_of_received(trace: Trace, times: Times, launched: np.ndarray) -> Dependencies:
    """Return which copies to a device carry tensors received from another task.

    The receiving op copies a tensor to its device before the tensor counts as received. No op launches such a
    copy, so it belongs to the tensor in transfer that arrived next.
    """
    tensor, since = _received(trace)
    own = times.device & is_kind(times.events, "memcpy")
    own[launched] = False
    copy = np.flatnonzero(own & (len(tensor) > 0))
    where = (times.step + 1) * (int(times.device_number.max(initial=0)) + 2) + times.device_number
    # With time reversed, the first to end is the last to start.
    back = Executions(where[tensor], -times.end[tensor], -times.end[tensor], np.arange(len(tensor)))
    arrived = back.latest(where[copy], COARSE - times.end[copy])
    copy, arrived = copy[arrived >= 0], arrived[arrived >= 0]
    known = times.start[tensor[arrived]] <= times.ready[copy]
    copy, arrived = copy[known], arrived[known]
    requested_at = np.clip(since[arrived], times.ready[copy], times.start[copy])
    return times.dependencies(tensor[arrived], requested_at, copy, times.start[copy], "transfer")


def _received(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return received tensors (int64 event ids) and when each started to move (epoch ns; 0 if unknown)."""
    moved = transfers(trace)
    moved = moved[(moved["kind"] == "transfer").to_numpy()]
    return moved["event"].to_numpy(np.int64), moved["turn_ns"].to_numpy(np.int64, na_value=0)


def channels(trace: Trace, times: Times) -> Dependencies:
    """Return the tensor that each received one waited for: the previous one between the same two tasks."""
    moved = transfers(trace)
    moved = moved[(moved["kind"] == "transfer").to_numpy() & moved["transfer_ns"].notna().to_numpy()]
    row = moved["event"].to_numpy(np.int64)
    ends = []
    for column in ("source", "destination"):
        tasks: dict[str, int] = {}
        number = [tasks.setdefault(task_of(str(name)), len(tasks)) for name in moved[column].cat.categories]
        ends.append(np.array(number, np.int64)[moved[column].cat.codes])
    order = np.lexsort((times.start[row], times.end[row], times.step[row], *ends))
    same = np.all([np.diff(one[order]) == 0 for one in (times.step[row], *ends)], axis=0)
    before, after = row[order[:-1]], row[order[1:]]
    waited = same & (times.end[before] > times.start[after])
    before, after = before[waited], after[waited]
    return times.dependencies(before, times.end[before], after, times.end[before], "channel")


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
    waited = (before >= 0) & (times.end[before] >= times.ready[rows] - COARSE)
    return times.at_start(before[waited], rows[waited], "thread")


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
    before = _latest_before(times, taken, call)
    # The event that ends an asynchronous op waits only for that op.
    peers = (before >= 0) & ~beginning(times.events["op"], _BEGIN)[given]
    before, after = before[peers], taken[peers]
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


def input_requests(
    times: Times, source: np.ndarray, target: np.ndarray, activity: np.ndarray
) -> Dependencies:
    """Let each row that waits for input depend on the start of its asynchronous op on another thread.

    The profiler only links the start with the end of the op, which follows the row on its thread.
    """
    top = times.by_thread[times.parent[times.by_thread] < 0]
    follows = np.flatnonzero(times.lane[top[1:]] == times.lane[top[:-1]])
    previous = np.full(len(times.start), -1)
    previous[top[follows + 1]] = top[follows]
    begins = beginning(times.events["op"], _BEGIN)[source]
    start, row = source[begins], previous[target[begins]]
    waits = (row >= 0) & (activity[row] == NUMBER["input"]) & (times.start[row] >= times.start[start])
    return times.until_start(start[waits], row[waits], "control")


def _latest_before(times: Times, taken: np.ndarray, call: np.ndarray) -> np.ndarray:
    """Return for each row the row of its call that ended last of those before it, or still ran; else -1.

    Rows are ordered by call and start. A collective that still runs waits for others and releases nothing.
    """
    ends = np.flatnonzero(is_kind(times.events, "collective")[taken])
    row = np.concatenate([taken, taken[ends]])
    at_end = np.arange(len(row)) >= len(taken)
    until = np.append(
        np.where(np.isin(np.arange(len(taken)), ends), -1, times.end[taken]), times.end[taken[ends]]
    )
    of_call = np.append(call, call[ends])
    order = np.lexsort((np.where(at_end, times.end[row], times.start[row]), of_call))
    reached = pd.Series(until[order]).groupby(of_call[order]).cummax().to_numpy()
    latest = np.maximum.accumulate(np.where(reached == until[order], np.arange(len(order)), 0))
    before = np.append(-1, row[order[latest[:-1]]])
    begins = np.append(True, np.diff(of_call[order]) != 0)
    before[begins | (np.append(-1, reached[:-1]) < 0)] = -1
    found = np.empty(len(row), np.int64)
    found[order] = before
    return found[: len(taken)]


def _last_ended(
    times: Times, taken: np.ndarray, call: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the work for each call that ended last before it returned on each thread, the call, and its end.

    The end is that of the last of these.

    A thread of the runtime often goes on for a while after it has released the caller
    (``ExecutorState::Process`` of TensorFlow 2.15 to 2.20), so the rows nested in its row count too.
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
