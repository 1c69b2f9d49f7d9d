"""The card of a trace: a sentence, the figures of its overview, and the parts of its median step."""

from typing import Any

from tfvis_nb.analysis.overview.lines import MEDIAN_STEP, overview_lines, part_label
from tfvis_nb.core.format import format_duration, format_percent, unbroken
from tfvis_nb.core.labels import printable, task_label
from tfvis_nb.core.trace import Trace

_LONGEST = 400


def card(trace: Trace) -> dict[str, Any]:
    """Return what is drawn of the overview: ``headline``, ``lines`` and the ``bars`` of the median step.

    All of it is text but for the parts of a bar: ``name`` of an activity, and its ``share`` of the step.
    """
    facts = trace.overview
    return {
        "headline": printable(facts["headline"], _LONGEST),
        "lines": [
            [term, [unbroken(printable(value, _LONGEST)) for value in values], about]
            for term, values, about in overview_lines(facts)
            # The parts of a single bar have their shares next to it.
            if term != MEDIAN_STEP
        ],
        "bars": _bars(facts["median_step"], facts["steps"]["count"]),
    }


def _bars(middle: dict[str, Any] | None, steps: int) -> list[dict[str, Any]]:
    """Return a bar for each task, with the parts of its median step in the order of the breakdown."""
    if middle is None or not middle["step_ns"]:
        return []
    step, several = MEDIAN_STEP if steps > 1 else "Step by activity", len(middle["tasks"]) > 1
    return [
        {
            "label": ", ".join(
                printable(text, _LONGEST)
                for text in (step, task_label(task["task"]) if several else "")
                if text
            ),
            "parts": [
                {
                    "name": part.removesuffix("_ns"),
                    "share": amount / middle["step_ns"],
                    "text": f"{part_label(part)}: {format_duration(amount)},"
                    f" {format_percent(amount / middle['step_ns'])} of the step",
                }
                for part, amount in task["parts"].items()
            ],
        }
        for task in middle["tasks"]
    ]
