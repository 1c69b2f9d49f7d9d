"""The steps of a side of a comparison, from one or several recordings."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis.steps.compared_unit import (
    EagerLoop,
    Repeated,
    Unit,
    compared_unit,
    eager_loop,
    kinds_of_steps,
    whole_ns,
)
from tfvis_nb.analysis.steps.difference import typical
from tfvis_nb.analysis.steps.other_steps import is_set_apart
from tfvis_nb.analysis.steps.slow_steps import kind_label, slow_first_step
from tfvis_nb.analysis.steps.whole_recordings import Whole, whole_of_loop
from tfvis_nb.clocks.shift import moved_later
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import is_undivided
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
    wholes_ns: list[int]
    """How long each recording took."""
    is_undivided: bool
    """Whether nothing divides the recordings into steps."""
    unit: Unit = "steps"
    """By what both sides are compared."""
    of_kind: np.ndarray | None = None
    """The compared steps of a kind; None for all steps, empty if no steps are compared."""
    kind: str = ""
    """The name of that kind and a space, if there are several kinds."""
    loop: EagerLoop | None = None
    """The loop whose iterations are compared."""

    @property
    def is_without_steps(self) -> bool:
        """Whether nothing divides the recordings, or no event belongs to a step."""
        return self.is_undivided or not (self.trace.steps["step"] != event_table.NO_STEP).any()

    @property
    def unit_count(self) -> int:
        """The number of steps, iterations or recordings, at least 1."""
        if self.loop is not None:
            return self.loop.iterations
        if self.unit == "recordings":
            return max(len(self.wholes_ns), 1)
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
        steps = self._steps()
        if self.numbers is not None:
            steps = steps[steps["step"].isin(self.numbers)]
        return steps["duration_ns"].to_numpy(np.int64)

    def loops(self) -> list[np.ndarray]:
        """Return the times from the start of each repeated step or iteration to that of the next one, in ns.

        Steps of other kinds are part of them. The last step of a recording has none.
        """
        if self.loop is not None:
            return [np.array(self.loop.loop_ns, np.int64)]
        steps = self._steps()
        steps = steps.sort_values("start_ns", kind="stable")
        number, start = (steps[name].to_numpy(np.int64) for name in ("step", "start_ns"))
        first = np.searchsorted(self.firsts, number, "right")
        is_followed = first[1:] == first[:-1]
        number, loop = number[:-1][is_followed], np.diff(start)[is_followed]
        return [loop[np.isin(number, own)] for own in self.recordings]

    def whole(self) -> Whole:
        """Return the time of a typical recording, and of its compared steps."""
        whole_ns, recordings = typical(np.array(self.wholes_ns)), max(len(self.wholes_ns), 1)
        if self.loop is not None:
            return whole_of_loop(whole_ns, self.loop)
        took = self.all_durations()
        return Whole(whole_ns, int(took.sum()) / recordings, len(took) // recordings)

    def _steps(self) -> pd.DataFrame:
        steps = self.trace.steps[self.trace.steps["step"] != event_table.NO_STEP]
        return steps if self.of_kind is None else steps[steps["step"].isin(self.of_kind)]

    def only(self, steps: np.ndarray) -> "ComparedSteps":
        """Return this side with some of its steps."""
        recordings = [own[np.isin(own, steps)] for own in self.recordings]
        return self._replace(recordings=recordings, of_kind=steps)


Side = Trace | Iterable[Trace] | ComparedSteps
"""A side of a comparison as given by callers."""


def compared_pair(a: Side, b: Side, steps: Any, function: str = "compare") -> list[ComparedSteps]:
    """Return the steps of both sides; errors as in `compared_steps`, and TypeError if `steps` is not a pair.

    By what they are compared is chosen by `compared_unit`. Chosen steps are of any kind.

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
    sides = [compared_steps(side, numbers, function) for side, numbers in zip((a, b), pair, strict=True)]
    return _of_one_unit(sides) if all(side.numbers is None for side in sides) else sides


def _of_one_unit(sides: list[ComparedSteps]) -> list[ComparedSteps]:
    unit, kinds = compared_unit(*map(_repeated, sides))
    have_several = any(len(_repeated(side).kinds) > 1 for side in sides)
    of_kind = [
        side.only(own.index[own == kind].to_numpy(np.int64))._replace(
            kind=kind_label(kind) if have_several else ""
        )
        for side, kind in zip(sides, kinds, strict=True)
        for own in [kinds_of_steps(side.trace)]
    ]
    if unit == "steps":
        return of_kind
    none = [side.only(np.empty(0, np.int64))._replace(unit=unit) for side in sides]
    if unit == "recordings":
        return none
    return [side._replace(loop=_loop(steps)) for side, steps in zip(none, of_kind, strict=True)]


class _Steps(NamedTuple):
    steps: int
    total_ns: int


def _repeated(side: ComparedSteps) -> Repeated:
    if side.is_undivided:
        return Repeated({}, eager_loop(side.trace) if len(side.recordings) == 1 else None)
    steps = side.trace.steps
    steps = steps[steps["step"] != event_table.NO_STEP]
    took = steps["duration_ns"].groupby(kinds_of_steps(side.trace).to_numpy(object))
    return Repeated({str(kind): _Steps(len(own), int(own.sum())) for kind, own in took}, None)


def _loop(side: ComparedSteps) -> EagerLoop | None:
    """Return the loop of a side: of eager ops, or of marked steps."""
    if side.is_undivided:
        return eager_loop(side.trace)
    steps = 0 if side.of_kind is None else len(side.of_kind)
    return EagerLoop(steps, "", np.concatenate(side.loops()).tolist())


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
    >>> side.unit_count, [steps.tolist() for steps in side.recordings]
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
    wholes = [whole_ns(trace) for trace in traces if len(trace.events)]
    return ComparedSteps(whole, numbers, recordings, firsts, wholes, all(map(is_undivided, traces)))


def _in_turn(traces: list[Trace]) -> list[Trace]:
    """Return traces that do not start before the end of the previous one."""
    moved: list[Trace] = []
    end = 0
    for trace in traces:
        start = trace.events["start_ns"].to_numpy(np.int64)
        by = 0
        if len(start):
            by = max(end - int(start[0]), 0) if moved else 0
            end = by + int((start + trace.events["duration_ns"].to_numpy(np.int64)).max())
        moved.append(moved_later(trace, by) if by else trace)
    return moved
