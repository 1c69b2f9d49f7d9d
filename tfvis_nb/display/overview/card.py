"""The card of a trace: a sentence, the figures of its overview, and the parts of its step time."""

from typing import Any, TypedDict

from tfvis_nb.analysis.overview.lines import STEP_TIME, overview_lines, parts_term
from tfvis_nb.core.format import unbroken
from tfvis_nb.core.labels import printable, task_label
from tfvis_nb.core.trace import Trace

_LONGEST = 400

OverviewLine = tuple[str, list[str], str]
"""A term, its values, and its definition."""


class StepPart(TypedDict):
    """A part of a step: the name of an activity, its time, and its share of the step."""

    name: str
    ns: float
    share: float


class StepBar(TypedDict):
    """The parts of a step in one task."""

    label: str
    parts: list[StepPart]


class OverviewCard(TypedDict):
    """The overview of a trace."""

    headline: str
    step_time: OverviewLine | None  # None without steps
    lines: list[OverviewLine]
    bars: list[StepBar]  # The step time of each task
    certainty: list[str]  # How far the figures can be trusted, and which data was not recorded


def card(trace: Trace) -> OverviewCard:
    """Return the overview card."""
    facts = trace.overview
    lines: list[OverviewLine] = [
        (term, [unbroken(printable(value, _LONGEST)) for value in values], about)
        for term, values, about in overview_lines(facts)
        # For a single bar, the shares of its parts are next to it.
        if term != parts_term(facts)
    ]
    return {
        "headline": printable(facts["headline"], _LONGEST),
        "step_time": next((line for line in lines if line[0] in STEP_TIME), None),
        "lines": [line for line in lines if line[0] not in STEP_TIME],
        "bars": _bars(facts["step_time"], parts_term(facts)),
        "certainty": [unbroken(printable(text, _LONGEST)) for text in facts["certainty"]],
    }


def _bars(step_time: dict[str, Any] | None, term: str) -> list[StepBar]:
    """Return a bar for each task, with the parts of its steps in the order of the breakdown."""
    if step_time is None or not step_time["step_ns"]:
        return []
    tasks = step_time["tasks"]
    return [
        {
            "label": printable(task_label(task["task"]), _LONGEST) or "local" if len(tasks) > 1 else term,
            "parts": [
                {
                    "name": part.removesuffix("_ns"),
                    "ns": amount,
                    "share": amount / max(task["step_ns"], 1),
                }
                for part, amount in task["parts"].items()
            ],
        }
        for task in tasks
    ]
