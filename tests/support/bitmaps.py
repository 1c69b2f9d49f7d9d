"""Time counted nanosecond by nanosecond: what sweeps over intervals are compared with."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tfvis_nb import Trace
from tfvis_nb.analysis.events.activity import ACTIVITIES, BY_TIME, activity

Interval = tuple[int, int]


def painted(window: Interval, layers: Iterable[Iterable[Interval]]) -> np.ndarray:
    """Paint layers over one another; return how many ns of the window show none, the first, the second..."""
    picture = np.zeros(window[1] - window[0], np.uint8)
    count = 0
    for count, intervals in enumerate(layers, start=1):
        for start, end in intervals:
            picture[max(start - window[0], 0) : max(end - window[0], 0)] = count
    return np.bincount(picture, minlength=count + 1)


def windows(trace: Trace) -> dict[int, Interval]:
    """Return from when to when each step is."""
    steps: dict[int, list[dict[Any, Any]]] = {}
    for row in trace.events.to_dict("records"):
        if row["step"] >= 0:
            steps.setdefault(row["step"], []).append(row | {"end_ns": row["start_ns"] + row["duration_ns"]})
    found: dict[int, Interval] = {}
    for step, rows in steps.items():
        calls: dict[str, dict[Any, Any]] = {}
        for row in sorted(rows, key=lambda row: (row["start_ns"], -row["duration_ns"])):
            calls.setdefault(row["task"], row)
        pools = {_thread(row) for row in rows if row["kind"] == "host" and row["op"].startswith("Executor")}
        ends = [
            row["end_ns"] for row in rows if not (_thread(row) in pools and _is_late(row, calls[row["task"]]))
        ]
        found[step] = min(row["start_ns"] for row in rows), max(ends)
    done: dict[tuple[str, str], int] = {}
    for step in sorted(found, key=lambda step: (found[step][1], found[step][0], step)):
        works = [
            row
            for row in steps[step]
            if "GPU" in row["device"] and row["kind"] in ("kernel", "memcpy", "memset")
        ]
        places = {(row["task"], row["device"]) for row in works}
        start, end = found[step]
        free = max((done[place] for place in places if place in done), default=start)
        found[step] = max(start, min(free, end)), end
        for row in works:
            place = row["task"], row["device"]
            done[place] = max(done.get(place, 0), row["end_ns"])
    return found


def _is_late(row: dict[Any, Any], call: dict[Any, Any]) -> bool:
    """Return whether a row may end after its step: a host row on another thread than the call."""
    if call["kind"] != "host" or row["kind"] != "host":
        return False
    return _thread(row) != _thread(call)


def _thread(row: dict[Any, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("task", "device", "lane", "thread"))


def counted(trace: Trace) -> Iterator[tuple[int, int, Interval]]:
    """Return each event, a step it counts to, and from when to when."""
    steps = sorted(windows(trace).items(), key=lambda item: (item[1][0], item[0]))
    own = dict(steps)
    events = trace.events
    columns = (events[name].tolist() for name in ("step", "start_ns", "duration_ns"))
    for event, (step, start, duration) in enumerate(zip(*columns, strict=True)):
        end = start + duration
        if step >= 0:
            first, last = own[step]
            inside = min(max(start, first), last), min(max(end, first), last)
            if not duration or inside[0] < inside[1]:
                yield event, step, inside
            end = min(end, first)
        if ACTIVITIES[activity(trace)[event]] not in BY_TIME:
            continue
        for place, (number, (first, last)) in enumerate(steps):
            until = min([last, *(later[1][0] for later in steps[place + 1 : place + 2])])
            if max(start, first) < min(end, until):
                yield event, number, (max(start, first), min(end, until))
