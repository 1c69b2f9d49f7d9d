"""The steps of a side of a comparison, from one or several recordings."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis.steps.op_statistics import of_steps
from tfvis_nb.analysis.steps.other_steps import is_set_apart
from tfvis_nb.analysis.steps.slow_steps import slow_first_step
from tfvis_nb.clocks.shift import moved_later
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.concat import concatenate, first_steps
from tfvis_nb.texts import Text

Steps = int | Collection[int] | None
"""The steps of a trace: one, several, or None for all."""


class ComparedSteps(NamedTuple):
    """A side of a comparison."""

    trace: Trace
    """All recordings as one trace."""
    numbers: list[int] | None
    """The chosen steps in order; None for all events, including those outside steps."""
    recordings: list[np.ndarray]
    """The steps of each recording that repeat each other, without a first step that is set apart."""
    firsts: list[int]
    """The number of the first step of each recording."""

    @property
    def step_count(self) -> int:
        """The number of steps, at least 1."""
        steps = self.trace.steps["step"]
        return max(
            int((steps != event_table.NO_STEP).sum()) if self.numbers is None else len(self.numbers), 1
        )

    @property
    def repeats(self) -> bool:
        """Whether there are enough steps to show their variation: two or more."""
        return sum(map(len, self.recordings)) > 1

    def durations(self) -> list[np.ndarray]:
        """Return the durations of the repeated steps of each recording, in ns."""
        duration = self.trace.steps.set_index("step")["duration_ns"]
        return [duration.loc[steps].to_numpy(np.int64) for steps in self.recordings]

    def all_durations(self) -> np.ndarray:
        """Return the durations of all compared steps, also of first ones that are set apart, in ns."""
        steps = self.trace.steps[self.trace.steps["step"] != event_table.NO_STEP]
        if self.numbers is not None:
            steps = steps[steps["step"].isin(self.numbers)]
        return steps["duration_ns"].to_numpy(np.int64)

    def loops(self) -> list[np.ndarray]:
        """Return the times from the start of each repeated step to the start of the next one, in ns.

        The last step of a recording has none.
        """
        steps = self.trace.steps[self.trace.steps["step"] != event_table.NO_STEP]
        steps = steps.sort_values("start_ns", kind="stable")
        number, start = (steps[name].to_numpy(np.int64) for name in ("step", "start_ns"))
        first = np.searchsorted(self.firsts, number, "right")
        is_followed = first[1:] == first[:-1]
        number, loop = number[:-1][is_followed], np.diff(start)[is_followed]
        return [loop[np.isin(number, own)] for own in self.recordings]


Side = Trace | Iterable[Trace] | ComparedSteps
"""A side of a comparison as given by callers."""


def compared_pair(a: Side, b: Side, steps: Any, function: str = "compare") -> list[ComparedSteps]:
    """Return the steps of both sides; errors as in `compared_steps`, and TypeError if `steps` is not a pair.

    Examples
    --------
    >>> from tfvis_nb import events
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 7], "kind": ["op"] * 2, "step": [0, 1]})
    >>> [side.numbers for side in compared_pair(Trace(table), Trace(table), (1, None))]
    [[1], None]
    """
    pair = [*steps] if isinstance(steps, Iterable) and not isinstance(steps, str) else []
    if len(pair) != 2:
        raise TypeError(Text("steps_no_pair", steps=steps))
    return [compared_steps(side, numbers, function) for side, numbers in zip((a, b), pair, strict=True)]


def compared_steps(side: Side, steps: Steps = None, function: str = "compare") -> ComparedSteps:
    """Return the steps of a trace, or of several that repeat each other, such as those of a session.

    The first step of a recording is set apart as in the overview. Recordings that overlap in time are placed
    one after the other.

    Raises
    ------
    TypeError
        If it is neither a trace nor several (the message names the `function`), or `steps` has no numbers.
    ValueError
        If there is no trace, `steps` is empty, or a step in it does not exist.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 7], "kind": ["op"] * 2, "step": [0, 1]})
    >>> side = compared_steps([Trace(table), Trace(table)])
    >>> side.step_count, [steps.tolist() for steps in side.recordings]
    (4, [[0, 1], [2, 3]])
    """
    if isinstance(side, ComparedSteps):
        return side
    given: Any = side
    is_several = isinstance(given, Iterable) and not isinstance(given, (str, bytes, pd.DataFrame))
    traces = [*given] if is_several else [given]
    strange = [type(trace).__name__ for trace in traces if not isinstance(trace, Trace)]
    if strange:
        raise TypeError(Text("no_trace", function=function, given=strange[0]))
    if not traces:
        raise ValueError(Text("no_traces_to_compare"))
    whole = traces[0] if len(traces) == 1 else concatenate(_in_turn(traces), traces[0].title)
    numbers = None
    if steps is not None:
        chosen: Any = [steps] if isinstance(steps, (int, np.integer)) else steps
        if isinstance(chosen, str) or not isinstance(chosen, Iterable):
            raise TypeError(Text("steps_no_list", steps=chosen))
        numbers = sorted(set(chosen))
        of_steps(whole, numbers)
        if not numbers:
            raise ValueError(Text("steps_empty"))
    recordings = []
    firsts = [*first_steps(traces)]
    for trace, first in zip(traces, firsts, strict=True):
        own = trace.steps["step"].to_numpy(np.int64)
        start = slow_first_step(trace)
        apart = start.step if start is not None and is_set_apart(start._asdict()) else event_table.NO_STEP
        own = own[(own != event_table.NO_STEP) & (own != apart)] + first
        recordings.append(own if numbers is None else own[np.isin(own, numbers)])
    return ComparedSteps(whole, numbers, recordings, firsts)


def _in_turn(traces: list[Trace]) -> list[Trace]:
    """Return traces that do not start before the end of the previous one."""
    found: list[Trace] = []
    end = 0
    for trace in traces:
        start = trace.events["start_ns"].to_numpy(np.int64)
        by = 0
        if len(start):
            by = max(end - int(start[0]), 0) if found else 0
            end = by + int((start + trace.events["duration_ns"].to_numpy(np.int64)).max())
        found.append(moved_later(trace, by) if by else trace)
    return found
