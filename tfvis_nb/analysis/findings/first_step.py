"""The first step takes much longer than the others."""

from typing import Any

from tfvis_nb.analysis.findings.autotuning import RULE as TUNING
from tfvis_nb.analysis.findings.finding import OBSERVATION, Finding, step_range
from tfvis_nb.analysis.findings.input_bound import ONCE, slowest_stage, stage_sentence
from tfvis_nb.analysis.findings.rule import (
    NOT_KNOWN,
    Figures,
    Measurement,
    Rule,
    Texts,
    Threshold,
    beyond,
    capital,
    step_name,
)
from tfvis_nb.analysis.steps.other_steps import APART, is_set_apart
from tfvis_nb.analysis.steps.slow_steps import slow_first_step, slow_steps, times_median, why_no_first_step
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.core.trace import Trace

SHARE = Threshold(
    APART,
    "excess of the first step over the median of the others, divided by the time of all steps; such a step"
    " is set apart, and shares of step time are those of the others",
)


def _find(trace: Trace) -> list[Finding]:
    first = slow_first_step(trace)
    if first is None or not is_set_apart(first._asdict()):
        return []
    row = slow_steps(trace).iloc[0]
    tuning = [found.figures for found in TUNING.find(trace) if found.step == first.step]
    figures: dict[str, Any] = {
        **first._asdict(),
        "activity": str(row["activity"]),
        "activity_ns": int(row["activity_ns"]) if row["activity"] else None,
        "tuning_ns": tuning[0]["here_ns"] if tuning else None,
        "slowest_stage": slowest_stage(trace, row["activity_task"]) if row["activity"] == "input" else None,
    }
    start, end = step_range(trace, first.step)
    excess = first.first_ns - first.median_ns
    return [Finding("first_step", NOT_KNOWN, figures, first.step, start, end, [], OBSERVATION, excess)]


def _word(_key: str, figures: Figures) -> Texts:
    ratio = times_median(figures)
    text = (
        f"{capital(step_name(figures))} takes {format_duration(figures['first_ns'])}, {ratio} times the"
        f" median of the other {figures['others']:,} ({format_duration(figures['median_ns'])})."
    )
    if figures["activity"]:
        name = LABELS.get(figures["activity"], figures["activity"])
        text += f" Most of the difference is {name}: {format_duration(figures['activity_ns'])}."
    if figures["tuning_ns"]:
        text += f" Tuning convolutions takes {format_duration(figures['tuning_ns'])}."
    text += stage_sentence(figures["slowest_stage"])
    text += " Shares of step time are without it."
    return Texts(
        "The first step is not typical",
        text,
        ONCE if figures["activity"] == "input" else "Run a warm-up step before tracing.",
    )


def _measure(trace: Trace) -> Measurement:
    if reason := why_no_first_step(trace):
        return Measurement.unknown(SHARE, reason)
    first = slow_first_step(trace)
    share = first.share if first else 0.0
    return Measurement(
        share, SHARE.value, {"share": share, "threshold": SHARE.value, "slow": first is not None}
    )


def _summarise(figures: Figures) -> str:
    if not figures["slow"]:
        return f"The first step is less than {SLOW_STEP_RATIO} times the median of the others."
    share = format_percent(figures["share"])
    return f"The excess of the first step is {share} of the time of all steps{beyond(figures)}."


RULE = Rule(
    "first step",
    {"SHARE": SHARE},
    _find,
    _word,
    _measure,
    _summarise,
    "A comparison of the first step is",
    whole=True,
)
