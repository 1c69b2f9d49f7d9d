"""The tab that says what took longer than in another trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfvis_nb.analysis import compare
from tfvis_nb.analysis.answers import why_not
from tfvis_nb.display.labels import lane_label
from tfvis_nb.display.panels.blocks import MOST_ROWS, Column, figures, key, table
from tfvis_nb.display.panels.places import Places
from tfvis_nb.display.panels.wording import activity_label

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace


def blocks(trace: Trace, against: Trace) -> list[dict[str, Any]]:
    """Return what differs, by activity and by op type; `against` is the first, `trace` the second."""
    return [_activities(trace, against), _ops(trace, against)]


def _definition(trace: Trace, against: Trace) -> str:
    first, second = (each.title or "a trace without title" for each in (against, trace))
    return f"The first is {first}, the second is {second}, which the timeline shows."


def _activities(trace: Trace, against: Trace) -> dict[str, Any]:
    found = compare.compare_activities(against, trace)
    columns = [
        Column("activity", "Activity", "text", "What happened, as in the breakdown."),
        key("task", "Task"),
        *figures(
            compare.FIGURES,
            ("difference_ns", "Longer by", "ns"),
            ("a_ns", "First", "ns"),
            ("b_ns", "Second", "ns"),
            ("ratio", "Ratio", "ratio"),
        ),
    ]
    rows = found.assign(
        activity=[activity_label(name) for name in found["activity"]],
        task=[lane_label(task, "", "") or "local" for task in found["task"]],
    )
    return table(
        "Activities",
        rows,
        columns,
        definition=_definition(trace, against),
        reason=why_not(found),
    )


def _ops(trace: Trace, against: Trace) -> dict[str, Any]:
    found = compare.compare(against, trace, by="op")
    columns = [
        key("op", "Op", "name"),
        Column("kind", "Kind", "text", "What the events are; those of one kind are compared."),
        *figures(
            compare.FIGURES,
            ("change", "Change", "text"),
            ("step_difference_ns", "A step longer by", "ns"),
            ("self_a_ns", "First", "ns"),
            ("self_b_ns", "Second", "ns"),
            ("count_a", "Count", "count"),
            ("count_b", "Count of second", "count"),
            ("mean_a_ns", "Mean", "ns"),
            ("mean_b_ns", "Mean of second", "ns"),
        ),
    ]
    found = found[found["side"].astype(str) != "repeated"]
    rows = found.head(MOST_ROWS)
    zoom = [] if why_not(found) else Places(trace).of_events(rows["longest_b"])
    return table(
        "Op types",
        rows,
        columns,
        definition=f"{_definition(trace, against)} The largest differences of a step first.",
        zoom=zoom,
        light="op",
        reason=why_not(found),
        of=len(found),
        order="largest",
    )
