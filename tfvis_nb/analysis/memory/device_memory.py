"""A device memory profile of JAX as a tree of the lines that made the buffers, and the difference of two."""

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.steps.tree import Tree
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.metadata import DEVICE_MEMORY
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "buffers": "Number of buffers made in the frame and in the frames within it.",
    "total_bytes": "Bytes of these buffers.",
    "self_bytes": "Bytes of the buffers of the frame itself. Only innermost frames have any: they are named"
    " after the kind and device of the buffers.",
    "share": "total_bytes / total_bytes of the first row, from 0 to 1.",
    "before_bytes": "total_bytes of the frame in the earlier profile; NA without one.",
    "change_bytes": "total_bytes - before_bytes.",
}

_NO_LINE = "(no line of your code)"
_MOST_DEPTH = 256
"""Deeper frames count as part of their ancestor at this depth."""
_COLUMNS = {
    "frame": "str",
    **dict.fromkeys(("parent", "depth", "buffers", "total_bytes", "self_bytes"), "int64"),
    "share": "float64",
    "before_bytes": "Int64",
    "change_bytes": "Int64",
}


@validate_input
def device_memory(trace: Trace, before: Trace | None = None) -> pd.DataFrame:
    """Return the buffers of a device memory profile as a tree of lines of the user's code.

    Parameters
    ----------
    trace
        A file of ``jax.profiler.save_device_memory_profile``.
    before
        An earlier file, to compare with: its frames are part of the tree.

    Returns
    -------
    pandas.DataFrame
        One row per frame, in tree order as in `flame_graph`: ``frame`` (str; empty for the root), ``parent``
        (int64; a row number, -1 for the first row), ``depth`` (int64) and the columns of `FIGURES` (int64;
        ``share`` float64, NaN if the total is 0; ``before_bytes`` and ``change_bytes`` Int64). `cannot_say`
        if a trace has no such profile.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import device_memory
    >>> from tfvis_nb.core.metadata import DEVICE_MEMORY, table_of
    >>> row = {"kind": "buffer", "device": "cuda:0", "stack": "main (a.py:9)", "buffers": 2, "bytes": 64}
    >>> tables = {DEVICE_MEMORY: table_of(DEVICE_MEMORY, [row])}
    >>> tree = device_memory(Trace(events.build({}, rows=0), metadata=tables))
    >>> tree[["frame", "depth", "total_bytes", "self_bytes"]].values.tolist()
    [['', 0, 64, 0], ['main (a.py:9)', 1, 64, 0], ['buffer (cuda:0)', 2, 64, 64]]
    """
    compared = [one for one in (trace, before) if one is not None]
    tables = [one.metadata[DEVICE_MEMORY] for one in compared if DEVICE_MEMORY in one.metadata]
    if len(tables) < len(compared):
        return cannot_say(_COLUMNS, Text("no_device_memory"))
    tree, frames = _tree(tables)
    amounts = np.zeros((3, len(tree.part)), np.int64)
    for place, (table, frame) in enumerate(zip(tables, frames, strict=True)):
        np.add.at(amounts[2 * place], frame, _whole(table, "bytes"))
    np.add.at(amounts[1], frames[0], _whole(tables[0], "buffers"))
    size, buffers, earlier = tree.added_up(amounts)
    order = tree.preorder(size, earlier)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    known = pd.Series([pd.NA] * len(order) if before is None else earlier[order], dtype="Int64")
    total = size[order]
    return pd.DataFrame(
        {
            "frame": pd.array([tree.part[row] for row in order.tolist()], dtype=event_table.TEXT),
            "parent": np.where(order > 0, rank[tree.parent[order]], -1),
            "depth": tree.depth[order],
            "buffers": buffers[order],
            "total_bytes": total,
            "self_bytes": amounts[0][order],
            "share": total / total[0] if total[0] else np.nan,
            "before_bytes": known,
            "change_bytes": total - known,
        }
    )


def _whole(table: pd.DataFrame, name: str) -> np.ndarray:
    """Return numbers without missing and negative ones, whose sum fits into 64 bits."""
    most = event_table.MOST_IN_ALL // max(len(table), 1)
    numbers: np.ndarray = table[name].fillna(0).clip(0, most).to_numpy(np.int64)
    return numbers


def _tree(tables: list[pd.DataFrame]) -> tuple[Tree, list[np.ndarray]]:
    """Return the tree of all stacks, and for each table the innermost frame of each row."""
    part, parent, depth = [""], [0], [0]
    known: dict[tuple[int, str], int] = {}
    frames = []
    for table in tables:
        columns = (table[name].fillna("").tolist() for name in ("stack", "kind", "device"))
        innermost = []
        for stack, kind, device in zip(*columns, strict=True):
            at = 0
            leaf = f"{kind} ({device})" if device else kind
            for text in [*(stack or _NO_LINE).split("\n")[:_MOST_DEPTH], leaf]:
                number = known.setdefault((at, text), len(part))
                if number == len(part):
                    part.append(text)
                    parent.append(at)
                    depth.append(depth[at] + 1)
                at = number
            innermost.append(at)
        frames.append(np.array(innermost, np.int64))
    return Tree(part, np.array(parent, np.int64), np.array(depth, np.int64)), frames
