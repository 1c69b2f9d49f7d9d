"""The tab that compares with another trace."""

from tfvis_nb.analysis.steps import compare
from tfvis_nb.analysis.steps.compare_activities import compare_activities
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.shaping.side import compared, distinct_names
from tfvis_nb.display.tabs import comparison
from tfvis_nb.display.tabs.blocks import Block, TableBlock
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets

_LONGEST = 24
"""Maximum characters of a title in a column's head."""


def blocks(trace: Trace, against: Trace) -> list[Block]:
    """Return the total differences, and those by activity and op type; `against` is A, `trace` is B."""
    heads = _heads(trace, against)
    whole = comparison.whole(compared(against, None), compared(trace, None), heads)
    changes = compare_activities(against, trace)
    activities = comparison.activities(changes, "Activities", _definition(trace, against), heads)
    return [whole, activities, _ops(trace, against, heads)]


def _heads(trace: Trace, against: Trace) -> tuple[str, str]:
    """Return the heads of both traces' columns: A and B, as in the comparison of timelines, and titles."""
    titles = [printable(" ".join(name.split()), _LONGEST) for name in distinct_names(against, trace)]
    first, second = (
        f"{letter}, {what}" + (f": {title}" if title else "")
        for letter, what, title in zip("AB", ("against", "this"), titles, strict=True)
    )
    return first, second


def _definition(trace: Trace, against: Trace) -> str:
    first, second = (name or "an untitled trace" for name in distinct_names(against, trace))
    return f"A is {first}, B is {second}, which the timeline shows."


def _ops(trace: Trace, against: Trace, heads: tuple[str, str]) -> TableBlock:
    return comparison.differences(
        "Op types",
        compare.compare(against, trace, by="op"),
        "op",
        _definition(trace, against),
        lambda rows: ZoomTargets(trace).of_events(rows["longest_b"]),
        heads,
    )
