"""Much of the run lies outside the steps."""

from typing import Any

import numpy as np

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.findings.finding import OBSERVATION, PROBLEM, Finding, longest_events, overlaps
from tfvis_nb.analysis.findings.program import faster_input, recorded
from tfvis_nb.analysis.findings.rule import NOT_KNOWN, Figures, Measurement, Rule, Texts, Threshold, beyond
from tfvis_nb.analysis.steps.outside_steps import outside_steps
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

RUN_SHARE = Threshold(0.1, "share of the run, not of step time, that lies outside all steps, `outside_ns`")
INPUT_SHARE = Threshold(
    0.2, "share of the run spent waiting for input outside all steps, as in custom loops; makes it a problem"
)
FEW = Threshold(
    0.1, "fraction of the longest stretch that the events of a name take at least if the finding names them"
)

_STRETCHES = {
    "before_ns": "before the first step",
    "between_ns": "between steps",
    "after_ns": "after the last step",
}


def _find(trace: Trace) -> list[Finding]:
    outside = outside_steps(trace)
    if outside is None or outside.run_share < RUN_SHARE.value:
        return []
    start, end = outside.longest_start_ns, outside.longest_end_ns
    loose = overlaps(trace, start, end) & (trace.events["step"] == NO_STEP).to_numpy()
    figures: dict[str, Any] = {
        "run_share": outside.run_share,
        "run_ns": outside.run_ns,
        "outside_ns": outside.outside_ns,
        "steps": int((trace.steps["step"] != NO_STEP).sum()),
        **{name: getattr(outside, name) for name in _STRETCHES},
        "longest_ns": end - start,
        "op": _longest_op(trace, loose),
        "input_ns": _input_ns(trace),
        **recorded(trace),
    }
    waits = _waits_for_input(figures)
    events = longest_events(trace, loose)
    lost = figures["input_ns"] if waits else outside.outside_ns
    level = PROBLEM if waits else OBSERVATION
    return [Finding("between_steps", NOT_KNOWN, figures, NO_STEP, start, end, events, level, lost)]


def _input_ns(trace: Trace) -> int:
    """Return the time outside steps in which any thread waits for input."""
    steps = trace.steps[trace.steps["step"] != NO_STEP]
    events = trace.events[(activity(trace) == NUMBER["input"]) & (trace.events["step"] == NO_STEP).to_numpy()]
    start, waited = steps["start_ns"].to_numpy(np.int64), events["start_ns"].to_numpy(np.int64)
    end = steps["end_ns"].to_numpy(np.int64)
    both = np.append(start, waited), np.append(end, waited + events["duration_ns"].to_numpy(np.int64))
    covered, in_steps = (
        int(lengths(union(np.zeros(len(begins), np.int64), begins, ends), 1, 2)[0, 1])
        for begins, ends in (both, (start, end))
    )
    return covered - in_steps


def _waits_for_input(figures: Figures) -> bool:
    return bool(figures["input_ns"] >= INPUT_SHARE.value * figures["run_ns"] > 0)


def _longest_op(trace: Trace, chosen: np.ndarray) -> dict[str, Any] | None:
    """Return the name with the most self time among events; None if there is none."""
    own, known = self_times_of(trace)
    rows = np.flatnonzero(chosen & known)
    if not len(rows):
        return None
    sums = trace.events["name"].iloc[rows].astype(object).to_frame("name").assign(self_ns=own[rows])
    total = sums.groupby("name")["self_ns"].sum()
    return {"name": str(total.idxmax()), "self_ns": int(total.max())}


def _word(_key: str, figures: Figures) -> Texts:
    parts = [
        f"{format_duration(figures[name])} {where}" for name, where in _STRETCHES.items() if figures[name]
    ]
    text = (
        f"{format_duration(figures['outside_ns'])} of the {format_duration(figures['run_ns'])} that were"
        f" traced lie outside any step: {', '.join(parts)}."
    )
    op = figures["op"]
    if _waits_for_input(figures):
        share = format_percent(figures["input_ns"] / figures["run_ns"])
        text += f" {format_duration(figures['input_ns'])} of it, {share} of the run, is waiting for input."
        return Texts("The run waits for input outside the steps", text, faster_input(figures))
    if op is None:
        text += " Nothing is recorded in the longest stretch."
        advice = "To see what runs between steps, trace the whole cell or loop, not single runs."
    elif op["self_ns"] < FEW.value * figures["longest_ns"]:
        text += f" TensorFlow does little in the longest stretch, {format_duration(figures['longest_ns'])}."
        advice = "Look for Python code between the steps, such as logging, saving or preparing data."
    else:
        took = format_duration(op["self_ns"])
        text += f" In the longest stretch, {op['name']} takes the most time: {took}."
        longest = max(_STRETCHES, key=lambda name: figures[name])
        advice = (
            "Move work that is done once out of the loop."
            if longest == "between_ns"
            else "This is setting up or cleaning up: it matters if runs are short."
        )
    return Texts(f"{format_percent(figures['run_share'])} of the run is outside the steps", text, advice)


def _measure(trace: Trace) -> Measurement:
    outside = outside_steps(trace)
    if outside is None:
        return Measurement.unknown(RUN_SHARE, Text("no_steps"))
    share = outside.run_share
    return Measurement.of(RUN_SHARE, share)


def _summarise(figures: Figures) -> str:
    return f"Time outside steps is {format_percent(figures['share'])} of the run{beyond(figures)}."


def _headline(figures: Figures) -> str:
    share = format_percent(figures["input_ns"] / figures["run_ns"])
    return f"Waiting for input between steps takes {share} of the run."


RULE = Rule(
    "outside steps",
    {"RUN_SHARE": RUN_SHARE, "INPUT_SHARE": INPUT_SHARE, "FEW": FEW},
    _find,
    _word,
    _measure,
    _summarise,
    "Time outside steps is",
    whole=True,
    headline=_headline,
)
