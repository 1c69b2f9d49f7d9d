"""The task that spends most of its time on one part of the breakdown, with its steps and events."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.findings.finding import (
    Finding,
    longest_events,
    of_task,
    overlaps,
    step_range,
    whole_tasks,
)
from tfvis_nb.analysis.findings.rule import NOT_KNOWN, Figures, Measurement
from tfvis_nb.analysis.steps.slow_steps import OtherSteps
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text


class TimeShare(NamedTuple):
    """The task that spends the largest share of its time on an activity."""

    task: str
    share: float
    """Share of the time of all its steps."""
    step: int
    """The step in which it spends most time."""
    here_ns: int
    step_ns: int
    steps: int
    later_share: float
    """The same without the first step; NaN if there are no other steps."""
    mean_ns: float
    later_mean_ns: float

    def case(self, threshold: float, least_ns: float = 0) -> str:
        """Return where it matters: in the ``one`` step, only the ``first``, or ``all``; empty for nowhere."""
        if self.share < threshold or self.mean_ns < least_ns:
            return ""
        if self.steps == 1:
            return "one"
        return "all" if self.later_share >= threshold and self.later_mean_ns >= least_ns else "first"


def largest_share(trace: Trace, part: str, table: pd.DataFrame | None = None) -> TimeShare | None:
    """Find the task that spends most of its time on a part of the breakdown; None if steps take no time.

    `table` replaces that of `whole_tasks`.
    """
    table = whole_tasks(trace) if table is None else table
    sums = table.groupby("task", observed=True)[[part, "step_ns"]].sum()
    if sums.empty or not int(sums["step_ns"].max()):
        return None
    task = str((sums[part] / sums["step_ns"]).idxmax())
    own = table[table["task"].astype(str) == task].sort_values("step")
    amount, whole = (own[name].to_numpy(np.int64) for name in (part, "step_ns"))
    worst = int(amount.argmax())
    later = slice(0 if isinstance(trace, OtherSteps) else 1, None)
    later_ns = int(whole[later].sum())
    return TimeShare(
        task,
        int(amount.sum()) / int(whole.sum()),
        int(own["step"].iloc[worst]),
        int(amount[worst]),
        int(whole[worst]),
        len(own),
        int(amount[later].sum()) / later_ns if later_ns else float("nan"),
        float(amount.mean()),
        float(amount[later].mean()) if len(amount[later]) else float("nan"),
    )


def finding(trace: Trace, key: str, active: str, spent: TimeShare, figures: dict[str, Any]) -> Finding:
    """Return the finding whose evidence is the longest events of an activity in the worst step."""
    start, end = step_range(trace, spent.step)
    mask = (activity(trace) == NUMBER[active]) & of_task(trace, spent.task) & overlaps(trace, start, end)
    later = None if np.isnan(spent.later_share) else spent.later_share
    own = spent._asdict() | {"later_share": later} | figures
    return Finding(key, spent.share, own, spent.step, start, end, longest_events(trace, mask))


def measurement(spent: TimeShare | None, threshold: float) -> Measurement:
    """Return the largest share, reported or not."""
    if spent is None:
        return Measurement(NOT_KNOWN, threshold, {"reason": Text("no_step_length")})
    figures = {"share": spent.share, "threshold": threshold, "mean_ns": spent.mean_ns}
    return Measurement(spent.share, threshold, figures)


def in_other_steps(case: str, figures: Figures) -> str:
    """Describe how large the share is in other steps: after the first, or unknown for a single one."""
    if case == "one":
        return "" if "step_time" in figures else " One step alone cannot show whether others are affected."
    if case == "all" or figures["later_share"] is None:
        return ""
    if not figures["later_share"]:
        return " Later steps spend no time on it."
    return f" In later steps it is {format_percent(figures['later_share'])}."
