"""Find the step of each row of an XSpace, and the device of the executor that ran it.

A step is a run of a session, an event that the program marked as one, or, without marks, a call of a
tf.function, a run of a graph, or a call of a function compiled by JAX. A batch of Keras whose callback runs
other batches is the call of its function, because the mark also encloses the callback. A step includes the
events inside it on its thread, work that other threads took over from these, the events inside that work, and
so on. A kernel belongs to the step of its launch. Work that JAX queues ahead while an earlier step still runs
belongs to that earlier step, unless its own step compiles a function.

JAX returns from a call before the program has run. On a CPU, threads of a pool run it, and if they continue
with the next run, the profile records that as work handed on by the previous run. Runs have numbers but calls
do not. However, the calls of a function and the runs of its programs are in the same order.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading.xspace.links import Links
from tfvis_nb.reading.xspace.rows import Rows, Sparse

_SENDER = re.compile(r"\bkey=(?:/job:\w+/replica:\d+/task:\d+)?(/device:\w+:\d+);")


class Threads:
    """Rows of host threads, ordered by thread and time (ns); rows of devices have thread -1."""

    def __init__(self, thread: np.ndarray, start: np.ndarray, duration: np.ndarray) -> None:
        self.rows = np.flatnonzero(thread >= 0)
        base = int(start[self.rows].min()) if len(self.rows) else 0
        since = start[self.rows] - base
        span = int((since + duration[self.rows]).max()) + 1 if len(self.rows) else 1
        self.at = thread[self.rows] * span + since
        self.until = self.at + duration[self.rows]
        order = in_order(self.at, duration[self.rows])
        self.rows, self.at, self.until = self.rows[order], self.at[order], self.until[order]
        self.thread = thread[self.rows]
        self.position = np.full(len(thread), -1, np.int64)
        self.position[self.rows] = np.arange(len(self.rows))

    def inside(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the range of indexes inside each row, including itself."""
        first = self.position[rows]
        return first, np.maximum(np.searchsorted(self.at, self.until[first], "left"), first + 1)


def in_order(start: np.ndarray, duration: np.ndarray) -> np.ndarray:
    """Return the order of rows by start, longer ones first among equals, otherwise as given.

    Rows have long ordered runs, for which a stable sort by one key is fast; ties are sorted separately.
    """
    order = np.argsort(start, kind="stable")
    ordered = start[order]
    same = ordered[1:] == ordered[:-1]
    if same.any():
        tied = np.zeros(len(order), bool)
        tied[1:] |= same
        tied[:-1] |= same
        some = order[tied]
        order[tied] = some[np.lexsort((some, -duration[some], start[some]))]
    return order


