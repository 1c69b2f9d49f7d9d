"""Choose by what two recordings are compared: steps of one kind, iterations of a loop, or the recordings."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.difference import SEPARATED
from tfvis_nb.analysis.steps.outside_steps import recorded_span
from tfvis_nb.analysis.steps.slow_steps import FEWEST, named_kinds, step_kinds
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import is_undivided

Unit = Literal["steps", "iterations", "recordings"]

_PHASES = frozenset(("train", "test", "predict"))
"""The kinds of steps that Keras and this package mark. Other names may be two names of the same work."""
_MOST_OF_LOOP = 0.8
"""The smallest part of a recording that an eager loop takes if its iterations are compared."""


class KindOfSteps(Protocol):
    """The steps of one kind in a recording."""

    @property
    def steps(self) -> int:
        """Their number."""

    @property
    def total_ns(self) -> int:
        """The sum of their durations."""


class EagerLoop(NamedTuple):
    """A loop that nothing marks as steps, found by its repeating ops."""

    iterations: int
    """Their number."""
    ops: str
    """A digest of the op types of an iteration; empty for a loop of marked steps."""
    loop_ns: list[int]
    """Times from the start of an iteration to the start of the next, in ns. A first one that runs other ops,
    such as those that create variables, is left out."""


class Repeated(NamedTuple):
    """The repeating parts of a recording."""

    kinds: Mapping[str, KindOfSteps]
    """The steps of each kind; empty if nothing divides the recording into steps."""
    loop: EagerLoop | None


class ComparedUnit(NamedTuple):
    """The parts of two recordings that are compared."""

    unit: Unit
    kinds: tuple[str, str] = ("", "")
    """The kinds of the steps, or of the steps that are compared with a loop."""


def compared_unit(a: Repeated, b: Repeated) -> ComparedUnit:
    """Return what two recordings have in common.

    Of several kinds of steps, such as train and test, it is the one that both sides have and that takes the
    most time. Steps with other names are compared, unless one side trains and the other predicts. An eager
    loop is compared with a loop that runs as often, or that runs the same ops. Anything else is compared as a
    whole.
    """
    if a.kinds and b.kinds:
        if shared := a.kinds.keys() & b.kinds.keys():
            most = max(sorted(shared), key=lambda kind: a.kinds[kind].total_ns + b.kinds[kind].total_ns)
            return ComparedUnit("steps", (most, most))
        if a.kinds.keys() | b.kinds.keys() <= _PHASES:
            return ComparedUnit("recordings")
        return ComparedUnit("steps", (main_kind(a.kinds), main_kind(b.kinds)))
    counts = [one.loop.iterations if one.loop else _main_count(one.kinds) for one in (a, b)]
    same_ops = a.loop and b.loop and a.loop.ops == b.loop.ops
    if (a.loop or b.loop) and (same_ops or counts[0] == counts[1]):
        return ComparedUnit("iterations", (main_kind(a.kinds), main_kind(b.kinds)))
    return ComparedUnit("recordings")


def main_kind(kinds: Mapping[str, KindOfSteps]) -> str:
    """Return the kind that takes the most time; empty without steps."""
    return max(sorted(kinds), key=lambda kind: kinds[kind].total_ns, default="")


def _main_count(kinds: Mapping[str, KindOfSteps]) -> int:
    return kinds[main_kind(kinds)].steps if kinds else 0


def whole_ns(trace: Trace) -> int:
    """Return how long the recording of a trace with events took, in ns.

    If nothing divides it into steps it counts as one step: from the first event to the last.
    """
    start = trace.events["start_ns"].to_numpy(np.int64)
    first, last = int(start[0]), int((start + trace.events["duration_ns"].to_numpy(np.int64)).max())
    if not is_undivided(trace):
        first, last = recorded_span(trace)
    return last - first


@per_trace
def kinds_of_steps(trace: Trace) -> pd.Series:
    """Return the kind of each step, indexed by step. If the steps are of a single kind, all have its name."""
    kinds, names = step_kinds(trace), named_kinds(trace)
    if kinds.any() or names.empty:
        return kinds
    counts = names.value_counts()
    name = counts.index[0] if len(counts) == 1 or counts.iloc[0] >= FEWEST else ""
    return names.mask(names != name, name)


@per_trace
def eager_loop(trace: Trace) -> EagerLoop | None:
    """Return the loop of eager ops that takes most of a recording; None if there is none.

    Python calls the ops of an eager loop one by one, in each iteration the same in the same order. Their
    shortest repetition may also be a layer of a model.
    """
    rows = np.flatnonzero(is_kind(trace.events, "op"))
    if not len(rows):
        return None
    lanes = trace.events["lane"].cat.codes.to_numpy()[rows]
    rows = rows[lanes == np.bincount(lanes + 1).argmax() - 1]
    start = trace.events["start_ns"].to_numpy(np.int64)[rows]
    ops, names = pd.factorize(trace.events["op"].iloc[rows], sort=True)
    end = int(trace.events["start_ns"].iloc[0]) + whole_ns(trace)
    for count, first in _repetitions(ops):
        parts = np.split(ops, first)[1:-1]
        took = np.diff(start[first])
        later = parts[1:]
        # Neither the first iteration, which may create variables and kernels, nor the last one, whose end is
        # unknown, shows how much of the time is outside the loop.
        rest_ns = end - start[first[1]] - np.median(took)
        is_most = took[1:].sum() >= _MOST_OF_LOOP * rest_ns
        is_most &= count * len(later[0]) >= _MOST_OF_LOOP * len(ops)
        if not np.array_equal(parts[0], later[0]):
            took = took[1:]
        if is_most and all(np.array_equal(part, later[0]) for part in later) and not _repeats(later[0]):
            of_iteration = "\n".join(map(str, names[np.sort(later[0])]))
            digest = hashlib.sha256(of_iteration.encode("utf-8", "backslashreplace")).hexdigest()[:16]
            return EagerLoop(count, digest, took.tolist())
    return None


def _repetitions(ops: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield numbers of iterations, largest first, with the first of the rarest ops of each iteration.

    The distances between these are equal, but for the first iteration.
    """
    total = np.bincount(ops + 1)[1:]
    counts = {
        int(one) // by
        for one in np.unique(total)
        for by in range(1, int(one) // SEPARATED + 1)
        if one % by == 0
    }
    for count in sorted(counts, reverse=True):
        fit = np.flatnonzero((total > 0) & (total % count == 0))
        rarest = fit[total[fit].argmin()]
        first = np.flatnonzero(ops == rarest)[:: total[rarest] // count]
        if (np.diff(first)[1:] == first[-1] - first[-2]).all():
            yield count, first


def _repeats(ops: np.ndarray) -> bool:
    """Return whether ops repeat a shorter list of ops."""
    shorter = (size for size in range(1, len(ops) // 2 + 1) if len(ops) % size == 0)
    return any(np.array_equal(ops[size:], ops[:-size]) for size in shorter)
