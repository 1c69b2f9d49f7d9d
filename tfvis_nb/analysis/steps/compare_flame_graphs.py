"""Flame graphs of two traces as one tree, with the times of both."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.steps.compared_steps import ComparedSteps, Side, Steps, compared_pair
from tfvis_nb.analysis.steps.flame_graph import FRAMES, SIDES, Place, why_no_frames
from tfvis_nb.analysis.steps.flame_graph import Frames as By
from tfvis_nb.analysis.steps.frames import Frames, TreeBuilder, frames
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "events_a": "Number of events of the first in the frame and in the frames within it.",
    "events_b": "Number of events of the second in the frame and in the frames within it.",
    "total_a_ns": "self_a_ns of the frame and of all frames within it, in ns.",
    "total_b_ns": "self_b_ns of the frame and of all frames within it, in ns.",
    "self_a_ns": "Sum of the self times of the frame's own events in the first, in ns, as in flame_graph.",
    "self_b_ns": "Sum of the self times of the frame's own events in the second, in ns.",
    "step_difference_ns": "total_b_ns / steps of b - total_a_ns / steps of a, in ns: how much longer a step"
    " spends in the frame.",
}

_COLUMNS = {"frame": "str", "parent": "int64", "depth": "int64"} | {
    name: "float64" if name == "step_difference_ns" else "int64" for name in FIGURES
}


@validate_input
def compare_flame_graphs(
    a: Side,
    b: Side,
    by: By = "scope",
    side: Place = "device",
    steps: tuple[Steps, Steps] = (None, None),
) -> pd.DataFrame:
    """Return the flame graphs of two traces as one tree, with the times of both.

    Parameters
    ----------
    a, b
        As in `tfvis_nb.analysis.compare`.
    by, side
        As in `tfvis_nb.analysis.flame_graph`. Frames of both are the same if all their texts from the root
        are: a line of code that was moved is a frame that only one of them has.
    steps
        The steps of each side, as in `tfvis_nb.analysis.compare`.

    Returns
    -------
    pandas.DataFrame
        One row per frame of either, in tree order as in `tfvis_nb.analysis.flame_graph`, the one with the
        largest ``total_b_ns`` first: ``frame`` (str), ``parent``, ``depth`` and the columns of `FIGURES`
        (int64; ``step_difference_ns`` float64). ``attrs["steps"]`` are the numbers of steps, or of what
        ``attrs["unit"]`` names instead, as in `tfvis_nb.analysis.compare`. Nothing tests whether a
        difference is more than chance. `cannot_say` if neither has events on the side, or one has no stacks
        or layers.

    Raises
    ------
    TypeError, ValueError
        As in `tfvis_nb.analysis.compare` and `tfvis_nb.analysis.flame_graph`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import compare_flame_graphs
    >>> columns = {"start_ns": [0, 9], "kind": ["kernel"] * 2}
    >>> a = Trace(events.build(columns | {"duration_ns": [5, 5], "name": ["net/fc", "loss"]}))
    >>> b = Trace(events.build(columns | {"duration_ns": [5, 8], "name": ["net/fc", "net/fc"]}))
    >>> tree = compare_flame_graphs(a, b)
    >>> tree[["frame", "depth", "total_a_ns", "total_b_ns"]].values.tolist()
    [['', 0, 10, 13], ['net', 1, 5, 13], ['fc', 2, 5, 13], ['loss', 1, 5, 0]]
    """
    for value, choices in ((by, FRAMES), (side, SIDES)):
        if value not in choices:
            raise ValueError(Text("not_one_of", choices=", ".join(choices), by=value))
    sides = compared_pair(a, b, steps, "compare_flame_graphs")
    if reason := why_no_common_frames(sides, by, side):
        return cannot_say(_COLUMNS, reason)
    both = common_frames(sides, by, side)
    tree = both[0].tree
    own = np.zeros((4, len(tree.part)), np.int64)
    for number, one in enumerate(both):
        np.add.at(own[number], one.frame, one.self_ns)
        np.add.at(own[number + 2], one.frame[np.unique(one.events, return_index=True)[1]], 1)
    within = tree.added_up(own)
    order = tree.preorder(within[1], within[0])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    units = [one.unit_count for one in sides]
    table = pd.DataFrame(
        {
            "frame": pd.array([tree.part[row] for row in order.tolist()], dtype=event_table.TEXT),
            "parent": np.where(order > 0, rank[tree.parent[order]], -1),
            "depth": tree.depth[order],
            "events_a": within[2][order],
            "events_b": within[3][order],
            "total_a_ns": within[0][order],
            "total_b_ns": within[1][order],
            "self_a_ns": own[0][order],
            "self_b_ns": own[1][order],
            "step_difference_ns": (within[1] / units[1] - within[0] / units[0])[order],
        }
    )
    table.attrs = {"steps": tuple(units), "unit": sides[0].unit}
    return table


def why_no_common_frames(sides: Sequence[ComparedSteps], by: str, side: str) -> Text | None:
    """Return why two sides have no flame graph of their difference; None if they have one."""
    reasons = [why_no_frames(one.trace, by, side, of_steps(one.trace, one.numbers)) for one in sides]
    if all(reasons):
        return reasons[-1]
    # What only one of them ran is a difference.
    return next((reason for reason in reasons if reason and reason.id != "no_events_of_side"), None)


def common_frames(sides: Sequence[ComparedSteps], by: str, side: str) -> list[Frames]:
    """Return the frames of each of two sides, with the same tree."""
    builder = TreeBuilder()
    both = []
    for one in sides:
        own = frames(one.trace, by, side, of_steps(one.trace, one.numbers))
        common = [0]
        for text, parent in zip(own.tree.part[1:], own.tree.parent[1:].tolist(), strict=True):
            common.append(builder.frame(common[parent], text, text))
        both.append(own._replace(frame=np.array(common, np.int64)[own.frame]))
    tree = builder.tree()
    return [own._replace(tree=tree) for own in both]
