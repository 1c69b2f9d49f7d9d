"""Findings on steps as such: those that wait for input, that compile, and that are slower than the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis.activities import NUMBER
from tfvis_nb.analysis.device_work import device_work
from tfvis_nb.analysis.evidence import (
    Finding,
    of_task,
    percent,
    span,
    step_range,
    step_times,
    task_name,
    whole_tasks,
)

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

INPUT_LIMIT = 0.05
"""XProf calls a step that waits more than this part of its time for input moderately input bound."""
INPUT_HIGH = 0.2
"""And highly input bound from here on."""
COMPILE_LIMIT = 0.1
"""Part of the time from which compiling is told."""
SLOW = 1.5
"""A step is slow from so many times the median on, of its duration or of its devices' work."""
FEW = 0.2
"""Slow steps are told when they are at most this part of all: else the median is not what most take."""
SLOW_LIMIT = 0.005
"""Part of the time that slow steps take more than the median's, from which they are told."""
ENOUGH = 5
"""Of fewer steps a median says little."""

_MOST_EVENTS = 50


def input_wait(trace: Trace) -> list[Finding]:
    """Find a task that waits for its next batch; see `INPUT_LIMIT`."""
    worst = _worst_task(trace, "input_ns")
    if worst is None or worst[1] < INPUT_LIMIT:
        return []
    task, share, step = worst
    rows, start, end = _longest(trace, "input", task, step)
    waited, took = _of_step(trace, "input_ns", task, step)
    degree = "" if share >= INPUT_HIGH else " a little"
    where = f" of {task_name(task)}" if task_name(task) else ""
    return [
        Finding(
            "input",
            f"Steps wait{degree} for input",
            f"{percent(share)} of the steps' time{where} passes waiting for the next batch while no"
            f" device computes: in step {step} {span(waited)} of {span(took)}.",
            "Let the input pipeline work ahead: dataset.prefetch(tf.data.AUTOTUNE) at its end,"
            " map(..., num_parallel_calls=tf.data.AUTOTUNE), cache() of what is read again; or make an"
            " element cheaper.",
            share,
            step,
            start,
            end,
            rows,
        )
    ]


def compiling(trace: Trace) -> list[Finding]:
    """Find steps in which functions were traced and compiled; see `COMPILE_LIMIT`."""
    worst = _worst_task(trace, "compile_ns")
    if worst is None or worst[1] < COMPILE_LIMIT:
        return []
    task, share, step = worst
    rows, start, end = _longest(trace, "compile", task, step)
    spent, _ = _of_step(trace, "compile_ns", task, step)
    table = whole_tasks(trace)
    steps = int(table.loc[table["compile_ns"] > 0, "step"].nunique())
    return [
        Finding(
            "compiling",
            "Functions are traced and compiled while steps run",
            f"{percent(share)} of the steps' time is tracing and compiling, most of it in step {step},"
            f" {span(spent)}; {steps} of {table['step'].nunique()} steps have some.",
            "Run a step before the trace begins. Where later steps compile too, shapes or Python arguments of"
            " a function change: pass tensors, pad to fixed shapes, or give an input_signature.",
            share,
            step,
            start,
            end,
            rows,
        )
    ]


def slow_steps(trace: Trace) -> list[Finding]:
    """Find steps that do more on the devices than the median step, and those that just take longer.

    The first step is left out of the latter: what is done once is done in it.
    """
    steps = step_times(trace)
    if len(steps) < ENOUGH:
        return []
    took = steps["duration_ns"].to_numpy(np.float64)
    work = _work(trace, steps)
    more = work >= SLOW
    longer = took >= SLOW * np.median(took)
    longer[0] = False
    found = [_slow(steps, more, took, work, "device"), _slow(steps, longer & ~more, took, work, "time")]
    return [one for one in found if one is not None]


