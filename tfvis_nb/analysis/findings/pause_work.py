"""Work between the steps: an evaluation, eager ops, or only the call of the steps."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.finding import step_times
from tfvis_nb.analysis.findings.host_compute import EAGER_OPS, MEAN_NS
from tfvis_nb.analysis.findings.python_work import is_eager_op
from tfvis_nb.analysis.source.python_samples import SampledLine, mostly_at, sampled_figures
from tfvis_nb.analysis.steps.slow_steps import named_kinds
from tfvis_nb.core.stacks import event_lines
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

HOOK = re.compile(r"on_(?:(?P<kind>train|test|predict)_)?batch_(?:begin|end)")
"""Methods of a Keras callback that run in each batch."""
_MOST = 0.5
"""An evaluation with at least this share of the time is most of the loop."""


class Evaluation(NamedTuple):
    """Steps that evaluate a model between those that train it."""

    after: pd.DataFrame
    """The steps that train it."""
    steps: int
    ns: int


def evaluation_of(trace: Trace) -> Evaluation | None:
    """Return the evaluation that takes half of the time from the first training step to the last, or more."""
    steps, kinds = step_times(trace).reset_index(), named_kinds(trace).to_numpy()
    after = steps[kinds == "train"]
    start, end = after["start_ns"].min(), after["end_ns"].max()
    tests = steps[(kinds == "test") & (steps["start_ns"] >= start) & (steps["end_ns"] <= end)]
    took = int(tests["duration_ns"].sum())
    if after.empty or took < _MOST * int(end - start):
        return None
    return Evaluation(after, len(tests), took)


def eager_ops(trace: Trace, start: np.ndarray, end: np.ndarray, sampled: SampledLine | None) -> int:
    """Return how many ops the line that runs most calls one by one in pauses; 0 if it does more than that."""
    if sampled is None:
        return 0
    ops = within(trace, start, end) & is_eager_op(trace)
    count = int((event_lines(trace, ops) == sampled.line).sum())
    is_calling = int((end - start).sum()) <= MEAN_NS.value * count
    return count if is_calling and count >= EAGER_OPS.value * len(start) else 0


def is_of_call(trace: Trace, sampled: SampledLine | None, program: str) -> bool:
    """Return whether a line may only call the steps: it calls ops of steps as well.

    In ``model.fit`` that is Python of Keras itself. Of other lines, most samples show that they do more.
    """
    if sampled is None or HOOK.fullmatch(sampled.function):
        return False
    if program != "keras" and mostly_at(sampled_figures(sampled)):
        return False
    eager = is_eager_op(trace) & (trace.events["step"] != NO_STEP).to_numpy()
    return sampled.line in event_lines(trace, eager)


def within(trace: Trace, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return a mask of the events outside steps that start within one of these time ranges."""
    began = trace.events["start_ns"].to_numpy(np.int64)
    at = np.searchsorted(start, began, "right") - 1
    mask: np.ndarray = (at >= 0) & (began < end[at]) & (trace.events["step"] == NO_STEP).to_numpy()
    return mask
