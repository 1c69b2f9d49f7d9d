"""Steps wait until a shuffle buffer is full."""

import ast
from typing import Any

from tfvis_nb.analysis.findings.finding import OBSERVATION, PROBLEM, PROBLEM_SHARE, Finding, step_range
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
)
from tfvis_nb.analysis.input.input_pipeline import input_pipeline
from tfvis_nb.analysis.input.shuffle_fills import LEAST_NS, LEAST_SHARE, MANY_BATCHES, shuffle_fills
from tfvis_nb.analysis.source.dataset_calls import method_calls
from tfvis_nb.analysis.steps.breakdown import breakdown
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.labels import task_label
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

SHARE = Threshold(LEAST_SHARE, "wait for input during fills / time from the first event to the last")
WAIT_NS = Threshold(LEAST_NS, "that wait: starting a pipeline alone takes tens of ms")
BATCHES = Threshold(
    MANY_BATCHES,
    "batches read by a fill: with two prefetched batches three are read before the second step anyway",
)
_FIRST = "shuffle file names or indices before the data is read and decoded"


def _find(trace: Trace) -> list[Finding]:
    fills = shuffle_fills(trace)
    if fills is None or not fills.is_long:
        return []
    steps = breakdown(other_steps(trace)).drop_duplicates("step").set_index("step")["step_ns"]
    within = fills.by_step.reindex(steps.index, fill_value=0)
    repeats = len(fills.events) > 1
    is_within = repeats and 2 * int(within.sum()) >= fills.wait_ns
    share = int(within.sum()) / int(steps.sum()) if is_within else NOT_KNOWN
    most = int(fills.by_step.to_numpy().argmax())
    step = NO_STEP if 2 * fills.outside_ns > fills.wait_ns else int(fills.by_step.index.to_numpy()[most])
    longest = trace.events.iloc[fills.events[0]]
    start = int(longest["start_ns"])
    end = start + int(longest["duration_ns"])
    figures: dict[str, Any] = {
        "task": fills.task,
        "fills": len(fills.events),
        "elements": fills.elements,
        "buffer_size": fills.buffer_size,
        "fill_ns": fills.fill_ns,
        "wait_ns": fills.wait_ns,
        "run_share": fills.run_share,
        "step": step,
        "line": _line(trace, fills.buffer_size),
        "slowest_stage": slowest_stage(trace, fills.task or None, outside=True),
    }
    if step != NO_STEP:
        start, end = step_range(trace, step)
    level = PROBLEM if repeats and fills.run_share >= PROBLEM_SHARE else OBSERVATION
    return [Finding("shuffle_buffer", share, figures, step, start, end, fills.events, level, fills.wait_ns)]


def _line(trace: Trace, buffer_size: int | None) -> str:
    """Return the line of the only call of shuffle() that can have this buffer; "" if unknown."""
    lines = [call.line for call in method_calls(trace, "shuffle") if _can_have(call.node, buffer_size)]
    return lines[0] if len(lines) == 1 else ""


def _can_have(call: ast.Call, buffer_size: int | None) -> bool:
    """Return whether a call of shuffle() has no other constant as its buffer_size."""
    sizes = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "buffer_size")]
    constants = [one.value for one in sizes if isinstance(one, ast.Constant)]
    return buffer_size is None or all(one == buffer_size for one in constants)


def _word(_key: str, figures: Figures) -> Texts:
    where = f" ({figures['line']})" if figures["line"] else ""
    subject = capital(task_label(figures["task"]) or "the program")
    wait, fills = format_duration(figures["wait_ns"]), figures["fills"]
    first = f"shuffle(){where} reads {figures['elements']:,} elements before it returns the first"
    named = stage_clause(figures["slowest_stage"], figures["fill_ns"])
    how = f"That is {format_percent(figures['run_share'])} of the run."
    how += stage_sentence(figures["slowest_stage"], figures["fill_ns"])
    if fills > 1:
        title = "The shuffle buffer is filled again and again"
        text = f"{subject} waits {wait} in all while {first}, {fills:,} times{named}."
        advice = (
            f"Use a smaller buffer_size, {_FIRST}, or put repeat() before shuffle() and keep one iterator."
        )
        return Texts(title, text, advice, how)
    title = "The shuffle buffer is filled before the first step"
    text = f"{subject} waits {wait} while {first}{named}."
    advice = f"This happens once, which matters if runs are short: use a smaller buffer_size, or {_FIRST}."
    return Texts(title, text, advice, how)


def _measure(trace: Trace) -> Measurement:
    if not len(input_pipeline(trace)):
        return Measurement.unknown(SHARE, Text("no_input_pipeline"))
    fills = shuffle_fills(trace)
    return Measurement.of(SHARE, fills.run_share if fills else 0.0)


def _summarise(figures: Figures) -> str:
    share = format_percent(figures["share"])
    return f"Waiting for a shuffle buffer to be filled takes {share} of the run{beyond(figures)}."


def _headline(figures: Figures) -> str:
    return f"Filling a shuffle buffer takes {format_percent(figures['run_share'])} of the run"


RULE = Rule(
    "shuffle buffer",
    {"SHARE": SHARE, "WAIT_NS": WAIT_NS, "BATCHES": BATCHES},
    _find,
    _word,
    _measure,
    _summarise,
    "Filling of shuffle buffers is",
    whole=True,
    headline=_headline,
)
