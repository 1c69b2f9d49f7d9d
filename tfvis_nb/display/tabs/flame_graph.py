"""The tabs with flame graphs: self time by name scope, layer, line of code or thread, and its change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import ACTIVITIES
from tfvis_nb.analysis.events.bar_categories import drawn_activity
from tfvis_nb.analysis.steps.compare_flame_graphs import common_frames, why_no_common_frames
from tfvis_nb.analysis.steps.compared_steps import compared_pair
from tfvis_nb.analysis.steps.flame_graph import FRAMES, SIDES, why_no_frames
from tfvis_nb.analysis.steps.frames import Frames, frames
from tfvis_nb.core.labels import printable
from tfvis_nb.display.tabs.blocks import (
    LONGEST_TEXT,
    Block,
    FlameBlock,
    FlameFrames,
    FlameGraph,
    FlamePart,
)
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfvis_nb.analysis.steps.compared_steps import ComparedSteps
    from tfvis_nb.analysis.steps.tree import Tree
    from tfvis_nb.core.trace import Trace
    from tfvis_nb.display.shaping.side import Compared

_MOST_FRAMES = 800
"""Smaller frames count as part of their parent."""
_MOST_PARTS = 50_000
"""Maximum frames times steps; larger graphs do not follow the step that is shown."""
_MOST_LISTED = 10_000
"""Graphs with more events list only the longest of each frame and step, at least one, and follow no time
range."""

_DEFINITION = (
    "Self time of events: each frame is as wide as its own events and all frames in it. Bottom-up shows"
    " each op with its callers below it. Click a frame to enlarge it and to select its events;"
    " in large traces, the longest of them."
)
_CHANGES = (
    "Self time of B in {part}: each frame is as wide as its own events and all frames in it. The color shows"
    " how it differs from A; nothing tests whether that is more than chance. Click a frame to enlarge it and"
    " to select its events in both; in large traces, the longest of them."
)


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    every = np.arange(len(trace.events))
    reasons = (why_no_frames(trace, by, side, every) for by in FRAMES for side in SIDES)
    return "" if not all(reasons) else Text("no_events")


def blocks(trace: Trace) -> list[Block]:
    """Return one block with all graphs, or the reason why there is none."""
    every = np.arange(len(trace.events))
    activity = drawn_activity(trace)
    return [
        _block(
            _DEFINITION,
            lambda by, side: why_no_frames(trace, by, side, every),
            lambda by, side: _frames(trace, frames(trace, by, side, every), activity),
        )
    ]


def difference(a: Compared, b: Compared) -> FlameBlock:
    """Return one block with the graphs of B, and the times of the same frames in A."""
    sides = compared_pair(a.steps, b.steps, (None, None))
    unit = sides[0].unit.removesuffix("s")
    several = any(one.unit_count > 1 for one in sides)
    part = f"{'an' if unit[0] == 'i' else 'a'} {unit}, on average" if several else f"the {unit}"
    return _block(
        _CHANGES.format(part=part),
        lambda by, side: why_no_common_frames(sides, by, side),
        lambda by, side: _difference((a, b), sides, common_frames(sides, by, side)),
    )


def _block(
    definition: str,
    why_no_graph: Callable[[str, str], Text | None],
    graph_of: Callable[[str, str], FlameFrames],
) -> FlameBlock:
    graphs: list[FlameGraph] = []
    reason = ""
    for by in FRAMES:
        for side in SIDES:
            reason = why_no_graph(by, side) or ""
            shown = FlameFrames(labels=[], parents=[], colours=[], parts=[]) if reason else graph_of(by, side)
            graphs.append({"by": by, "side": side, "cannot_say": reason, **shown})
    known = any(not graph["cannot_say"] for graph in graphs)
    return {
        "kind": "flame",
        "title": "Flame graph",
        "definition": definition,
        "cannot_say": "" if known else reason,
        "graphs": graphs if known else [],
    }


def _frames(trace: Trace, frame_table: Frames, activity: np.ndarray) -> FlameFrames:
    """Return the largest frames, parents first, and their times and events by step."""
    tree, events, frame, self_ns = frame_table
    amounts = np.zeros((1, len(tree.part)), np.int64)
    np.add.at(amounts[0], frame, self_ns)
    labels, parents, shown_in = _largest(tree, tree.added_up(amounts)[0])
    frame = shown_in[frame]
    # A frame has the activity of its longest event; the root, to which others' small parts go, has none.
    longest_first = np.argsort(-self_ns, kind="stable")
    colour = np.full(len(labels), -1, np.int64)
    colour[frame[longest_first[::-1]]] = activity[events[longest_first[::-1]]]
    colour[0] = -1
    step = trace.events["step"].to_numpy(np.int64)[events]
    return {
        "labels": labels,
        "parents": parents,
        "colours": ["" if at < 0 else ACTIVITIES[at] for at in colour.tolist()],
        "parts": _parts(step, events, frame, self_ns),
    }


def _difference(
    shown: tuple[Compared, Compared], sides: list[ComparedSteps], both: list[Frames]
) -> FlameFrames:
    """Return the largest frames of two sides, and their times in a step of each."""
    tree = both[0].tree
    times = [one.self_ns / side.unit_count for one, side in zip(both, sides, strict=True)]
    amounts = np.zeros((2, len(tree.part)))
    for amount, one, self_ns in zip(amounts, both, times, strict=True):
        np.add.at(amount, one.frame, self_ns)
    labels, parents, shown_in = _largest(tree, tree.added_up(amounts).max(axis=0))
    parts = []
    for side, one, self_ns in zip(shown, both, times, strict=True):
        own = _parts(None, side.shown_ids(one.events), shown_in[one.frame], self_ns)
        parts += own or [FlamePart(step=None, frames=[], self_ns=[], events=[])]
    for part in parts:
        # Nothing selects a range of both.
        part.pop("own_ns", None)
    return {
        "labels": labels,
        "parents": parents,
        "colours": [""] * len(labels),
        "parts": [parts[1]],
        "base": parts[0],
    }


def _largest(tree: Tree, total: np.ndarray) -> tuple[list[str], list[int], np.ndarray]:
    """Return the labels and parents of the largest frames, and which of them each frame counts as part of."""
    least = np.sort(total)[-_MOST_FRAMES] if len(total) > _MOST_FRAMES else 0
    # The root has no parent.
    kept = np.append(True, total[1:] > least)
    shown_in = np.where(kept, np.arange(len(total)), tree.parent)
    while not kept[shown_in].all():
        shown_in = shown_in[shown_in]
    number = np.cumsum(kept) - 1
    shown = np.flatnonzero(kept)
    labels = [printable(tree.part[at], LONGEST_TEXT) for at in shown.tolist()]
    return labels, [-1, *number[tree.parent[shown[1:]]].tolist()], number[shown_in]


def _parts(
    step: np.ndarray | None, events: np.ndarray, frame: np.ndarray, self_ns: np.ndarray
) -> list[FlamePart]:
    """Return the frames of each step, or of all, their self times and their events, the longest first.

    The self time of each event is included if all are listed.
    """
    rows = pd.DataFrame(
        {"step": 0 if step is None else step, "frame": frame, "self_ns": self_ns, "event": events}
    ).sort_values("self_ns", ascending=False, kind="stable")
    each = rows.groupby(["step", "frame"], sort=True)
    parts = each["self_ns"].sum().reset_index()
    by_step = step is not None and len(parts) <= _MOST_PARTS
    if not by_step:
        rows["step"] = 0
        each = rows.groupby(["step", "frame"], sort=True)
        parts = each["self_ns"].sum().reset_index()
    most = len(rows) if len(rows) <= _MOST_LISTED else max(_MOST_LISTED // len(parts), 1)
    listed = each.head(most).sort_values(["step", "frame"], kind="stable")
    last = np.cumsum(np.minimum(each.size().to_numpy(), most)).tolist()
    for name, column in (("events", "event"), ("own_ns", "self_ns")):
        of_all = listed[column].tolist()
        parts[name] = [of_all[start:end] for start, end in zip([0, *last], last, strict=False)]
    made: list[FlamePart] = []
    for number in parts["step"].unique().tolist():
        part = parts[parts["step"] == number]
        made.append(
            {
                "step": number if by_step else None,
                "frames": part["frame"].tolist(),
                "self_ns": part["self_ns"].round().astype("int64").tolist(),
                "events": part["events"].tolist(),
            }
        )
        if len(listed) == len(rows):
            made[-1]["own_ns"] = part["own_ns"].tolist()
    return made
