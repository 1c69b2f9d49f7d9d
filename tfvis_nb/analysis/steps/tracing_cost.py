"""The cost of tracing: step times of the same code with and without it."""

import math
from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.steps.difference import difference, typical
from tfvis_nb.core.format import format_change, format_duration
from tfvis_nb.core.metadata import TRACING_COST
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "traced_ns": "Typical step time with tracing, in ns: from the start of a step to that of the next one, as"
    " Python sees it. Typical is the mean without the longest and shortest fifth of the steps. A single step"
    " lasts as long as its call.",
    "untraced_ns": "Typical step time in runs of the same code without tracing, in ns.",
    "ratio": "traced_ns / untraced_ns.",
    "low": "Lower end of the 95 % interval of ratio; missing if the steps do not show it: a single step, or"
    " steps that vary so much that it would be 0.",
    "high": "Upper end of that interval; infinite if the steps vary too much, missing with a single step.",
    "share": "1 - 1 / ratio, at least 0: the share of step time in the trace that tracing adds.",
}


class TracingCost(NamedTuple):
    """Step times with and without tracing, as in `FIGURES`, and the number of steps."""

    traced_ns: int
    untraced_ns: int
    ratio: float
    low: float
    high: float
    traced_steps: int
    untraced_steps: int

    @property
    def share(self) -> float:
        """The share of step time in the trace that tracing adds."""
        return max(1 - 1 / self.ratio, 0.0)


@validate_input
@per_trace
def tracing_cost(trace: Trace) -> TracingCost | None:
    """Return how much longer steps took because of tracing; None if unknown.

    ``%%trace --calibrate`` measures it, and traces of a `tfvis_nb.TraceSession` include the times of earlier
    untraced runs.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    TracingCost or None
        Times in ns, and their ratio with its 95 % interval, as in `FIGURES`; ``low`` is NaN if unknown.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import tracing_cost
    >>> from tfvis_nb.core.metadata import table_of
    >>> times = [(0, 1000), (0, 1010), (1, 1200), (1, 1210)]
    >>> rows = [{"is_traced": traced, "duration_ns": time, "runs": 1} for traced, time in times]
    >>> table = events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"]})
    >>> cost = tracing_cost(Trace(table, metadata={"tracing_cost": table_of("tracing_cost", rows)}))
    >>> cost.traced_ns, cost.untraced_ns, round(cost.ratio, 3), round(cost.share, 3)
    (1205, 1005, 1.199, 0.166)
    """
    table = trace.metadata.get(TRACING_COST)
    if table is None:
        return None
    known = table[table["is_traced"].isin([0, 1]) & (table["duration_ns"] > 0).fillna(value=False)]
    is_traced = known["is_traced"].to_numpy(np.int64) == 1
    duration = known["duration_ns"].to_numpy(np.int64)
    traced, untraced = duration[is_traced], duration[~is_traced]
    if not len(traced) or not len(untraced):
        return None
    result = difference(untraced, traced)
    if not math.isfinite(result.ratio) or result.ratio <= 0:
        return None
    runs = known["runs"].fillna(1).to_numpy(np.int64)
    return TracingCost(
        traced_ns=round(typical(traced)),
        untraced_ns=round(typical(untraced)),
        ratio=result.ratio,
        low=result.low if result.low > 0 else math.nan,
        high=result.high,
        traced_steps=int(runs[is_traced].sum()),
        untraced_steps=int(runs[~is_traced].sum()),
    )


def tracing_cost_text(cost: TracingCost) -> Text:
    """State how much longer traced steps took, for a note and for a cell."""
    return Text(
        "tracing_cost",
        traced=format_duration(cost.traced_ns),
        untraced=format_duration(cost.untraced_ns),
        steps=cost.untraced_steps,
        change=format_change(cost.ratio),
        interval=_interval(cost),
    )


def _interval(cost: TracingCost) -> str:
    if math.isfinite(cost.low) and math.isfinite(cost.high):
        return f"{format_change(cost.low)} to {format_change(cost.high)}"
    return Text("tracing_cost_of_few_steps" if math.isnan(cost.high) else "tracing_cost_varies")
