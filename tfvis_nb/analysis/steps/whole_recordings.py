"""Whole recordings whose times contradict those of their steps, and by how much they differ."""

import math
from typing import Literal, NamedTuple

import numpy as np

from tfvis_nb.analysis.steps.compared_unit import EagerLoop
from tfvis_nb.analysis.steps.difference import LEAST_PART, Difference, typical
from tfvis_nb.analysis.steps.difference_text import times_text
from tfvis_nb.texts import Text

_COUNTS = {"steps": "comparison_with_steps", "iterations": "comparison_with_iterations"}


class Whole(NamedTuple):
    """A whole recording and its compared steps, or iterations."""

    whole_ns: float
    steps_ns: float
    """The time of all these steps."""
    steps: int
    """Their number."""
    unit: Literal["steps", "iterations"] = "steps"


def whole_of_loop(whole_ns: float, loop: EagerLoop) -> Whole:
    """Return the time of a recording, and of the iterations of its loop."""
    return Whole(whole_ns, typical(np.array(loop.loop_ns)) * loop.iterations, loop.iterations, "iterations")


def whole_text(found: Difference, a: Whole, b: Whole) -> Text | None:
    """State how long the recordings are if that contradicts the difference of their steps; None otherwise.

    It does if they differ in the other direction, or hardly at all. Recordings whose steps show no clear
    difference have to differ by more than all steps of one take.

    >>> from tfvis_nb.analysis.steps.difference import difference
    >>> shorter = difference([900, 910, 905, 890, 900], [300, 310, 305, 290, 300])
    >>> found = whole_text(shorter, Whole(9e9, 4.5e9, 5), Whole(12e9, 1.5e9, 5))
    >>> str(found)
    'But the whole recording takes 12.0 s instead of 9.00 s, 33 % longer.'
    >>> str(whole_text(shorter, Whole(9e9, 4.5e9, 5), Whole(12e9, 3e9, 10))).removeprefix(str(found)[:-1])
    ', with 10 steps instead of 5.'
    >>> whole_text(shorter, Whole(9e9, 4.5e9, 5), Whole(6e9, 1.5e9, 5)) is None
    True
    """
    if not (a.whole_ns > 0 and b.whole_ns > 0):
        return None
    change = math.log(b.whole_ns / a.whole_ns)
    if found.shown:
        if found.ratio <= 0 or change / math.log(found.ratio) >= LEAST_PART:
            return None
    elif abs(b.whole_ns - a.whole_ns) <= min(a.steps_ns, b.steps_ns):
        return None
    counts = Text(_COUNTS[b.unit], a=a.steps, b=b.steps) if a.steps != b.steps else ""
    return Text("comparison_whole", **times_text(a.whole_ns, b.whole_ns), counts=counts)
