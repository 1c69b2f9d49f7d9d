"""Self time as a tree: by name scope, layer, line of code, or nested calls on a thread."""

from collections.abc import Collection
from typing import Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.steps.frames import events_of, frames
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

Frames = Literal["scope", "layer", "stack", "thread"]
FRAMES = get_args(Frames)
"""Kinds of frames of a flame graph."""
Place = Literal["device", "host"]
SIDES = get_args(Place)
"""The sides whose time a flame graph can show."""

FIGURES: dict[str, str] = {
    "events": "Number of events in the frame and in the frames within it.",
    "total_ns": "self_ns of the frame and of all frames within it, in ns.",
    "self_ns": "Sum of the self times of the frame's own events, in ns: of kernels, copies and memsets on the"
    " device side, of ops and calls on the host side.",
    "share": "total_ns / total_ns of the first row, from 0 to 1.",
}

_COLUMNS = {"frame": "str", "parent": "int64", "depth": "int64"} | {
    name: "float64" if name == "share" else "int64" for name in FIGURES
}


@validate_input
def flame_graph(
    trace: Trace, by: Frames = "scope", side: Place = "device", steps: Collection[int] | None = None
) -> pd.DataFrame:
    """Return self time as a tree of frames: name scopes, layers, lines of code, or calls on threads.

    Parameters
    ----------
    trace
        Any trace.
    by
        One of `FRAMES`: ``scope``, the parts of the nodes' names; ``layer``, the nested layers of
        `tfvis_nb.analysis.layers`, with op types in the innermost ones; ``stack``, the lines of the user's
        own code that made the ops, outermost first, with op types in the innermost ones; ``thread``, lanes
        and their nested events.
    side
        One of `SIDES`: ``device`` for kernels, copies and memsets, ``host`` for ops and calls on CPUs.
    steps
        Numbers of the steps to add up; None for all events, including those outside steps.

    Returns
    -------
    pandas.DataFrame
        One row per frame, in tree order: each row is followed by its nested rows, the one with the largest
        ``total_ns`` first. ``frame`` (str; empty for the first row, the root), ``parent`` (int64; a row
        number, -1 for the first row), ``depth`` (int64; 0 for the first row) and the columns of `FIGURES`
        (int64; ``share`` float64, NaN if the total is 0). Frames deeper than 256 count as part of their
        parent, and scopes deeper than 32 stay together. `cannot_say` if the side has no events or, for
        stacks, none was recorded.

    Raises
    ------
    TypeError
        If `steps` is not a collection of numbers.
    ValueError
        If `by` or `side` is not one of those, or a number in `steps` is not a step.

    Notes
    -----
    The total of a row is exactly its self time plus the totals of its children. For layers, stacks and
    threads, the total of the first row is the sum of ``self_ns`` of the side in `op_statistics`; for scopes,
    it is that of `scope_tree`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import flame_graph
    >>> table = events.build({"start_ns": [0, 1, 9], "duration_ns": [8, 5, 1], "kind": ["host"] * 3,
    ...                       "lane": ["python3"] * 3, "op": ["train", "matmul", "train"]})
    >>> tree = flame_graph(Trace(table), by="thread", side="host")
    >>> tree[["frame", "depth", "total_ns", "self_ns"]].values.tolist()
    [['', 0, 9, 0], ['python3', 1, 9, 0], ['train', 2, 9, 4], ['matmul', 3, 5, 5]]
    """
    for value, choices in ((by, FRAMES), (side, SIDES)):
        if value not in choices:
            raise ValueError(Text("not_one_of", choices=", ".join(choices), by=value))
    rows = of_steps(trace, steps)
    if reason := why_no_frames(trace, by, side, rows):
        return cannot_say(_COLUMNS, reason)
    tree, chosen, frame, self_ns = frames(trace, by, side, rows)
    amounts = np.zeros((2, len(tree.part)), np.int64)
    np.add.at(amounts[0], frame, self_ns)
    np.add.at(amounts[1], frame[np.unique(chosen, return_index=True)[1]], 1)
    within = tree.added_up(amounts)
    order = tree.preorder(within[0], within[1])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    total = within[0][order]
    return pd.DataFrame(
        {
            "frame": pd.array([tree.part[row] for row in order.tolist()], dtype=event_table.TEXT),
            "parent": np.where(order > 0, rank[tree.parent[order]], -1),
            "depth": tree.depth[order],
            "events": within[1][order],
            "total_ns": total,
            "self_ns": amounts[0][order],
            "share": total / total[0] if total[0] else np.nan,
        }
    )


def why_no_frames(trace: Trace, by: str, side: str, rows: np.ndarray) -> Text | None:
    """Return why some events have no flame graph; None if they have one."""
    events = events_of(trace, by, side, rows)
    if not len(events):
        return Text("no_events_of_side", side=side)
    if by == "stack" and (event_stacks(trace)[events] < 0).all():
        return Text("no_stacks")
    if by == "layer":
        layer, _ = event_layers(trace)
        if not any(layer.dictionary.take(pc.unique(layer.indices.take(pa.array(events)))).to_pylist()):
            return Text("no_scopes")
    return None
