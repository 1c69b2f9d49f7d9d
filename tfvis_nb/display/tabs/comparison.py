"""The tabs under two compared timelines: times of both, and the differences."""

from __future__ import annotations

from statistics import median_low
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps import compare
from tfvis_nb.analysis.steps.compare_activities import compare_activities
from tfvis_nb.analysis.steps.compared_steps import ComparedSteps, compared_pair
from tfvis_nb.analysis.steps.difference_text import change_texts, which_text
from tfvis_nb.analysis.steps.step_differences import loop_time, ratio_of, step_time
from tfvis_nb.analysis.steps.utilization import busiest_accelerator
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.labels import shown_task
from tfvis_nb.display.overview.findings_block import Zoom
from tfvis_nb.display.tabs import flame_graph
from tfvis_nb.display.tabs.blocks import MOST_ROWS, Block, Part, TableBlock, TableColumn, figures, key, table
from tfvis_nb.display.tabs.wording import activity_label
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets
from tfvis_nb.events import NO_STEP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfvis_nb.display.shaping.side import Compared

PARTS: dict[str, compare.Grouping | Literal["", "flame"]] = {
    "Activities": "",
    "Ops": "op",
    "Nodes": "name",
    "Scopes": "scope",
    "Layers": "layer",
    "Lines": "line",
    "Flame graph": "flame",
}
"""Title of each part of a tab to its comparison."""

_HEADS = {"op": "Op", "name": "Node", "scope": "Scope", "layer": "Layer", "line": "Line"}
_LIGHT = ("op", "name", "scope")
_DIFFERENCES = TableColumn(
    "status",
    "Difference",
    "text",
    "How much longer or shorter the row takes in a typical step of B than in one of A, with the 95 % interval"
    " from the variation of the steps or, with three or more runs of each, of the runs. With fewer it is a"
    " difference of these recordings: runs of the same code also differ. A difference that chance explains,"
    " given the number of rows, is not clear.",
)
_LARGEST_FIRST = "The largest differences come first."
_SHOWN_FIRST = "Clear differences come first, the largest before the others."
_STATUS, _P_VALUE = figures(compare.FIGURES, ("change", "Status", "text"), ("p_value", "p", "ratio"))


def parts(a: Compared, b: Compared) -> list[tuple[str, str]]:
    """Return the titles of tab and part for each comparison that the traces allow."""
    sides = (a.trace, b.trace)
    missing = set()
    if not any((trace.layers["layer"] != "").any() for trace in sides):
        missing.add("layer")
    if any(why_not(trace.source_lines) for trace in sides):
        missing.add("line")
    return [("Ops" if by else name, name) for name, by in PARTS.items() if by not in missing]


def tab(a: Compared, b: Compared, name: str) -> Part:
    """Compute the content of one of `PARTS`, like `tfvis_nb.display.tabs.tab`."""
    by = PARTS[name]
    blocks: list[Block]
    if by == "flame":
        blocks = [flame_graph.difference(a, b)]
    else:
        blocks = [_differences(a, b, by)] if by else [whole(a, b), _activities(a, b)]
    return {"tab": "Ops" if by else name, "title": name, "blocks": blocks}


def without_lines(tabs: Sequence[Part]) -> list[Part]:
    """Return the tabs without lines of code."""
    return [
        {**each, "blocks": [_without_stacks(block) for block in each["blocks"]]}
        for each in tabs
        if PARTS[each["title"]] != "line"
    ]


def _without_stacks(block: Any) -> Any:
    if block["kind"] != "flame":
        return block
    return {**block, "graphs": [graph for graph in block["graphs"] if graph["by"] != "stack"]}


def _differences(a: Compared, b: Compared, by: compare.Grouping) -> TableBlock:
    what = (
        "Self times: without the events nested on the same lane; simultaneous events all count. "
        "Click a row to see the longest event of both."
    )
    title = f"Differences by {_HEADS[by].lower()}"
    changes = compare.compare(a.steps, b.steps, by)
    return differences(title, changes, by, what, lambda rows: _zoom(a, b, rows))