def _work(trace: Trace, steps: pd.DataFrame) -> np.ndarray:
    """Return the devices' work in each step, in medians; zeros where none is known."""
    place = steps.index.get_indexer(pd.Index(trace.events["step"]))
    group = np.where(place < 0, len(steps), place)
    known = device_work(trace.events, group, len(steps) + 1)
    if known is None:
        return np.zeros(len(steps))
    of_steps = known[:-1].astype(np.float64)
    middle = np.median(of_steps)
    return of_steps / middle if middle > 0 else np.zeros(len(steps))


def _slow(
    steps: pd.DataFrame, chosen: np.ndarray, took: np.ndarray, work: np.ndarray, why: str
) -> Finding | None:
    count, middle = int(chosen.sum()), float(np.median(took))
    lost = float(np.maximum(took[chosen] - middle, 0).sum())
    if not 0 < count <= FEW * len(steps) or lost < SLOW_LIMIT * took.sum():
        return None
    places = np.flatnonzero(chosen)
    slowest = int(places[took[places].argmax()])
    row = steps.iloc[slowest]
    named = _listed(steps.index[places].tolist())
    times = f"{took[slowest] / middle:.3g} times the median ({span(took[slowest])} against {span(middle)})"
    several = count > 1
    steps_named = f"Steps {named}" if several else f"Step {named}"
    if why == "device":
        title = f"{steps_named} {'do' if several else 'does'} more on the devices"
        least, most = f"{work[places].min():.2g}", f"{work[places].max():.2g}"
        much = least if least == most else f"{least} to {most}"
        longest = f"step {steps.index[slowest]} takes longest," if several else "it takes"
        text = (
            f"{'They do' if several else 'It does'} {much} times the median step's work on the busiest"
            f" device; {longest} {times}."
        )
        advice = "Look at what those batches have in common, such as their size or their longest sequence."
    else:
        title = f"{steps_named} {'take' if several else 'takes'} longer"
        though = ", though the devices have no more to do than in others" if work.any() else ""
        text = f"Step {steps.index[slowest]} takes {times}{though}."
        advice = "Compare it with a step of median length: what its host and its input did meanwhile."
    return Finding(
        "slow steps",
        title,
        text,
        advice,
        lost / float(took.sum()),
        int(steps.index[slowest]),
        int(row["start_ns"]),
        int(row["end_ns"]),
        [],
    )


def _listed(numbers: list[int], most: int = 6) -> str:
    """Write numbers as a list in words."""
    shown = [str(number) for number in numbers[:most]]
    if len(numbers) > most:
        return ", ".join(shown) + f" and {len(numbers) - most} others"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _worst_task(trace: Trace, part: str) -> tuple[str, float, int] | None:
    """Return the task that spends most of its time so, its share, and its worst step."""
    table = whole_tasks(trace)
    sums = table.groupby("task", observed=True)[[part, "step_ns"]].sum()
    if sums.empty or not int(sums["step_ns"].max()):
        return None
    shares = sums[part] / sums["step_ns"]
    task = str(shares.idxmax())
    own = table[table["task"].astype(str) == task]
    return task, float(shares.max()), int(own["step"].to_numpy()[own[part].to_numpy(np.int64).argmax()])


def _of_step(trace: Trace, part: str, task: str, step: int) -> tuple[int, int]:
    table = whole_tasks(trace)
    row = table[(table["task"].astype(str) == task) & (table["step"] == step)]
    return int(row[part].to_numpy()[0]), int(row["step_ns"].to_numpy()[0])


def _longest(trace: Trace, active: str, task: str, step: int) -> tuple[list[int], int, int]:
    """Return the longest events of an activity in a step, and the time of the step."""
    events = trace.events
    mask = (trace.activity == NUMBER[active]) & of_task(trace, task)
    start, end = step_range(trace, step)
    begins = events["start_ns"].to_numpy()
    mask &= (begins < end) & (begins + events["duration_ns"].to_numpy() > start)
    rows = np.flatnonzero(mask)
    order = np.argsort(-events["duration_ns"].to_numpy()[rows], kind="stable")
    return [int(row) for row in rows[order][:_MOST_EVENTS]], start, end
