"""One side of a comparison: a trace, or one step of it as a separate trace."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.compared_steps import ComparedSteps, Side, compared_steps
from tfvis_nb.analysis.subset import beside_steps, edges_in_steps, no_such_step, subset
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace, replaced
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_LONGEST_LABEL = 60
_EARLIEST = pd.Timestamp("2001-01-01").value
"""Smaller times do not count from 1970."""


class Compared(NamedTuple):
    """A side of a comparison."""

    steps: ComparedSteps  # Steps used for the figures
    step: int | None  # The number of the compared step; None for the whole trace
    shown: Trace  # The trace in the timeline, starting with its first event
    ids: np.ndarray  # The event id in `trace` of each event in `shown`, in order
    title: str  # Name

    @property
    def trace(self) -> Trace:
        """The trace used for the figures."""
        return self.steps.trace

    @property
    def span_ns(self) -> int:
        """The time from the first start to the last end of the shown events, even if long pauses are cut."""
        events = compress_gaps(self.shown).events
        if events.empty:
            return 0
        return int((events["start_ns"] + events["duration_ns"]).max()) - int(events["start_ns"].iloc[0])

    def shown_ids(self, events: np.ndarray) -> np.ndarray:
        """Return the shown ids of the trace's events; -1 for events that are not shown."""
        index = np.minimum(np.searchsorted(self.ids, events), max(len(self.ids) - 1, 0))
        if not len(self.ids):
            return np.full(len(events), -1)
        indices: np.ndarray = np.where(self.ids[index] == events, index, -1)
        return indices


def highest_memory(sides: Iterable[Compared]) -> dict[str, int]:
    """Return the most bytes allocated by each allocator on any side, by task, a tab, and allocator.

    Both curves then have the same scale.
    """
    highest: dict[str, int] = {}
    for side in sides:
        groups = side.shown.memory.groupby(["task", "allocator"], observed=True)
        for task, allocator, size in groups["bytes"].max().reset_index().itertuples(index=False, name=None):
            where = f"{task}\t{allocator}"
            highest[where] = max(highest.get(where, 0), int(size))
    return highest


def distinct_names(a: Trace, b: Trace) -> list[str]:
    """Return the titles of two traces; to equal ones add the ends of their paths, or else start times."""
    titles = [a.title, b.title]
    if a.title == b.title:
        for ends in (_path_ends(a, b), _start_times(a, b)):
            if len({*ends}) == 2:
                return [end if end.endswith(a.title) else f"{a.title} ({end})" for end in ends]
    return titles


def _path_ends(a: Trace, b: Trace) -> list[str]:
    """Return the shortest ends of both paths that differ; empty if they do not."""
    paths = [PurePath(trace.read_from).parts for trace in (a, b)]
    for length in range(1, max(map(len, paths)) + 1):
        ends = [PurePath(*parts[-length:]).as_posix() for parts in paths]
        if all(paths) and ends[0] != ends[1]:
            return ends
    return []


def _start_times(a: Trace, b: Trace) -> list[str]:
    """Return when both start, if that is known; with the day if these differ."""
    if any(trace.events.empty or trace.events["start_ns"].iloc[0] < _EARLIEST for trace in (a, b)):
        return []
    times = [pd.Timestamp(trace.events["start_ns"].iloc[0], tz="UTC") for trace in (a, b)]
    day = "" if times[0].date() == times[1].date() else "%Y-%m-%d "
    return [time.strftime(f"{day}%H:%M:%S UTC") for time in times]


def compared(source: Side, step: int | None, title: str | None = None, name: str | None = None) -> Compared:
    """Make a side of a comparison from a trace or one of its steps; ValueError if there is no such step.

    By default the title is the `name` of the trace and the step. Several traces are shown as one. Events
    outside any step that start and end during it, such as copies and events of the input pipeline, are shown
    with those of the step; a note states their number.
    """
    whole = compared_steps(source)
    trace = whole.trace
    name = trace.title if name is None else name
    if step is None:
        return Compared(whole, None, trace, np.arange(len(trace.events)), name if title is None else title)
    steps = trace.steps[trace.steps["step"] == step]
    if step == NO_STEP or steps.empty:
        raise ValueError(no_such_step(trace, step))
    loose = beside_steps(trace, steps)
    ids = np.flatnonzero((trace.events["step"].to_numpy() == step) | loose)
    shown = subset(trace, ids, edges_in_steps(trace, np.array([step])))
    # Events outside any step belong to this single step here.
    shown = _of_one_step(shown, step, trace.step_labels.get(step, ""), int(loose.sum()))
    of_step = compared_steps(trace, step)
    return Compared(of_step, step, shown, ids, _step_label(trace, step, name) if title is None else title)


def _of_one_step(part: Trace, step: int, label: str, loose: int) -> Trace:
    """Return a part with all its events in one step, and notes about them."""
    notes = [Text("loose_events_shown", events=loose)] if loose else []
    events = part.events.assign(step=np.full(len(part.events), step, np.int32))
    labels = {step: label} if label else {}
    whole = replaced(part, events, notes=[*part.notes, *notes], step_labels=labels)
    known = ("edges", "transfers", "collective_waits")
    whole.__dict__.update({name: part.__dict__[name] for name in known if name in part.__dict__})
    return whole


def _step_label(trace: Trace, step: int, name: str) -> str:
    label = printable(trace.step_labels.get(step, ""), _LONGEST_LABEL)
    called = f"step {step} ({label})" if label else f"step {step}"
    return f"{called} of {name}" if name else called
