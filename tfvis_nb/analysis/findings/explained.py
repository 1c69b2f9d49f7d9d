"""Time of steps that findings about input, tracing and the interpreter lock report."""

import pandas as pd

from tfvis_nb.analysis.findings.finding import whole_tasks
from tfvis_nb.analysis.findings.input_bound import input_times
from tfvis_nb.analysis.findings.retracing import lost_times
from tfvis_nb.analysis.source.lock_waits import lock_times
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace


@per_trace
def explained_ns(trace: Trace) -> pd.Series:
    """Return that time, in ns, by step: of the task that loses most in each step."""
    table = whole_tasks(trace)
    lost = pd.Series(lock_times(trace, table, of_input=False), index=table["step"]).groupby(level=0).max()
    for other in (input_times(trace), lost_times(trace)):
        if other is not None:
            lost = lost.add(other.groupby("step").max(), fill_value=0)
    return lost
