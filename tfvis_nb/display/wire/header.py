"""Facts about a timeline as a whole: the header of everything that is drawn first.

``js/model/wire/bars.ts`` reads it. Times are nanoseconds from ``origin_ns``, the earliest start.
"""

from collections.abc import Sequence
from itertools import dropwhile
from typing import NotRequired, TypedDict

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.lane_order import distinct_places
from tfvis_nb.analysis.steps.slow_steps import step_kinds
from tfvis_nb.analysis.steps.utilization import busiest_accelerator
from tfvis_nb.core.clock_bounds import ClockBounds, to_json
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.note_order import most_important_first
from tfvis_nb.core.palette import CATEGORIES
from tfvis_nb.core.prediction import prediction_sentence
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

MOST_LANES = 2**16
"""Maximum lanes of a timeline, because the front end stores the lane of an event in two bytes."""

_LONG_PAUSE, _MOST_EMPTY, _HALF_EMPTY = 0.1, 0.75, 0.5
"""Shares of the whole time, or of a part; see `_busiest`."""

_ATYPICAL, _MOST_SHOWN = 3, 2 / 3
"""A multiple of the median step, and a share of the whole time; see `_typical_steps`."""


class SentLane(TypedDict):
    """A lane of a timeline."""

    task: str
    device: str
    lane: str
    kind: str
    events: int
    rows: NotRequired[int]  # If they are packed here
    busy: NotRequired[int]  # How long anything ran in it, in ns
    sums: NotRequired[bool]  # Whether it stands for the other lanes of its device while these are not shown


class Step(TypedDict):
    """A step of a timeline: its number, or `NO_STEP`, and its times."""

    step: int
    start: int
    end: int
    events: int  # Its own, and those outside steps that run during it
    label: NotRequired[str]  # Besides the number: the runs fetched, the name of a marker
    kind: NotRequired[int]  # Steps are compared with those of their kind; 0 if missing
    device: NotRequired[int]  # How long the busiest accelerator was busy in it, in ns, if known


class TimelineHeader(TypedDict):
    """A timeline as a whole."""

    title: str
    origin_ns: str  # Epoch time of time 0, as text because it exceeds the whole numbers of a float64
    span_ns: int  # Until the latest end
    lanes: list[SentLane]
    steps: list[Step]
    notes: list[str]
    predicted: str  # The changes of a prediction and their effect; empty for recorded times
    clocks: list[ClockBounds]  # The first is the one that others are compared with
    categories: Sequence[str]
    ops: list[str]
    opens: tuple[int, int] | None  # The range at which the view opens; None for everything


def sent_lanes(lanes: pd.DataFrame) -> list[SentLane]:
    """Describe lanes, given their table."""
    names = ("task", "device", "lane", "kind", "events")
    return [
        {"task": task, "device": device, "lane": lane, "kind": kind, "events": events}
        for task, device, lane, kind, events in zip(*(lanes[name].tolist() for name in names), strict=True)
    ]


def timeline_header(
    *,
    title: str,
    origin: int,
    span: int,
    lanes: list[SentLane],
    steps: list[Step],
    ops: list[str],
    notes: Sequence[str],
    busiest: tuple[int, int] | None = None,
) -> TimelineHeader:
    """Describe a timeline that opens on its `busiest` part or typical steps; `trace_header` takes a trace."""
    return {
        "title": title,
        "origin_ns": str(origin),
        "span_ns": span,
        "lanes": lanes,
        "steps": steps,
        "notes": list(notes),
        "predicted": "",
        "clocks": [],
        "categories": CATEGORIES,
        "ops": ops,
        "opens": _with_whole_steps(busiest, steps, span) if busiest else _typical_steps(steps, span),
    }


def trace_header(
    trace: Trace, *, title: str, span: int, lanes: list[SentLane], steps: list[Step], ops: list[str]
) -> TimelineHeader:
    """Describe a trace with the given lanes, steps and ops."""
    notes = most_important_first(trace.notes)
    origin = origin_ns(trace.events)
    start, duration = (trace.events[name].to_numpy() for name in ("start_ns", "duration_ns"))
    busiest = _busiest(start - origin, duration)
    header = timeline_header(
        title=title, origin=origin, span=span, lanes=lanes, steps=steps, ops=ops, notes=notes, busiest=busiest
    )
    return {**header, "predicted": prediction_sentence(trace), "clocks": to_json(trace.clock_bounds)}


