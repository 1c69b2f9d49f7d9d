"""The first step takes much longer than the others."""

from typing import Any

from tfvis_nb.analysis.findings.finding import OBSERVATION, Finding, step_range
from tfvis_nb.analysis.findings.rule import NOT_KNOWN, Figures, Measurement, Rule, Texts, Threshold, step_time
from tfvis_nb.analysis.idle.device_idle import device_idle
from tfvis_nb.analysis.steps.slow_steps import slow_first_step, slow_steps, times_median
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.labels import device_location
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.core.trace import Trace

SHARE = Threshold(0.05, "share of step time that the first step takes in excess of the median of the others")


def _find(trace: Trace) -> list[Finding]:
    first = slow_first_step(trace)
    if first is None or first.share < SHARE.value:
        return []
    figures: dict[str, Any] = {**first._asdict(), "steps": first.others + 1}
    row = slow_steps(trace).iloc[0]
    figures["activity"] = str(row["activity"])
    figures["activity_ns"] = None if not row["activity"] else int(row["activity_ns"])
    numbers = slow_steps(trace)["step"].tolist()[1:]
    idle = device_idle(trace, numbers)
    figures["device"] = None
    if not why_not(idle) and len(idle):
        least = idle.iloc[0]
        figures["device"] = str(least["device"])
        figures["busy_share"] = float(least["busy_share"])
    start, end = step_range(trace, first.step)
    return [Finding("first_step", first.share, figures, first.step, start, end, [], OBSERVATION)]


def _word(_key: str, figures: Figures) -> Texts:
    ratio = times_median(figures)
    text = (
        f"Step {figures['step']} takes {format_duration(figures['first_ns'])}, {ratio} times the median of"
        f" the other {figures['others']:,} ({format_duration(figures['median_ns'])})."
    )
    if figures["activity"]:
        name = figures["activity"].replace("_", " ")
        text += f" Most of the difference is {name}: {format_duration(figures['activity_ns'])}."
    text += f" The excess is {step_time(figures['share'])}."
    if figures["device"] is not None:
        name = device_location(figures["device"])
        text += f" Without it, {name} is busy {format_percent(figures['busy_share'])} of step time."
    return Texts("The first step is not typical", text, "Run a warm-up step before tracing.")


def _measure(trace: Trace) -> Measurement:
    table = slow_steps(trace)
    if why_not(table):
        return Measurement(NOT_KNOWN, SHARE.value, {"reason": why_not(table)})
    first = slow_first_step(trace)
    share = first.share if first else 0.0
    return Measurement(
        share, SHARE.value, {"share": share, "threshold": SHARE.value, "slow": first is not None}
    )


def _summarise(figures: Figures) -> str:
    if "reason" in figures:
        return f"A comparison of the first step is not available: {figures['reason']}."
    if not figures["slow"]:
        return f"The first step is less than {SLOW_STEP_RATIO} times the median of the others."
    return (
        f"The excess of the first step is {step_time(figures['share'])} (threshold {SHARE.value * 100:g} %)."
    )


RULE = Rule("first step", {"SHARE": SHARE}, _find, _word, _measure, _summarise)
