"""The steps of a side of a comparison, from one or several recordings."""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis.steps.difference import SEPARATED
from tfvis_nb.analysis.steps.other_steps import is_set_apart
from tfvis_nb.analysis.steps.slow_steps import main_steps, named_kinds, slow_first_step, step_kinds
from tfvis_nb.clocks.shift import moved_later
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import is_undivided
from tfvis_nb.reading.concat import concatenate, first_steps
from tfvis_nb.texts import Text

Steps = int | Collection[int] | None
"""The steps of a trace: one, several, or None for all."""
_PHASES = frozenset(("train", "test", "predict"))
"""The kinds of steps that Keras and this package mark. Other names may be two names of the same work."""


_MOST_OF_LOOP = 0.8
"""The smallest part of a recording that an eager loop takes if its iterations are compared."""


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
    of_kind: np.ndarray | None = None
    """The steps of the kind that both sides have; empty if they have none, None for all steps."""

    iterations: list[np.ndarray] | None = None
    """The times of a loop's iterations, in ns, if nothing divides a side into steps but its ops repeat."""

    @property
    def are_unlike(self) -> bool:
        """Whether no step of the other side does the same work."""
        return self.of_kind is not None and not len(self.of_kind)

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
        steps = self._steps()
        if self.numbers is not None:
            steps = steps[steps["step"].isin(self.numbers)]
        return steps["duration_ns"].to_numpy(np.int64)

    def loops(self) -> list[np.ndarray]:
        """Return the times from the start of each repeated step to the start of the next one, in ns.

        Steps of other kinds are part of them. The last step of a recording has none.
        """
        if self.iterations is not None:
            return self.iterations
        steps = self._steps()
        steps = steps.sort_values("start_ns", kind="stable")
        number, start = (steps[name].to_numpy(np.int64) for name in ("step", "start_ns"))
        first = np.searchsorted(self.firsts, number, "right")
        is_followed = first[1:] == first[:-1]
        number, loop = number[:-1][is_followed], np.diff(start)[is_followed]
        return [loop[np.isin(number, own)] for own in self.recordings]

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

    Of several kinds of steps, such as train and test, they are of the one that both sides have and that takes
    the most time. There are none if one side trains and the other predicts, or if nothing divides one of
    them into steps. If that one is a loop of eager ops, its iterations are compared with the loops of the
    other. Chosen steps are of any kind.

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
    return _of_one_kind(sides) if all(side.numbers is None for side in sides) else sides


def _of_one_kind(sides: list[ComparedSteps]) -> list[ComparedSteps]:
    kinds = [named_kinds(side.trace) for side in sides]
    whole = [is_undivided(side.trace) for side in sides]
    is_unlike = whole[0] != whole[1] and sides[whole[0]].repeats
    first, second = map(frozenset, kinds)
    if not (is_unlike or first & second):
        is_unlike = bool(first and second) and first | second <= _PHASES
    if is_unlike:
        none = [side.only(np.empty(0, np.int64)) for side in sides]
        if whole[0] == whole[1]:
            return none
        divided = sides[whole[0]]
        steps = main_steps(divided.trace)["step"].to_numpy(np.int64)
        repeated = _iterations(sides[whole[1]].trace, len(steps))
        if len(divided.recordings) > 1 or not len(repeated):
            return none
        iterations = [divided.only(steps).loops(), [repeated]]
        return [side._replace(iterations=iterations[own]) for side, own in zip(none, whole, strict=True)]
    if not first & second or not any(step_kinds(side.trace).any() for side in sides):
        return sides
    took = pd.concat(
        [
            side.trace.steps.set_index("step")["duration_ns"].loc[own.index].groupby(own.to_numpy()).sum()
            for side, own in zip(sides, kinds, strict=True)
        ]
    )
    most = took[took.index.isin(first & second)].groupby(level=0).sum().idxmax()
    return [side.only(own.index[own == most].to_numpy()) for side, own in zip(sides, kinds, strict=True)]


def _iterations(trace: Trace, count: int) -> np.ndarray:
    """Return the times of a loop's iterations but the last, in ns; none if it does not repeat `count` times.

    Python calls the ops of an eager loop one by one, in each iteration the same in the same order. Their
    shortest repetition may be a layer, or an iteration of a loop of another length. So it counts only if it
    repeats as often as the other side has steps, and takes most of the recording.
    """
    rows = np.flatnonzero(is_kind(trace.events, "op"))
    lanes = trace.events["lane"].cat.codes.to_numpy()[rows]
    if count < SEPARATED or not len(rows):
        return np.empty(0, np.int64)
    rows = rows[lanes == np.bincount(lanes + 1).argmax() - 1]
    start = trace.events["start_ns"].to_numpy(np.int64)[rows]
    ops = pd.factorize(trace.events["op"].iloc[rows])[0]
    total = np.bincount(ops + 1)[1:]
    fit = np.flatnonzero((total > 0) & (total % count == 0))
    if not len(fit):
        return np.empty(0, np.int64)
    rarest = fit[total[fit].argmin()]
    first = np.flatnonzero(ops == rarest)[:: total[rarest] // count]
    parts = np.split(ops, first)[1:-1]
    length = len(parts[0])
    shorter = [size for size in range(1, length // 2 + 1) if length % size == 0]
    repeats = any(np.array_equal(parts[0][size:], parts[0][:-size]) for size in shorter)
    took = np.diff(start[first])
    is_most = int(took.sum()) >= _MOST_OF_LOOP * (
        int(trace.steps["duration_ns"].max()) - int(np.median(took))
    )
    same = all(np.array_equal(part, parts[0]) for part in parts)
    return took if same and is_most and not repeats else np.empty(0, np.int64)


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
