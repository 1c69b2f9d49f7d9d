"""The tab with flame graphs: self time by name scope, layer, line of code or thread."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import ACTIVITIES
from tfvis_nb.analysis.events.bar_categories import drawn_activity
from tfvis_nb.analysis.steps.flame_graph import FRAMES, SIDES, why_no_frames
from tfvis_nb.analysis.steps.frames import Frames, frames
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.blocks import LONGEST_TEXT, Block, FlameFrames, FlameGraph, FlamePart
from tfvis_nb.texts import Text

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


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    every = np.arange(len(trace.events))
    reasons = (why_no_frames(trace, by, side, every) for by in FRAMES for side in SIDES)
    return "" if not all(reasons) else Text("no_events")


def blocks(trace: Trace) -> list[Block]:
    """Return one block with all graphs, or the reason why there is none."""
    every = np.arange(len(trace.events))
    activity = drawn_activity(trace)
    graphs: list[FlameGraph] = []
    reason = ""
    for by in FRAMES:
        for side in SIDES:
            reason = why_no_frames(trace, by, side, every) or ""
            if reason:
                shown = FlameFrames(labels=[], parents=[], colours=[], parts=[])
            else:
                shown = _frames(trace, frames(trace, by, side, every), activity)
            graphs.append({"by": by, "side": side, "cannot_say": reason, **shown})
    known = any(not graph["cannot_say"] for graph in graphs)
    return [
        {
            "kind": "flame",
            "title": "Flame graph",
            "definition": _DEFINITION,
            "cannot_say": "" if known else reason,
            "graphs": graphs if known else [],
        }
    ]


def _frames(trace: Trace, frame_table: Frames, activity: np.ndarray) -> FlameFrames:
    """Return the largest frames, parents first, and their times and events by step."""
    tree, events = frame_table.tree, frame_table.events
    amounts = np.zeros((1, len(tree.part)), np.int64)
    np.add.at(amounts[0], frame_table.frame, frame_table.self_ns)
    total = tree.added_up(amounts)[0]
    least = np.sort(total)[-_MOST_FRAMES] if len(total) > _MOST_FRAMES else 0
    # The root has no parent.
    kept = np.append(True, total[1:] > least)
    shown_in = np.where(kept, np.arange(len(total)), tree.parent)
    while not kept[shown_in].all():
        shown_in = shown_in[shown_in]
    number = np.cumsum(kept) - 1
    shown = np.flatnonzero(kept)
    frame = number[shown_in[frame_table.frame]]
    # A frame has the activity of its longest event; the root, to which others' small parts go, has none.
    longest_first = np.argsort(-frame_table.self_ns, kind="stable")
    colour = np.full(len(shown), -1, np.int64)
    colour[frame[longest_first[::-1]]] = activity[events[longest_first[::-1]]]
    colour[0] = -1
    return {
        "labels": [printable(tree.part[at], LONGEST_TEXT) for at in shown.tolist()],
        "parents": [-1, *number[tree.parent[shown[1:]]].tolist()],
        "colours": ["" if at < 0 else ACTIVITIES[at] for at in colour.tolist()],
        "parts": _parts(
            trace, events[longest_first], frame[longest_first], frame_table.self_ns[longest_first]
        ),
    }


def _parts(trace: Trace, events: np.ndarray, frame: np.ndarray, self_ns: np.ndarray) -> list[FlamePart]:
    """Return the frames of each step, their self times and their events, the longest first.

    The self time of each event is included if all are listed.
    """
    step = trace.events["step"].to_numpy(np.int64)[events]
    rows = pd.DataFrame({"step": step, "frame": frame, "self_ns": self_ns, "event": events})
    each = rows.groupby(["step", "frame"], sort=True)
    parts = each["self_ns"].sum().reset_index()
    by_step = len(parts) <= _MOST_PARTS
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
                "self_ns": part["self_ns"].tolist(),
                "events": part["events"].tolist(),
            }
        )
        if len(listed) == len(rows):
            made[-1]["own_ns"] = part["own_ns"].tolist()
    return made
