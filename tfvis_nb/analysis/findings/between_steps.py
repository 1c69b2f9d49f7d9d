"""Much of the run lies outside the steps."""

from typing import Any

import numpy as np

from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.findings.finding import OBSERVATION, Finding, longest_events, overlaps
from tfvis_nb.analysis.findings.rule import NOT_KNOWN, Figures, Measurement, Rule, Texts, Threshold, beyond
from tfvis_nb.analysis.steps.outside_steps import outside_steps
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

RUN_SHARE = Threshold(0.1, "share of the run, not of step time, that lies outside all steps, `outside_ns`")

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
        "op": _longest_op(trace, loose),
    }
    events = longest_events(trace, loose)
    lost = outside.outside_ns
    return [Finding("between_steps", NOT_KNOWN, figures, NO_STEP, start, end, events, OBSERVATION, lost)]


def _longest_op(trace: Trace, chosen: np.ndarray) -> dict[str, Any] | None:
    """Return the name with the most self time among events; None without any."""
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
    if op is None:
        text += " Nothing is recorded in the longest pause."
        advice = "To see what runs between steps, trace the whole cell or loop, not single runs."
    else:
        took = format_duration(op["self_ns"])
        text += f" In the longest stretch, {op['name']} takes the most time: {took}."
        longest = max(_STRETCHES, key=lambda name: figures[name])
        advice = (
            "Move work that is done once, such as making iterators, out of the loop."
            if longest == "between_ns"
            else "This is setting up or cleaning up: it matters if runs are short."
        )
    return Texts(f"{format_percent(figures['run_share'])} of the run is outside the steps", text, advice)


def _measure(trace: Trace) -> Measurement:
    outside = outside_steps(trace)
    if outside is None:
        return Measurement(NOT_KNOWN, RUN_SHARE.value, {"reason": Text("no_steps")})
    share = outside.run_share
    return Measurement(share, RUN_SHARE.value, {"share": share, "threshold": RUN_SHARE.value})


def _summarise(figures: Figures) -> str:
    if "reason" in figures:
        return f"Time outside steps is not available: {figures['reason']}."
    return f"Time outside steps is {format_percent(figures['share'])} of the run{beyond(figures)}."


RULE = Rule("outside steps", {"RUN_SHARE": RUN_SHARE}, _find, _word, _measure, _summarise, whole=True)
