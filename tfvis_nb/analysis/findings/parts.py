"""Findings on what takes a part of most steps or of the first: waiting for input, and compiling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity, during_steps
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.findings.finding import (
    Finding,
    of_task,
    percent,
    span,
    step_range,
    task_name,
    whole_tasks,
)

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

INPUT_LIMIT = 0.05
"""XProf calls a step that waits more than this part of its time for input moderately input bound."""
INPUT_HIGH = 0.2
"""And highly input bound from here on."""
INPUT_LEAST_NS = 500_000
"""Of a step on average: to be handed a batch that is ready takes up to about as long, when traced."""
COMPILE_LIMIT = 0.1
"""Part of the time from which compiling is told."""

_MOST_EVENTS = 50
_PLUMBING = re.compile(r"(?!Make)Iterator::|InstantiatedCapturedFunction|Executor|\w+(?:Produce|Consume)$")
"""What runs other stages of an input pipeline, or waits for them."""
_AWAITING = re.compile(
    r"(?:MakeIterator|InstantiatedCapturedFunction|Executor)|\w+(?:Produce|Consume)$"
    r"|Iterator::(?:.*::)?(?:Model|Root|Prefetch|MapAndBatch|Parallel\w*)(?:V\d+)?(?:\[\d+\])?$"
)
"""Of those, what waits for stages on other threads."""
_ONE_STEP = " A trace of one step does not say whether others do, too."


class Spent(NamedTuple):
    """What the task that spends most of its time on one thing spends."""

    task: str
    share: float
    """Of all its steps."""
    step: int
    """Where it spends most."""
    here_ns: int
    step_ns: int
    steps: int
    later: float
    """Share of the time of its steps but the first; NaN where there are no others."""
    mean_ns: float
    later_mean_ns: float

    def whose(self, limit: float, least_ns: float = 0) -> str:
        """Say whose it is: of the ``one`` step, of the ``first`` only, or of ``all``; empty for nobody's."""
        if self.share < limit or self.mean_ns < least_ns:
            return ""
        if self.steps == 1:
            return "one"
        return "all" if self.later >= limit and self.later_mean_ns >= least_ns else "first"


def input_wait(trace: Trace) -> list[Finding]:
    """Find a task that waits for its next batch; see `INPUT_LIMIT` and `INPUT_LEAST_NS`."""
    spent = most_spent(trace, "input_ns")
    whose = spent.whose(INPUT_LIMIT, INPUT_LEAST_NS) if spent else ""
    if spent is None or not whose:
        return []
    degree = "" if (spent.later if whose == "all" else spent.share) >= INPUT_HIGH else " a little"
    titles = {
        "one": f"The step waits{degree} for input",
        "first": "The first step waits for input",
        "all": f"Steps wait{degree} for input",
    }
    more = {"one": _ONE_STEP, "first": _of_later(spent), "all": ""}
    ahead = (
        "Let the input pipeline work ahead: dataset.prefetch(tf.data.AUTOTUNE) at its end,"
        " map(..., num_parallel_calls=tf.data.AUTOTUNE), cache() of what is read again; or make an"
        " element cheaper."
    )
    once = (
        "What is done once, such as starting the input pipeline and filling its buffers (shuffle), is done"
        " in the first step. Trace some steps later to see what the others take."
    )
    rows, start, end = _longest(trace, "input", spent)
    where = f" of {task_name(spent.task)}" if task_name(spent.task) else ""
    return [
        Finding(
            "input",
            titles[whose],
            f"{percent(spent.share)} of the steps' time{where} passes waiting for the next batch while no"
            f" device computes: in step {spent.step} {span(spent.here_ns)} of {span(spent.step_ns)}."
            f"{more[whose]}{_slowest_of_pipeline(trace, spent.task)}",
            once if whose == "first" else ahead,
            spent.share,
            spent.step,
            start,
            end,
            rows,
        )
    ]


