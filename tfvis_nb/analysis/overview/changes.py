"""Differences of the figures of an overview from those of a base, in words."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from tfvis_nb.analysis.steps.compare import compare
from tfvis_nb.analysis.steps.compare_activities import compare_activities
from tfvis_nb.analysis.steps.compared_steps import compared_pair
from tfvis_nb.analysis.steps.difference import Difference
from tfvis_nb.analysis.steps.difference_text import (
    change_texts,
    difference_text,
    share_in_base,
    untested_text,
)
from tfvis_nb.analysis.steps.step_differences import loop_time, step_time
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

_Row = dict[str, Any]


def add_changes(facts: _Row, earlier: Mapping[str, Any], trace: Trace, base: Trace) -> None:
    """Add to the figures of an overview their ``change`` from those of a base, `earlier`.

    A figure that the base lacks has none. Where steps show how much a time varies, the words are those of a
    comparison; other figures have their arithmetic difference, and shares the share of the base.
    """
    _add_step_times(facts, earlier, trace, base)
    for one, other in _pairs(facts["kinds"], earlier["kinds"], "kind"):
        one["change"] = untested_text(other["typical_ns"], one["typical_ns"])
    if facts["first_step"] and earlier["first_step"]:
        times = (each["first_step"]["first_ns"] for each in (earlier, facts))
        facts["first_step"]["change"] = untested_text(*times)
    if facts["step_time"] and earlier["step_time"]:
        _add_parts(facts, trace, base)
        facts["host_change"] = share_in_base(earlier["host_ns"] / max(earlier["step_time"]["step_ns"], 1))
    for one, other in _pairs(facts["devices"], earlier["devices"], "task", "device"):
        one["change"] = share_in_base(other["busy_share"])
    if facts["outside"] and earlier["outside"]:
        shares = ("loop", "run")
        facts["outside"] |= {
            f"{name}_change": share_in_base(earlier["outside"][f"{name}_share"]) for name in shares
        }
    if facts["undivided"] and earlier["undivided"]:
        facts["phases"] = [dict(phase) for phase in facts["phases"]]
        for one, other in _pairs(facts["phases"], earlier["phases"], "op"):
            one["change"] = untested_text(other["ns"], one["ns"])
    _add_ops(facts, trace, base)
    _add_lines(facts, trace, base)
    for one, other in _pairs(facts["memory"], earlier["memory"], "task", "allocator"):
        one["change"] = untested_text(other["peak_bytes"], one["peak_bytes"])


def _add_step_times(facts: _Row, earlier: Mapping[str, Any], trace: Trace, base: Trace) -> None:
    steps, before = facts["steps"], earlier["steps"]
    if not (steps["count"] and before["count"]) or facts["undivided"] != earlier["undivided"]:
        return
    sides = compared_pair(base, trace, (None, None), "overview")
    if sides[0].unit == "steps":
        steps["change"] = _tested(step_time(*sides))
        steps["interval_change"] = _tested(loop_time(*sides))
    elif facts["undivided"]:
        steps["change"] = untested_text(before["typical_ns"], steps["typical_ns"])
    if steps["joules"] and before["joules"]:
        steps["joules_change"] = untested_text(before["joules"], steps["joules"])
    if steps["p95_ns"] and before["p95_ns"]:
        steps["p95_change"] = untested_text(before["p95_ns"], steps["p95_ns"])


def _tested(result: Difference) -> str:
    """Format a difference of steps; without the words of a claim if these are too few."""
    if not (result.a > 0 and result.b > 0):
        return ""
    if math.isnan(result.low) and not result.shown:
        return Text("change_too_few", change=untested_text(result.a, result.b))
    return difference_text(result.ratio, result.low, result.high, shown=result.shown)


def _add_parts(facts: _Row, trace: Trace, base: Trace) -> None:
    changes = compare_activities(base, trace)
    if why_not(changes):
        return
    texts = change_texts(changes, "a_ns", "b_ns", brief=True)
    # Single tasks match under any names.
    is_named = len(changes["task"].unique()) > 1
    tasks = changes["task"] if is_named else [""] * len(changes)
    known = dict(zip(zip(tasks, changes["activity"] + "_ns", strict=True), texts, strict=True))
    for task in facts["step_time"]["tasks"]:
        pairs = {part: known.get((task["task"] if is_named else "", part)) for part in task["parts"]}
        task["changes"] = {part: text for part, text in pairs.items() if text}


def _add_ops(facts: _Row, trace: Trace, base: Trace) -> None:
    if not any(facts["top_ops"].values()):
        return
    changes = compare(base, trace, by="op")
    texts = _texts(changes, "op", "kind", "side")
    for side, ops in facts["top_ops"].items():
        for op in ops:
            op["change"] = texts.get((op["op"], op["kind"], side), "")


def _add_lines(facts: _Row, trace: Trace, base: Trace) -> None:
    if not facts["top_lines"]:
        return
    changes = compare(base, trace, by="line")
    # A line with events of several kinds has no row of its own.
    changes = changes[~changes.duplicated(["line", "side"], keep=False)]
    texts = _texts(changes, "line", "side")
    for line in facts["top_lines"]:
        line["change"] = texts.get((f"{line['file']}:{line['line']}", line["side"]), "")


def _texts(changes: pd.DataFrame, *names: str) -> dict[tuple[Any, ...], str]:
    """Return the difference of each row of `compare`, by some of its columns."""
    keys = zip(*(changes[name] for name in names), strict=True)
    return dict(zip(keys, change_texts(changes, "self_a_ns", "self_b_ns", brief=True), strict=True))


def _pairs(rows: Iterable[_Row], others: Iterable[_Row], *names: str) -> list[tuple[_Row, _Row]]:
    """Pair records with equal keys."""
    known = {tuple(other[name] for name in names): other for other in others}
    keyed = ((row, known.get(tuple(row[name] for name in names))) for row in rows)
    return [(row, other) for row, other in keyed if other is not None]
