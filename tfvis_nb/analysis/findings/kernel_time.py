"""Rules on the GPU that spends the largest share of steps in certain kernels while nothing else runs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.finding import Finding, step_range, step_times
from tfvis_nb.analysis.findings.program import recorded
from tfvis_nb.analysis.findings.rule import Figures, Measurement, Rule, Texts, Threshold
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.core.intervals import priority_union
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_MOST_NAMED = 3
_CHOSEN, _OTHER = 1, 2


def kernel_time(trace: Trace, runs: pd.DataFrame, chosen: np.ndarray) -> dict[str, Any] | None:
    """Return the time of chosen `kernel_runs` on the GPU that spends most on them; None if there are none.

    ``task``, ``device`` and ``capability``, ``share`` of step time in which chosen kernels run there and no
    others, ``ops`` (the types with the most time, the kernels' names where there are none), ``op_types``, and
    ``rows`` of those runs in steps, the longest first.
    """
    events = trace.events[["step", "task", "device", "start_ns", "duration_ns"]].iloc[runs["event"]]
    in_steps = (events["step"] != NO_STEP).to_numpy()
    total = int(step_times(trace)["duration_ns"].sum())
    if not total or not (chosen & in_steps).any():
        return None
    group, _ = number_rows(events["task"], events["device"])
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    level = np.where(chosen, _CHOSEN, _OTHER)
    swept = priority_union(group[in_steps], start[in_steps], end[in_steps], level[in_steps])
    alone = np.zeros(int(group.max()) + 1, np.int64)
    mine = swept.level == _CHOSEN
    np.add.at(alone, swept.group[mine], swept.length[mine])
    most = int(alone.argmax())
    rows = np.flatnonzero(chosen & in_steps & (group == most))
    own = runs[["name", "op", "duration_ns", "capability"]].iloc[rows]
    by_op = own["duration_ns"].groupby(own["op"].where(own["op"] != "", own["name"])).sum()
    place = events.iloc[rows[0]]
    return {
        "task": "" if pd.isna(place["task"]) else str(place["task"]),
        "device": str(place["device"]),
        "capability": str(own["capability"].iloc[0]),
        "share": min(int(alone[most]) / total, 1.0),
        "ops": by_op.sort_values(ascending=False, kind="stable").index[:_MOST_NAMED].tolist(),
        "op_types": len(by_op),
        "rows": rows[np.argsort(-own["duration_ns"].to_numpy(), kind="stable")],
    }


def kernel_rule(
    key: str,
    share: Threshold,
    measured: Callable[[Trace], dict[str, Any] | None],
    unknown: Callable[[pd.DataFrame], Text | None],
    word: Callable[[str, Figures], Texts],
    summarise: Callable[[Figures], str],
    subject: str,
) -> Rule:
    """Return the rule on kernels whose figures `measured` returns: those of `kernel_time`, or with more.

    `unknown` returns why `kernel_runs` lack what it needs, or None. The other arguments are fields of `Rule`.
    """

    def find(trace: Trace) -> list[Finding]:
        figures = measured(trace)
        if figures is None or figures["share"] < share.value:
            return []
        return [_finding(trace, key, figures | recorded(trace))]

    def measure(trace: Trace) -> Measurement:
        if (reason := unknown(kernel_runs(trace))) is not None:
            return Measurement.unknown(share, reason)
        return Measurement.of(share, (measured(trace) or {"share": 0.0})["share"])

    return Rule(key.replace("_", " "), {"SHARE": share}, find, word, measure, summarise, subject)


def _finding(trace: Trace, key: str, figures: dict[str, Any]) -> Finding:
    """Return a finding whose evidence is the runs of `kernel_time`, in the step with most of them."""
    events = kernel_runs(trace)["event"].to_numpy()[figures.pop("rows")]
    steps, number = np.unique(trace.events["step"].to_numpy()[events], return_inverse=True)
    spent = np.bincount(number, weights=trace.events["duration_ns"].to_numpy()[events])
    step = int(steps[spent.argmax()])
    return Finding(key, figures["share"], figures, step, *step_range(trace, step), events.tolist())
