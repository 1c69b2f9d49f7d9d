"""The card of a trace: a sentence, the figures of its overview, and the parts of its step time."""

from typing import Any

from tfvis_nb.analysis.overview.lines import STEP_TIME, overview_lines, parts_term
from tfvis_nb.core.format import unbroken
from tfvis_nb.core.labels import printable, task_label
from tfvis_nb.core.trace import Trace

_LONGEST = 400


def card(trace: Trace) -> dict[str, Any]:
    """Return the overview card: ``headline``, ``step_time``, ``lines``, ``certainty`` and ``bars``.

    The bars show step time, one for each task, with the ``name`` of each activity, its time in ns and its
    ``share``; the rest is text. A line is a term, its values and its meaning; ``step_time``
    is None without steps.
    """
    facts = trace.overview
    lines = [
        [term, [unbroken(printable(value, _LONGEST)) for value in values], about]
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


def _bars(step_time: dict[str, Any] | None, term: str) -> list[dict[str, Any]]:
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
