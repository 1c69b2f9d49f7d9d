"""The line of Python that runs while a step does nothing of TensorFlow."""

from collections import Counter
from collections.abc import Collection

import numpy as np

from tfvis_nb.analysis.source.python_samples import SampledLine, sampled_line
from tfvis_nb.analysis.steps.breakdown import activity_times
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.trace import Trace

_IDLE = ("none", "preprocessing")
"""Activities during which the thread that runs the steps does nothing of TensorFlow."""


def idle_python(trace: Trace, task: str, steps: Collection[int]) -> tuple[SampledLine | None, bool]:
    """Return the line with the most samples while a step is idle, and whether it calls the step.

    A line that also has the most samples while TensorFlow runs is the call of the step. Without such samples
    it is one through which the ops were built. None if no line was sampled.
    """
    times = activity_times(trace)
    whole = (times["device"].astype(str) == "") & (times["task"].astype(str) == task)
    times = times[whole & times["step"].isin(steps)].sort_values("start_ns")
    idle, busy = (
        sampled_line(trace, start, start + part["duration_ns"].to_numpy(np.int64), task)
        for part in (times[times["activity"].isin(_IDLE)], times[~times["activity"].isin(_IDLE)])
        for start in [part["start_ns"].to_numpy(np.int64)]
    )
    if idle is None:
        return None, False
    return idle, busy.line == idle.line if busy is not None else idle.line in _calling(trace, steps)


def _calling(trace: Trace, steps: Collection[int]) -> set[str]:
    """Return the lines that the stacks of most ops in steps have as callers of other own lines."""
    if trace.stacks is None:
        return set()
    rows = np.flatnonzero(is_kind(trace.events, "op") & trace.events["step"].isin(steps).to_numpy())
    stacks, counts = np.unique(event_stacks(trace)[rows], return_counts=True)
    lines: Counter[str] = Counter()
    for stack, count in zip(stacks.tolist(), counts.tolist(), strict=True):
        own = [f"{frame.file}:{frame.line}" for frame in trace.stacks.frames_of(stack) if frame.own]
        lines.update(dict.fromkeys(own[1:], count))
    return {line for line, count in lines.items() if 2 * count > counts.sum()}
