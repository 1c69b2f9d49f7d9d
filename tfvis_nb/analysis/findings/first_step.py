"""The first step waits much longer for input than the others, which short runs can change."""

from typing import Any

from tfvis_nb.analysis.findings.finding import OBSERVATION, Finding, step_range
from tfvis_nb.analysis.findings.input_bound import slowest_stage, stage_clause, stage_sentence
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
from tfvis_nb.analysis.input.shuffle_fills import shuffle_fills
from tfvis_nb.analysis.steps.other_steps import APART, is_set_apart
from tfvis_nb.analysis.steps.slow_steps import slow_first_step, slow_steps, times_median, why_no_first_step
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO
from tfvis_nb.core.trace import Trace

SHARE = Threshold(
    APART,
    "excess of the first step over the median of the others, divided by the time of all steps; such a step"
    " is set apart, and shares of step time are those of the others",
)

INPUT_NS = Threshold(
    50_000_000, "excess of the first step's wait for input: starting a pipeline alone takes tens of ms"
)

ADVICE = (
    "Starting the input pipeline and filling its shuffle buffer happen once, which matters if runs are short:"
    " use a smaller buffer_size in shuffle(), or read less before the first batch."
)


def _find(trace: Trace) -> list[Finding]:
    """Report only input: tracing and compiling are expected there, and the overview shows the step."""
    first = slow_first_step(trace)
    if first is None or not is_set_apart(first._asdict()):
        return []
    row = slow_steps(trace).iloc[0]
    if row["activity"] != "input" or row["activity_ns"] < INPUT_NS.value:
        return []
    fills = shuffle_fills(trace)
    if fills is not None and fills.is_long and 2 * fills.by_step.get(first.step, 0) >= row["activity_ns"]:
        return []  # it has a finding of its own
    figures: dict[str, Any] = {
        **first._asdict(),
        "activity": "input",
        "activity_ns": int(row["activity_ns"]),
        "slowest_stage": slowest_stage(trace, row["activity_task"]),
    }
    start, end = step_range(trace, first.step)
    excess = first.first_ns - first.median_ns
    found = Finding("first_step", NOT_KNOWN, figures, first.step, start, end, [], OBSERVATION, excess)
    return [found._replace(once_ns=excess)]


def _word(_key: str, figures: Figures) -> Texts:
    ratio = times_median(figures)
    text = (
        f"{capital(step_name(figures))} takes {format_duration(figures['first_ns'])}, {ratio} times the"
        f" median of the other {figures['others']:,} ({format_duration(figures['median_ns'])})."
    )
    named = stage_clause(figures["slowest_stage"], figures["activity_ns"])
    text += f" It waits {format_duration(figures['activity_ns'])} longer for input{named}."
    stage = stage_sentence(figures["slowest_stage"], figures["activity_ns"])
    how = f"{stage} The other findings leave this step out."
    return Texts("The first step waits for input", text, ADVICE, how.strip())


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
    return f"The extra time of the first step is {share} of the time of all steps{beyond(figures)}."


RULE = Rule(
    "first step",
    {"SHARE": SHARE, "INPUT_NS": INPUT_NS},
    _find,
    _word,
    _measure,
    _summarise,
    "A comparison of the first step is",
    whole=True,
)
