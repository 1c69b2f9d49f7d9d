"""The card of a trace: a sentence, the figures of its overview, and the parts of its step time."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from tfvis_nb.analysis.overview.compare_findings import findings_against
from tfvis_nb.analysis.overview.lines import STEP_TIME, Line, overview_lines, parts_term, tested
from tfvis_nb.analysis.overview.overview import overview
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.core.format import format_duration, unbroken
from tfvis_nb.core.labels import printable, task_label
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import id_of

_LONGEST = 400
_WITHOUT_AMOUNT = ("change_none", "no_clear_difference", "too_few_steps")
"""Changes that only the line of the parts has: the legend next to a bar is short."""

OverviewLine = tuple[str, list[str], str]
"""A term, its values, and its definition."""


class StepPart(TypedDict):
    """A part of a step: the name of an activity, its time, and its share of the step."""

    name: str
    ns: float
    share: float
    change: NotRequired[str]  # From a base, for the legend


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


def card(trace: Trace, against: Trace | None = None) -> OverviewCard:
    """Return the overview card, with differences from a base `against`."""
    facts = trace.overview if against is None else overview(trace, against)
    # For a single bar, the shares of its parts are next to it, without their changes.
    kept = [line for line in overview_lines(facts) if against is not None or line.term != parts_term(facts)]
    lines: list[OverviewLine] = [
        (term, [unbroken(printable(value, _LONGEST)) for value in values], about)
        for term, values, about in [*([] if against is None else _compared(trace, against)), *kept]
    ]
    return {
        "headline": printable(facts["headline"], _LONGEST),
        "step_time": next((_brief(line, facts) for line in lines if line[0] in STEP_TIME), None),
        "lines": [line for line in lines if line[0] not in STEP_TIME],
        "bars": _bars(facts["step_time"], parts_term(facts)),
        "certainty": [unbroken(printable(text, _LONGEST)) for text in facts["certainty"]],
    }


def _brief(line: OverviewLine, facts: Mapping[str, Any]) -> OverviewLine:
    """Return the line of step time; with a change, its definition has the other words."""
    term, values, about = line
    if not (change := facts["steps"].get("change")):
        return line
    value = tested(format_duration(facts["steps"]["typical_ns"]), change, facts["steps"]["alike"])
    return term, [unbroken(value)], f"{values[0]}. {about}"


def _compared(trace: Trace, base: Trace) -> list[Line]:
    """Return the sentences of a comparison with a base, and the findings that only the base has."""
    sentences = (f"A is {base.title or 'the base'}, B is this.", *map(str, comparison_headline(base, trace)))
    _, removed = findings_against(trace, base)
    lines = [Line("Difference from the base", sentences, "B - A, as in tfvis_nb.show_comparison.")]
    if removed:
        lines.append(Line("Findings of the base only", tuple(removed), "With the share of their cause here."))
    return lines


def _bars(step_time: dict[str, Any] | None, term: str) -> list[StepBar]:
    """Return a bar for each task, with the parts of its steps in the order of the breakdown."""
    if step_time is None or not step_time["step_ns"]:
        return []
    tasks = step_time["tasks"]
    return [
        {
            "label": printable(task_label(task["task"]), _LONGEST) or "local" if len(tasks) > 1 else term,
            "parts": [_part(name, amount, task) for name, amount in task["parts"].items()],
        }
        for task in tasks
    ]


def _part(name: str, amount: int, task: Mapping[str, Any]) -> StepPart:
    share = amount / max(task["step_ns"], 1)
    part: StepPart = {"name": name.removesuffix("_ns"), "ns": amount, "share": share}
    change = task.get("changes", {}).get(name, "")
    if change and id_of(change) not in _WITHOUT_AMOUNT:
        part["change"] = unbroken(f" ({change})")
    return part
