"""Many steps are much longer than many others, so the median step is not typical and no step stands out."""

from statistics import median_low
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.finding import OBSERVATION, Finding, step_range, step_times, whole_tasks
from tfvis_nb.analysis.findings.input_bound import input_times
from tfvis_nb.analysis.findings.retracing import lost_times
from tfvis_nb.analysis.findings.rule import Figures, Texts, step_name
from tfvis_nb.analysis.source.lock_waits import lock_times
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.slow_steps import OtherSteps, main_steps
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.core.trace import Trace

ID = "slow_steps.uneven"


def uneven_steps(trace: Trace, fraction: float) -> Finding | None:
    """Find steps of unlike length: more than `fraction` are short, more than `fraction` are long.

    Long ones take `SLOW_STEP_RATIO` times as long as every short one, or more. A first step is left out. So
    are lengths that differ mostly by what other findings report.
    """
    every, main = step_times(trace), main_steps(trace)["step"]
    table = every.iloc[0 if isinstance(trace, OtherSteps) else 1 :]
    table = table[table.index.isin(main)]
    number, took = table.index.to_numpy(np.int64), table["duration_ns"].to_numpy(np.int64)
    short_ns = int(np.sort(took)[int(fraction * len(took))])
    long, short = took >= SLOW_STEP_RATIO * short_ns, took <= short_ns
    if not short_ns or long.sum() <= fraction * len(took):
        return None
    explained = explained_ns(trace).reindex(number, fill_value=0).to_numpy()
    if explained[long].mean() - explained[short].mean() >= (took[long].mean() - took[short].mean()) / 2:
        return None
    typical = median_low(took[long].tolist())
    step = int(number[took == typical][0])
    figures: dict[str, Any] = {
        "share": int((took[long] - short_ns).sum()) / int(every["duration_ns"].sum()),
        "steps": len(took),
        "long_steps": int(long.sum()),
        "short_steps": int(short.sum()),
        "short_ns": short_ns,
        "short_step": int(number[took == short_ns][0]),
        "step": step,
        "duration_ns": typical,
        **_difference(trace, number[long], number[short]),
    }
    return Finding(ID, figures["share"], figures, step, *step_range(trace, step), [], OBSERVATION)


def _difference(trace: Trace, long: np.ndarray, short: np.ndarray) -> dict[str, Any]:
    """Return the activity of a task that grows most from short to long steps, on average."""
    table = whole_tasks(trace).astype({"task": str})
    means = [
        table[table["step"].isin(steps)].groupby("task")[list(PARTS)].mean().astype("float64").fillna(0)
        for steps in (long, short)
    ]
    more = means[0].sub(means[1], fill_value=0).max()
    difference = round(float(more.max()))
    if difference <= 0:
        return {"activity": "", "activity_ns": None}
    return {"activity": str(more.idxmax()).removesuffix("_ns"), "activity_ns": difference}


def word_uneven(figures: Figures) -> Texts:
    """Return the texts of the finding."""
    step, shortest = figures["step"], format_duration(figures["short_ns"])
    text = (
        f"{figures['long_steps']:,} of {figures['steps']:,} steps take at least {SLOW_STEP_RATIO} times as"
        f" long as the {figures['short_steps']:,} shortest, which take up to {shortest}: for example"
        f" {step_name(figures)}, {format_duration(figures['duration_ns'])}."
    )
    if figures["activity"]:
        much = format_duration(figures["activity_ns"])
        what = f"{LABELS[figures['activity']]} takes {much} more"
        if figures["activity"] == "idle":
            what = f"nothing is recorded for {much} more"
        text += f" On average, {what} in the long steps."
    call = f"tfvis_nb.show_comparison(trace, steps=({step}, {figures['short_step']}))"
    return Texts("Steps differ in length", text, f"Compare a long step with a short one: {call}.")


@per_trace
def explained_ns(trace: Trace) -> pd.Series:
    """Return that time, in ns, by step: of the task that loses most in each step."""
    table = whole_tasks(trace)
    lost = pd.Series(lock_times(trace, table, of_input=False), index=table["step"]).groupby(level=0).max()
    for other in (input_times(trace), lost_times(trace)):
        if other is not None:
            lost = lost.add(other.groupby("step").max(), fill_value=0)
    return lost