def differences(
    title: str,
    changes: pd.DataFrame,
    by: str,
    definition: str,
    zoom: Callable[[pd.DataFrame], list[Any]],
    heads: tuple[str, str] = ("A", "B"),
) -> TableBlock:
    """Return a table of `compare`; `heads` are the heads of both times, `zoom` has the events of rows."""
    is_known = _has_intervals(changes)
    changes = _per_step(changes, "self_a_ns", "self_b_ns")
    columns = [
        key(by, _HEADS[by], "name"),
        TableColumn("kind", "Kind", "text", "Kind of the events; only events of the same kind are compared."),
        _DIFFERENCES if is_known else _STATUS,
        *_times_per_step(changes, heads),
        *figures(
            compare.FIGURES,
            ("count_a", "Count A", "count"),
            ("count_b", "Count B", "count"),
            ("mean_a_ns", "Mean A", "ns"),
            ("mean_b_ns", "Mean B", "ns"),
        ),
        *([_P_VALUE] if is_known else []),
    ]
    reason = why_not(changes)
    definition = _with_reason(f"{definition} {_SHOWN_FIRST if is_known else _LARGEST_FIRST}", changes)
    changes = changes[changes["side"].astype(str) != "repeated"]
    if is_known:
        size = -changes["step_change_ns"].abs().fillna(-1).to_numpy()
        changes = changes.iloc[np.lexsort((size, ~changes["shown"].fillna(False).to_numpy(bool)))]
    rows = _with_words(changes.head(MOST_ROWS), "self_a_ns", "self_b_ns")
    return table(
        title,
        rows,
        columns,
        definition=definition,
        zoom=[] if reason else zoom(rows),
        light=by if by in _LIGHT else None,
        reason=reason,
        row_count=len(changes),
        order="largest",
    )


