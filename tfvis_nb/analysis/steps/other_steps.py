"""The steps of a trace without an atypical first step."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.dataflow.edges import edges
from tfvis_nb.analysis.steps.breakdown import breakdown
from tfvis_nb.analysis.steps.slow_steps import OtherSteps, slow_first_step
from tfvis_nb.analysis.steps.utilization import utilization
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

APART: Final = 0.1
"""The first step is set apart if its excess over the median of the others is this share of all step time."""


def is_set_apart(first: Mapping[str, Any] | None) -> bool:
    """Return whether a first step, as in the overview, is set apart from the others."""
    return first is not None and first["share"] >= APART


@validate_input
@per_trace
def other_steps(trace: Trace) -> Trace:
    """Return the trace without its first step if that is set apart, otherwise the trace itself.

    Shares of step time in findings and the overview refer to these steps.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> columns = {"start_ns": [0, 90, 100], "duration_ns": [90, 10, 10], "kind": ["op"] * 3}
    >>> others = other_steps(Trace(events.build(columns | {"step": [0, 1, 2]})))
    >>> others.breakdown.drop_duplicates("step")["step"].tolist()
    [1, 2]
    """
    first = slow_first_step(trace)
    if first is None or not is_set_apart(first._asdict()):
        return trace

    def outside(table: pd.DataFrame) -> pd.DataFrame:
        step = table["step"].to_numpy()
        return table.assign(step=np.where(step == first.step, NO_STEP, step).astype(step.dtype))

    others = OtherSteps(
        outside(trace.events),
        nested=trace.nested,
        graphs=trace.graphs,
        step_labels=trace.step_labels,
        clock_bounds=trace.clock_bounds,
        stacks=trace.stacks,
        metadata=trace.metadata,
        recorded_counters=trace.recorded_counters,
        programs=trace.programs,
    )
    others.edges, others.transfers = edges(trace), outside(transfers(trace))
    others.whole, others.first = trace, first.step
    others.breakdown, others.utilization = map(others.without_first, (breakdown(trace), utilization(trace)))
    return others