def outermost(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return a mask of the ranges inside no other one; ranges are ordered by `first`."""
    reached = np.maximum.accumulate(last)
    free = np.ones(len(first), bool)
    free[1:] = first[1:] >= reached[:-1]
    return free


def find_steps(
    links: Links, threads: Threads, start: np.ndarray, own_functions: Callable[[], set[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Find the steps of an XSpace, and the step of each row.

    `own_functions` returns the numbers of JAX functions of the user's program.

    Return the step number of each row (int32), `NO_STEP` outside steps, and 0 everywhere if there are none;
    and the row that is each step, -1 for a step that only a profiler numbered.
    """
    grouped = links.mark("group_id")
    if len(grouped.rows):
        step = _grouped(grouped, threads, start)
        marks = _on_threads(links.mark("step_num").rows, threads)[::-1]
        marks = marks[step[marks] != NO_STEP]
        chosen = np.full(int(step.max()) + 1, -1, np.int64)
        chosen[step[marks]] = marks
        return step, chosen
    chosen = roots(links, threads, own_functions)
    interrupted = _interrupted(links, threads)
    chosen = np.append(chosen, interrupted.rows)
    chosen = chosen[np.argsort(start[chosen], kind="stable")]
    step = np.full(len(start), NO_STEP, np.int32)
    if not len(chosen):
        step[:] = 0
        return step, chosen
    _spread(step, links, threads, chosen, start)
    launch, launched = links.launches()
    step[launched] = step[launch]
    calls = dict(zip(interrupted.rows.tolist(), interrupted.numbers.tolist(), strict=True))
    return step, np.array([calls.get(row, row) for row in chosen.tolist()], np.int64)


def _interrupted(links: Links, threads: Threads) -> Sparse:
    """Return the calls of Keras's function in batches whose callback runs other batches, with their marks."""
    marked = _on_threads(links.mark("step_num").rows, threads)
    calls = _on_threads(links.mark("batch").rows, threads)
    if not len(marked) or not len(calls):
        return Sparse(np.zeros(0, np.int64), np.zeros(0, np.int64))
    first, last = threads.inside(marked)
    around: list[int] = []
    interrupted: dict[int, int] = {}
    at = 0
    for call, place in zip(calls.tolist(), threads.position[calls].tolist(), strict=True):
        while at < len(marked) and first[at] < place:
            around.append(at)
            at += 1
        while around and last[around[-1]] <= place:
            around.pop()
        if around:
            interrupted.setdefault(around[-1], call)
    holds = np.append(first[1:], len(threads.rows)) < last
    outer = [mark for mark in interrupted if holds[mark]]
    return Sparse(np.array([interrupted[mark] for mark in outer], np.int64), marked[outer])


def roots(links: Links, threads: Threads, own_functions: Callable[[], set[int]]) -> np.ndarray:
    """Return the rows that are steps, by thread and time; empty if there are none."""
    marked = _on_threads(links.mark("step_num").rows, threads)
    if len(marked):
        # A marked epoch contains marked steps, so only marks without others inside count.
        first, last = threads.inside(marked)
        inner = marked[np.append(first[1:], len(threads.rows)) >= last]
        return _or_sessions(inner, links, threads)
    calls = _on_threads(links.mark("function").rows, threads)
    if len(calls):
        return _or_sessions(calls, links, threads)
    run = links.mark("run")
    calls = _on_threads(run.rows, threads)
    if not len(calls):
        return _jitted(links, threads, own_functions)
    calls = calls[outermost(*threads.inside(calls))]
    first, last = threads.inside(calls)
    ran = np.sort(threads.position[run.rows[run.numbers == 1]])
    running: np.ndarray = calls[np.searchsorted(ran, last) > np.searchsorted(ran, first)]
    return running


def _jitted(links: Links, threads: Threads, own_functions: Callable[[], set[int]]) -> np.ndarray:
    """Return calls of the program's own compiled JAX functions: those called repeatedly, or else all."""
    calls = _jitted_calls(links, threads)
    if not len(calls.rows):
        return calls.rows
    own = np.isin(calls.numbers, [*own_functions()])
    rows, function = calls.rows[own], calls.numbers[own]
    numbers, times = np.unique(function, return_counts=True)
    again: np.ndarray = rows[np.isin(function, numbers[times > 1])]
    return again if len(again) else rows


def _jitted_calls(links: Links, threads: Threads) -> Sparse:
    """Return the calls of functions compiled by JAX, with the function numbers, by thread and time."""
    called = links.mark("jitted")
    calls = _on_threads(called.rows, threads)
    if len(calls):
        # JAX calls other functions while tracing one, and records a call that compiles twice.
        calls = calls[outermost(*threads.inside(calls))]
    return Sparse(calls, called.numbers[np.searchsorted(called.rows, calls)])


def _or_sessions(rows: np.ndarray, links: Links, threads: Threads) -> np.ndarray:
    """Return the rows and session runs that are inside no other one of them."""
    both = _on_threads(np.concatenate([rows, links.mark("session").rows]), threads)
    outer: np.ndarray = both[outermost(*threads.inside(both))]
    return outer


def _on_threads(rows: np.ndarray, threads: Threads) -> np.ndarray:
    position = np.sort(threads.position[rows])
    ordered: np.ndarray = threads.rows[position[position >= 0]]
    return ordered


def _grouped(grouped: Sparse, threads: Threads, start: np.ndarray) -> np.ndarray:
    """Return the step of each row by the numbers of a profiler, as TensorFlow 2.2 to 2.4 wrote them.

    It also numbers the functions of an input pipeline: if any number has work on a device, those without are
    no steps.
    """
    on_device = threads.position[grouped.rows] < 0
    if on_device.any():
        kept = np.isin(grouped.numbers, grouped.numbers[on_device])
        grouped = Sparse(grouped.rows[kept], grouped.numbers[kept])
    numbers, which = np.unique(grouped.numbers, return_inverse=True)
    first = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(first, which, start[grouped.rows])
    rank = np.empty(len(numbers), np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(numbers), dtype=np.int32)
    step = np.full(len(start), NO_STEP, np.int32)
    step[grouped.rows] = rank[which]
    return step


def _spread(step: np.ndarray, links: Links, threads: Threads, chosen: np.ndarray, start: np.ndarray) -> None:
    """Set the step of all thread rows, in rounds from each row to those that take up its work."""
    source, target = links.taken_up()
    region = links.mark("region")
    ends = _region_ends(region, threads)
    _fill_from(step, threads, ends, chosen, np.arange(len(chosen), dtype=np.int32))
    ran = executed_steps(links, _jitted_calls(links, threads), start, step)
    if len(ran.rows):
        step[ran.rows] = ran.numbers
        ended = np.isin(source, ran.rows)
        step[target[ended]] = step[source[ended]]
        begins, inside = _around(ran.rows, region, threads, ends)
        _fill_from(step, threads, ends, begins, step[inside])
    _fill_taken_up(step, links, threads, ends)
    if len(ran.rows):
        compiling = np.isin(np.arange(len(chosen)), step[links.mark("lowering").rows])
        _move_to_running(step, threads, ran, start, compiling, links.mark("ended").rows)


def runs(links: Links, threads: Threads, rows: np.ndarray) -> np.ndarray:
    """Return the index in `rows` of the graph run that each row works for (int32); `NO_STEP` for none."""
    number = np.full(len(threads.position), NO_STEP, np.int32)
    ends = _region_ends(links.mark("region"), threads)
    _fill_from(number, threads, ends, rows, np.arange(len(rows), dtype=np.int32))
    _fill_taken_up(number, links, threads, ends)
    return number


def _fill_taken_up(number: np.ndarray, links: Links, threads: Threads, ends: np.ndarray) -> None:
    """Give rows that take up work the number of the row that handed it on, round by round."""
    source, target = links.taken_up()
    on_thread = threads.position[target] >= 0
    while True:
        reached = (number[source] != NO_STEP) & (number[target] == NO_STEP) & on_thread
        if not reached.any():
            return
        seeds, kept = np.unique(target[reached], return_index=True)
        _fill_from(number, threads, ends, seeds, number[source[reached][kept]])


def _move_to_running(
    step: np.ndarray,
    threads: Threads,
    ran: Sparse,
    start: np.ndarray,
    compiling: np.ndarray,
    ended: np.ndarray,
) -> None:
    """Assign events before the run of their step, and reports after it, to the step that ran when they ended.

    JAX queues calls: a loop that waits for no result has called all of its steps while the first ones run.
    Each step would last from its call to the end of its run, as long as many steps. JAX holds some calls back
    until an earlier run ends, so the step that ran at their start would last until then. The steps marked in
    `compiling` really take that long, so they keep what happened before their run. The events `ended` report
    the end of an instruction and can be late: a thread of a pool may make them when the next step runs.
    """
    end = start.copy()
    end[threads.rows] += threads.until - threads.at
    first = np.full(len(compiling), np.iinfo(np.int64).max)
    np.minimum.at(first, ran.numbers, start[ran.rows])
    last = np.full(len(compiling), np.iinfo(np.int64).min)
    np.maximum.at(last, ran.numbers, end[ran.rows])
    known = np.isin(np.arange(len(compiling)), ran.numbers)
    rows = np.flatnonzero(step != NO_STEP)
    rows = rows[known[step[rows]]]
    at, own = start[rows], step[rows]
    ahead = (at < first[own]) & ~compiling[own]
    late = (at >= last[own]) & np.isin(rows, ended)
    earlier = np.searchsorted(np.maximum.accumulate(last), end[rows])
    later = np.searchsorted(np.minimum.accumulate(first[::-1])[::-1], at, "right") - 1
    step[rows[ahead]] = np.minimum(earlier, own)[ahead]
    step[rows[late]] = np.maximum(later, own)[late]


def _around(
    rows: np.ndarray, region: Sparse, threads: Threads, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that take up work containing some of `rows`, and the first of these in each."""
    rows = rows[np.argsort(threads.position[rows])]
    begins = region.rows[region.numbers == 1]
    at = np.searchsorted(threads.position[rows], threads.position[begins])
    inside = rows[np.minimum(at, len(rows) - 1)]
    holds = (at < len(rows)) & (threads.position[inside] < ends[begins])
    return begins[holds], inside[holds]


def _fill_from(
    step: np.ndarray, threads: Threads, ends: np.ndarray, seeds: np.ndarray, numbers: np.ndarray
) -> None:
    """Give unnumbered rows inside some rows, or in the work that these take up, their numbers."""
    first, last = threads.inside(seeds)
    last = np.maximum(last, ends[seeds])
    order = np.lexsort((-last, first))
    _fill(step, threads, first[order], last[order], numbers[order])


def _fill(
    step: np.ndarray, threads: Threads, first: np.ndarray, last: np.ndarray, numbers: np.ndarray
) -> None:
    """Give unnumbered rows in ranges their numbers; inner ranges take precedence over outer ones."""
    filled = np.full(len(threads.rows), NO_STEP, np.int32)
    while len(first):
        outer = outermost(first, last)
        length = (last - first)[outer]
        ends = np.cumsum(length)
        within = np.arange(int(ends[-1])) - np.repeat(ends - length, length)
        filled[np.repeat(first[outer], length) + within] = np.repeat(numbers[outer], length)
        first, last, numbers = first[~outer], last[~outer], numbers[~outer]
    here = step[threads.rows]
    step[threads.rows] = np.where(here == NO_STEP, filled, here)


def _region_ends(region: Sparse, threads: Threads) -> np.ndarray:
    """Return the index where the thread of each row that takes up work finishes it, else 0."""
    ends = np.zeros(len(threads.position), np.int64)
    position = threads.position[region.rows]
    order = np.argsort(position)
    position, begins = position[order], region.numbers[order] == 1
    stops = position[~begins]
    begins_at = position[begins]
    thread = threads.thread[begins_at]
    following = np.searchsorted(stops, begins_at)
    stop = np.append(stops, len(threads.rows))[following]
    # Unfinished work at the end of the profile lasts to the end of its thread.
    end = np.searchsorted(threads.thread, thread, "right")
    ends[threads.rows[begins_at]] = np.minimum(stop + 1, end)
    return ends


_NEVER = np.iinfo(np.int64).max


def executed_steps(links: Links, calls: Sparse, start: np.ndarray, step: np.ndarray) -> Sparse:
    """Return the rows of runs with the step of their call, if known.

    `calls` are the outermost calls, with the numbers of their functions.
    """
    execution, ran = links.mark("execution"), links.mark("executed")
    if not len(ran.rows) or not len(calls.rows):
        return Sparse(np.zeros(0, np.int64), np.zeros(0, np.int64))
    runs, number = np.unique(execution.numbers, return_inverse=True)
    first = np.full(len(runs), _NEVER)
    np.minimum.at(first, number, start[execution.rows])
    function = np.full(len(runs), -1, np.int64)
    function[number[np.searchsorted(execution.rows, ran.rows)]] = ran.numbers
    ordered = np.argsort(start[calls.rows], kind="stable")
    steps = np.full(len(runs), NO_STEP, np.int64)
    for one in distinct_numbers(function[function >= 0]).tolist():
        own = np.flatnonzero(function == one)
        own = own[np.argsort(first[own], kind="stable")]
        called = calls.rows[ordered[calls.numbers[ordered] == one]]
        count = min(len(own), len(called))
        # Runs of calls before the profile are first, calls without runs last.
        own, called = own[len(own) - count :], called[:count]
        after = first[own] >= start[called]
        steps[own[after]] = step[called[after]]
    known = steps[number] != NO_STEP
    return Sparse(execution.rows[known], steps[number[known]])


def executor_devices(parts: Sequence[Rows], links: Links, threads: Threads) -> pa.Array | None:
    """Return the device of each row's executor, null if unknown; None unless devices meet in collectives.

    The executors of all CPU devices run on threads of one pool, as do the executors that launch kernels on
    GPUs, so neither plane nor line shows the device. But each executor runs a graph of its own, and when it
    sends a tensor to another device, the key of the transfer starts with its own device.
    """
    met = links.mark("instance")
    instances, instance = np.unique(met.numbers, return_inverse=True)
    if len(instances) == len(met.rows):
        return None
    run = links.mark("run")
    number = runs(links, threads, run.rows[run.numbers == 1])
    sender, devices = _senders(parts, number)
    device = np.append(sender, -1)[number]
    known = device[met.rows] >= 0
    pairs = np.unique(instance[known] * len(devices) + device[met.rows][known])
    if np.bincount(pairs // max(len(devices), 1)).max(initial=0) < 2:
        return None
    return pa.DictionaryArray.from_arrays(
        pa.array(device, pa.int32(), mask=device < 0), pa.array(devices, pa.string())
    )


def _senders(parts: Sequence[Rows], number: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the index of the device that sends in each run, -1 for none or several, and the devices."""
    runs_of, codes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    devices: dict[str, int] = {}
    first = 0
    for part in parts:
        found = [_SENDER.search(text) for text in part.detail.texts]
        of_text = np.array([-1 if one is None else devices.setdefault(one[1], len(devices)) for one in found])
        code = of_text[part.detail.codes] if found else np.zeros(0, np.int64)
        sent = np.flatnonzero((code >= 0) & (number[first : first + len(part)] != NO_STEP))
        runs_of.append(number[first + sent].astype(np.int64))
        codes.append(code[sent])
        first += len(part)
    run, code = np.concatenate(runs_of), np.concatenate(codes)
    count = int(number.max(initial=-1)) + 1
    least, most = np.full(count, len(devices)), np.full(count, -1)
    np.minimum.at(least, run, code)
    np.maximum.at(most, run, code)
    return np.where(least == most, most, -1), list(devices)