def _per_step(changes: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Add the times of both sides per step, from the columns `a` and `b`, with their difference and ratio."""
    if _has_intervals(changes):
        times = changes["typical_a_ns"], changes["typical_b_ns"]
    else:
        steps = changes.attrs.get("steps", (1, 1))
        first, second = (
            changes[name].astype("Float64") / count for name, count in zip((a, b), steps, strict=True)
        )
        times = first, second
    return changes.assign(
        step_change_ns=times[1] - times[0],
        step_a_ns=times[0],
        step_b_ns=times[1],
        step_ratio=ratio_of(times[1], times[0]),
    )


def _times_per_step(changes: pd.DataFrame, heads: tuple[str, str]) -> list[TableColumn]:
    """Return the columns that `_per_step` adds."""
    several = changes.attrs.get("steps", (1, 1)) != (1, 1)
    part = changes.attrs.get("unit", "steps").removesuffix("s")
    what = f"a typical {part}" if _has_intervals(changes) else f"the {part}"
    if several and not _has_intervals(changes):
        what = f"{'an' if part[0] == 'i' else 'a'} {part}, on average,"
    change = f"Change per {part}" if several else "Change"
    return [
        TableColumn("step_change_ns", change, "change", f"How much longer {what} of B takes, in ns."),
        TableColumn("step_a_ns", heads[0], "ns", f"Time in {what} of A, in ns."),
        TableColumn("step_b_ns", heads[1], "ns", f"Time in {what} of B, in ns."),
        TableColumn("step_ratio", "B / A", "ratio", "B / A."),
    ]


def _has_intervals(changes: pd.DataFrame) -> bool:
    return "no_interval" not in changes.attrs and not why_not(changes)


def _with_reason(definition: str, changes: pd.DataFrame) -> str:
    reason = changes.attrs.get("no_interval")
    return f"{definition} No intervals: {reason}." if reason else definition


def _with_words(rows: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Add the columns that state whether a row differs, and how certain that is."""
    unnamed = {name: rows[name].replace("", f"no {name}") for name in ("layer", "line") if name in rows}
    return rows.assign(status=change_texts(rows, a, b), **unnamed)


def _zoom(a: Compared, b: Compared, rows: pd.DataFrame) -> list[Zoom | None]:
    """Return for each row a time range with the longest event of each side, and the two events."""
    targets = []
    for side, column in ((a, "longest_a"), (b, "longest_b")):
        known = rows[column].to_numpy(np.int64, na_value=-1)
        there = side.shown_ids(known) if len(side.ids) else np.full(len(rows), -1)
        targets.append(ZoomTargets(side.shown).of_events(there) if len(side.ids) else [None] * len(rows))
    return [_both(one, other) for one, other in zip(*targets, strict=True)]


def _both(one: Zoom | None, other: Zoom | None) -> Zoom | None:
    some = [target for target in (one, other) if target is not None]
    if not some:
        return None
    return {
        "start": min(target["start"] for target in some),
        "end": max(target["end"] for target in some),
        "sides": [[] if target is None else target["events"] for target in (one, other)],
    }


def whole(a: Compared, b: Compared, heads: tuple[str, str] = ("A", "B")) -> TableBlock:
    """Return a table of the durations of both sides and their steps; `heads` are the column heads."""
    columns = [
        TableColumn("what", "What", "text", "The time that is compared."),
        TableColumn("difference", "Change", "change", "B - A, in ns."),
        TableColumn("a", heads[0], "ns", "Of A, in ns."),
        TableColumn("b", heads[1], "ns", "Of B, in ns."),
        TableColumn("ratio", "B / A", "ratio", "B / A."),
    ]
    sides = compared_pair(a.steps, b.steps, (None, None))
    times = [_times(side, part) for side, part in zip((a, b), sides, strict=True)]
    for part, times_with, times_of in (
        ("step", step_time, ComparedSteps.durations),
        ("round" if sides[0].loop is None else "iteration", loop_time, ComparedSteps.loops),
    ):
        difference = times_with(*sides)
        if min(len(np.concatenate(times_of(side))) for side in sides) > 1 and difference.a > 0:
            for of_side, ns in zip(times, (difference.a, difference.b), strict=True):
                of_side[f"{which_text(difference).capitalize()} {part}"] = round(ns)
    # The headline is about these means.
    names = sorted(
        (name for name in times[0] if name in times[1]), key=lambda name: _part(name) not in _MEANS
    )
    rows = pd.DataFrame(
        {"what": names, "a": [times[0][name] for name in names], "b": [times[1][name] for name in names]}
    )
    rows["difference"] = rows["b"] - rows["a"]
    rows["ratio"] = rows["b"] / rows["a"].where(rows["a"] > 0)
    return table("Summary", rows, columns, hints=[(_MEANS | _HINTS)[_part(name)] for name in names])


_MEANS = {
    "step": "Mean of the steps without the longest and the shortest fifth, in ns; of three or more runs on"
    " both sides, the same mean of their means. A first step that is set apart is left out.",
    "round": "The same for rounds of the loop, from the start of a step to that of the next, in ns.",
    "iteration": "The same for the iterations of a loop, found by its repeating ops, in ns.",
}
"""Hints for a typical step and the like, or an average one if the times are not alike."""


def _part(name: str) -> str:
    which, _, part = name.partition(" ")
    return part if which in ("Typical", "Average") else name


_HINTS = {
    "Duration": "How long the recording took, with your Python before the first event and after the last"
    " one, or the duration of the step, in ns. Of several recordings, the mean without the longest and the"
    " shortest fifth.",
    "All steps": "Sum of the steps' durations, in ns.",
    "Device busy": "How long the busiest device of a step was busy, in ns; of several steps the median.",
}


def _times(side: Compared, part: ComparedSteps) -> dict[str, int]:
    """Return the measurable figures of a side, by name; `part` is compared with the other side."""
    steps = side.trace.steps[side.trace.steps["step"] != NO_STEP]
    if side.step is not None:
        steps = steps[steps["step"] == side.step]
    took = steps["duration_ns"]
    whole_ns = round(part.whole().whole_ns) if part.wholes_ns else 0
    values = {"Duration": whole_ns if side.step is None else int(took.iloc[0])}
    if len(took) > 1:
        values["All steps"] = int(took.sum())
    of_step = busiest_accelerator(side.trace) if part.unit == "steps" else {}
    busy = [ns for step in steps["step"] if (ns := of_step.get(step)) is not None]
    if busy:
        values["Device busy"] = median_low(busy)
    return values


def _activities(a: Compared, b: Compared) -> TableBlock:
    changes = compare_activities(a.steps, b.steps)
    return activities(
        changes,
        "By activity",
        "At each point in time a step has one activity.",
        with_task=len(set(changes["task"])) > 1,
    )


def activities(
    changes: pd.DataFrame,
    title: str,
    definition: str,
    heads: tuple[str, str] = ("A", "B"),
    *,
    with_task: bool = True,
) -> TableBlock:
    """Return the table of `tfvis_nb.analysis.compare_activities`."""
    changes = _per_step(changes, "a_ns", "b_ns")
    order = np.lexsort((-changes["step_change_ns"].abs().fillna(-1).to_numpy(), changes["task"].to_numpy()))
    changes = changes.iloc[order]
    columns = [
        TableColumn("activity", "Activity", "text", "Activity, as in the breakdown."),
        *([key("task", "Task")] if with_task else []),
        *([_DIFFERENCES] if _has_intervals(changes) else []),
        *_times_per_step(changes, heads),
        *([_P_VALUE] if _has_intervals(changes) else []),
    ]
    definition = _with_reason(definition, changes)
    rows = _with_words(changes, "a_ns", "b_ns").assign(
        activity=[activity_label(name) for name in changes["activity"]],
        task=[shown_task(task) for task in changes["task"]],
    )
    return table(title, rows, columns, definition=definition, reason=why_not(changes))