def compiling(trace: Trace) -> list[Finding]:
    """Find steps in which functions were traced and compiled; see `COMPILE_LIMIT`."""
    spent = most_spent(trace, "compile_ns")
    whose = spent.whose(COMPILE_LIMIT) if spent else ""
    if spent is None or not whose:
        return []
    titles = {
        "one": "The step traces and compiles functions",
        "first": "The first step traces and compiles functions",
        "all": "Functions are traced and compiled while steps run",
    }
    table = whole_tasks(trace)
    some = int(table.loc[table["compile_ns"] > 0, "step"].nunique())
    more = {
        "one": _ONE_STEP,
        "first": _of_later(spent),
        "all": f" {some} of {spent.steps} steps have some.",
    }
    again = (
        " Where later steps compile too, shapes or Python arguments of a function change: pass tensors, pad"
        " to fixed shapes, or give an input_signature."
    )
    rows, start, end = _longest(trace, "compile", spent)
    return [
        Finding(
            "compiling",
            titles[whose],
            f"{percent(spent.share)} of the steps' time is tracing and compiling: in step {spent.step}"
            f" {span(spent.here_ns)} of {span(spent.step_ns)}.{more[whose]}",
            "Run a step before the trace begins." + ("" if whose == "first" else again),
            spent.share,
            spent.step,
            start,
            end,
            rows,
        )
    ]


def _slowest_of_pipeline(trace: Trace, task: str) -> str:
    """Say at what the input pipeline's threads spent most of their own time during the steps.

    What runs or awaits other stages does not count; where there is nothing else, only what awaits them.
    """
    own, known = self_times_of(trace)
    event = np.unique(during_steps(trace)[0])
    chosen = event[(known & (activity(trace) == NUMBER["preprocessing"]) & of_task(trace, task))[event]]
    rows = trace.events.iloc[chosen]
    op = rows["op"].astype(object).fillna("")
    called = op.where(op != "", rows["name"]).astype(str)
    total = pd.Series(own[chosen]).groupby(called.to_numpy()).agg(["sum", "size"])
    for pattern in (_PLUMBING, _AWAITING):
        works = total[~total.index.str.match(pattern) & (total.index != "") & (total["sum"] > 0)]
        if len(works):
            break
    else:
        return ""
    slowest = works.sort_values("sum", kind="stable").iloc[-1]
    times, took = int(slowest["size"]), int(slowest["sum"])
    return (
        f" Of what the input pipeline does, {slowest.name} takes longest: {span(took)} on its threads,"
        f" {times:,} times {span(took / times)}."
    )


def _of_later(spent: Spent) -> str:
    return f" In the others it is {percent(spent.later)}."


def most_spent(trace: Trace, part: str) -> Spent | None:
    """Find the task that spends most of its time on one of the parts of the breakdown.

    None where steps take no time.
    """
    table = whole_tasks(trace)
    sums = table.groupby("task", observed=True)[[part, "step_ns"]].sum()
    if sums.empty or not int(sums["step_ns"].max()):
        return None
    task = str((sums[part] / sums["step_ns"]).idxmax())
    own = table[table["task"].astype(str) == task].sort_values("step")
    amount, whole = (own[name].to_numpy(np.int64) for name in (part, "step_ns"))
    worst = int(amount.argmax())
    several = len(own) > 1
    return Spent(
        task,
        int(amount.sum()) / int(whole.sum()),
        int(own["step"].iloc[worst]),
        int(amount[worst]),
        int(whole[worst]),
        len(own),
        int(amount[1:].sum()) / int(whole[1:].sum()) if several and whole[1:].any() else float("nan"),
        float(amount.mean()),
        float(amount[1:].mean()) if several else float("nan"),
    )


def _longest(trace: Trace, active: str, spent: Spent) -> tuple[list[int], int, int]:
    """Return the longest events of an activity in the worst step, and the time of that step."""
    events = trace.events
    start, end = step_range(trace, spent.step)
    begins: pd.Series = events["start_ns"]
    mask = (activity(trace) == NUMBER[active]) & of_task(trace, spent.task)
    mask &= ((begins < end) & (begins + events["duration_ns"] > start)).to_numpy()
    rows = np.flatnonzero(mask)
    order = np.argsort(-events["duration_ns"].to_numpy()[rows], kind="stable")
    return [int(row) for row in rows[order][:_MOST_EVENTS]], start, end