def _busiest(start: np.ndarray, duration: np.ndarray) -> tuple[int, int] | None:
    """Return the range at which a timeline opens, if most of the whole is empty; else None.

    Pauses of a tenth of the whole divide it into parts. If they make up more than three quarters, everything
    would be a few pixels wide, so the view opens on the busiest part. If pauses of a tenth of that part make
    up more than half of it, it is divided likewise: the whole is out of sight anyway.
    """
    busiest: tuple[int, int] | None = None
    while len(start):
        reached = np.maximum.accumulate(start + duration)
        pause = np.append(0, start[1:] - reached[:-1])
        whole = int(reached[-1] - start[0])
        is_long = pause > _LONG_PAUSE * whole
        if int(pause[is_long].sum()) <= (_HALF_EMPTY if busiest else _MOST_EMPTY) * whole:
            break
        part = np.cumsum(is_long)
        busy = union(part, start, start + duration)
        time = lengths(busy, int(part[-1]) + 1, 2)[:, 1]
        # If no part has a duration, the one with the most events.
        here = part == np.lexsort((np.bincount(part), time))[-1]
        start, duration, last = start[here], duration[here], int(reached[here][-1])
        if last <= start[0]:
            break
        busiest = int(start[0]), last
    return busiest


def _with_whole_steps(part: tuple[int, int], steps: Sequence[Step], span: int) -> tuple[int, int]:
    """Return a part extended by the rest of its steps, because figures of a step are about all of it.

    A step that takes most of the recording is left out: all of it would be as empty as the recording.
    """
    first, last = part
    cut = [
        (each["start"], each["end"])
        for each in steps
        if each["step"] != NO_STEP
        and each["start"] < last
        and each["end"] > first
        and each["end"] - each["start"] <= _MOST_SHOWN * span
    ]
    return min([first, *(start for start, _ in cut)]), max([last, *(end for _, end in cut)])


def _typical_steps(steps: Sequence[Step], span: int) -> tuple[int, int] | None:
    """Return the range of steps, if the rest takes over a third of the time; else None.

    Leading steps that take over three times the median compile or warm up, so they belong to the rest.
    """
    known = sorted((each["start"], each["end"]) for each in steps if each["step"] != NO_STEP)
    if len(known) < 2:
        return None
    median = sorted(end - first for first, end in known)[(len(known) - 1) // 2]
    later = list(dropwhile(lambda span: span[1] - span[0] > _ATYPICAL * median, known))
    first, last = later[0][0], max(end for _, end in later)
    return (first, last) if 0 < last - first <= _MOST_SHOWN * span else None


def origin_ns(events: pd.DataFrame) -> int:
    """Return the origin of the front end's times in epoch ns: the earliest start, 0 without events."""
    return int(events["start_ns"].iloc[0]) if len(events) else 0


def step_table(trace: Trace, events: pd.DataFrame) -> tuple[list[Step], np.ndarray]:
    """Describe the steps of a trace, and return the position of each event's step in that list."""
    origin, labels = origin_ns(trace.events), trace.step_labels
    steps, position = distinct_places(events["step"].to_numpy())
    spans = trace.steps.set_index("step").loc[steps, ["start_ns", "end_ns", "events"]].to_numpy(np.int64)
    described: list[Step] = [
        {"step": s, "start": a - origin, "end": b - origin, "events": n, "label": labels.get(s, "")}
        for s, (a, b, n) in zip(steps.tolist(), spans.tolist(), strict=True)
    ]
    outside = events[events["step"].to_numpy() == NO_STEP]
    start, duration = (outside[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    marks = duration == 0
    begin, end, mark = np.sort(start[~marks]), np.sort((start + duration)[~marks]), np.sort(start[marks])
    for step, (first, last, _) in zip(described, spans.tolist(), strict=True):
        if step["step"] != NO_STEP:
            step["events"] += int(np.searchsorted(begin, last) - np.searchsorted(end, first, "right"))
            step["events"] += int(np.searchsorted(mark, last, "right") - np.searchsorted(mark, first))
    kinds = step_kinds(trace)
    numbers = dict(zip(kinds.index.tolist(), pd.factorize(kinds.to_numpy(object))[0].tolist(), strict=True))
    for step in described:
        if kind := numbers.get(step["step"], 0):
            step["kind"] = kind
    # A single step cannot be compared.
    busy = busiest_accelerator(trace) if len(steps) > 1 else {}
    for step in described if busy else []:
        ns = busy.get(step["step"], 0)
        if step["step"] != NO_STEP and ns is not None:
            step["device"] = ns
    return described, position


def op_table(events: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Return the op types that occur, and the index of each event's op type."""
    column = events["op"].cat.remove_unused_categories().cat
    ops = [str(op) for op in column.categories]
    codes = column.codes.to_numpy()
    if len(codes) and codes.min() < 0:
        return ["", *ops], codes + 1
    return ops, codes
