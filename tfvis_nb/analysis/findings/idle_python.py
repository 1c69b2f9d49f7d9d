"""The line of Python that runs while nothing of TensorFlow does, in chosen steps."""

from collections.abc import Collection

import numpy as np

from tfvis_nb.analysis.source.python_samples import SampledLine, sampled_line
from tfvis_nb.analysis.steps.breakdown import activity_times
from tfvis_nb.core.trace import Trace


def idle_python(trace: Trace, task: str, steps: Collection[int]) -> tuple[SampledLine | None, bool]:
    """Return the line with the most samples while nothing is recorded, and whether it calls the step.

    A line that also has the most samples while TensorFlow runs is the call of the step. None if no line was
    sampled.
    """
    times = activity_times(trace)
    whole = (times["device"].astype(str) == "") & (times["task"].astype(str) == task)
    times = times[whole & times["step"].isin(steps)].sort_values("start_ns")
    idle, busy = (
        sampled_line(trace, start, start + part["duration_ns"].to_numpy(np.int64), task)
        for part in (times[times["activity"] == "none"], times[times["activity"] != "none"])
        for start in [part["start_ns"].to_numpy(np.int64)]
    )
    return idle, idle is not None and busy is not None and busy.line == idle.line
