"""Work between the steps: an evaluation, eager ops, lines of Python, input, or only the call of the steps."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.findings.finding import step_times
from tfvis_nb.analysis.findings.host_compute import EAGER_OPS, MEAN_NS
from tfvis_nb.analysis.findings.python_work import is_eager_op
from tfvis_nb.analysis.input.shuffle_fills import shuffle_fills
from tfvis_nb.analysis.source.calling_thread import calling_thread
from tfvis_nb.analysis.source.lock_waits import lock_waits
from tfvis_nb.analysis.source.python_samples import SampledLine, mostly_at, sampled_figures, sampled_lines
from tfvis_nb.analysis.steps.slow_steps import named_kinds
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.intervals import lengths, overlap, priority_union, union
from tfvis_nb.core.metadata import PYTHON_SAMPLES
from tfvis_nb.core.stacks import event_lines
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

HOOK = re.compile(r"on_(?:(?P<kind>train|test|predict)_)?batch_(?:begin|end)")
"""Methods of a Keras callback that run in each batch."""
_MOST_LINES = 2
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


def other_lines(figures: Mapping[str, Any], named: str) -> str:
    """Name the lines other than the `named` one that have a notable part of the samples of a loop's pauses.

    >>> others = [{"line": "train.py:9", "share": 0.3}]
    >>> other_lines({"line": "train.py:7", "line_share": 0.6, "next_lines": others}, "train.py:7")
    ' Other samples are at train.py:9 (30.0 %).'
    """
    first = {"line": figures["line"], "share": figures["line_share"]}
    lines = [one for one in (first, *figures.get("next_lines", ())) if one["line"] not in ("", named)]
    places = [f"{one['line']} ({format_percent(one['share'])})" for one in lines[:_MOST_LINES]]
    return f" Other samples are at {' and '.join(places)}." if places else ""


def within(trace: Trace, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return a mask of the events outside steps that start within one of these time ranges."""
    began = trace.events["start_ns"].to_numpy(np.int64)
    at = np.searchsorted(start, began, "right") - 1
    mask: np.ndarray = (at >= 0) & (began < end[at]) & (trace.events["step"] == NO_STEP).to_numpy()
    return mask


def lines_between(trace: Trace, start: np.ndarray, end: np.ndarray) -> list[SampledLine]:
    """Return the lines that run in pauses, apart from waits for input and for the lock."""
    if PYTHON_SAMPLES not in trace.metadata:
        return []
    thread = calling_thread(trace, np.ones(len(trace.events), bool))
    waiting = trace.events.iloc[thread[activity(trace)[thread] == NUMBER["input"]]]
    begins = waiting["start_ns"].to_numpy(np.int64)
    waits = [(begins, begins + waiting["duration_ns"].to_numpy(np.int64))]
    waits += [(one.start, one.end) for one in lock_waits(trace).values()]
    starts, ends = (np.concatenate(times) for times in zip((start, end), *waits, strict=True))
    level = np.where(np.arange(len(starts)) < len(start), 1, 2)
    parts = priority_union(np.zeros(len(starts), np.int64), starts, ends, level)
    parts = parts.take(parts.level == 1)
    return sampled_lines(trace, parts.start, parts.end)


def longest_op(trace: Trace, chosen: np.ndarray, start: np.ndarray, end: np.ndarray) -> dict[str, Any] | None:
    """Return the name with the most self time among events, as far as it lies within stretches."""
    own, known = self_times_of(trace)
    rows = np.flatnonzero(chosen & known)
    if not len(rows):
        return None
    began = trace.events["start_ns"].to_numpy(np.int64)[rows]
    until = began + trace.events["duration_ns"].to_numpy(np.int64)[rows]
    at = np.clip(np.searchsorted(start, began, "right") - 1, 0, None)
    inside = np.clip(np.minimum(until, end[at]) - np.maximum(began, start[at]), 0, own[rows])
    sums = trace.events["name"].iloc[rows].astype(object).to_frame("name").assign(self_ns=inside)
    total = sums.groupby("name")["self_ns"].sum()
    return {"name": str(total.idxmax()), "self_ns": int(total.max())}


def line_of_op(trace: Trace, chosen: np.ndarray, op: dict[str, Any] | None) -> str:
    """Return the line of the user's code with the most time of the events of a name; empty if unknown."""
    if op is None:
        return ""
    rows = np.flatnonzero(chosen & (trace.events["name"] == op["name"]).to_numpy(bool))
    lines = pd.Series(event_lines(trace, rows))
    own = pd.Series(self_times_of(trace)[0][rows])
    return str(own.groupby(lines).sum().idxmax()) if len(rows) else ""


def input_outside(trace: Trace) -> int:
    """Return the time outside steps in which any thread waits for input, but not for a shuffle buffer."""
    steps = trace.steps[trace.steps["step"] != NO_STEP]
    events = trace.events[(activity(trace) == NUMBER["input"]) & (trace.events["step"] == NO_STEP).to_numpy()]
    start, waited = steps["start_ns"].to_numpy(np.int64), events["start_ns"].to_numpy(np.int64)
    end = steps["end_ns"].to_numpy(np.int64)
    both = np.append(start, waited), np.append(end, waited + events["duration_ns"].to_numpy(np.int64))
    covered, in_steps = (
        int(lengths(union(np.zeros(len(begins), np.int64), begins, ends), 1, 2)[0, 1])
        for begins, ends in (both, (start, end))
    )
    return covered - in_steps - filling_outside(trace)


def input_within(trace: Trace, start: np.ndarray, end: np.ndarray) -> int:
    """Return the part of pauses in which any thread waits for input; the first wait precedes the loop."""
    events = trace.events[(activity(trace) == NUMBER["input"]) & (trace.events["step"] == NO_STEP).to_numpy()]
    begins = events["start_ns"].to_numpy(np.int64)
    ends = begins + events["duration_ns"].to_numpy(np.int64)
    waits = union(np.zeros(len(begins), np.int64), begins, ends)
    return int(overlap(waits, np.zeros(len(start), np.int64), start, end).sum())


def filling_outside(trace: Trace) -> int:
    """Return the wait outside steps for a shuffle buffer, which has a finding of its own."""
    fills = shuffle_fills(trace)
    return fills.outside_ns if fills is not None and fills.is_long else 0
