"""The layer of a model and the line of the user's code that buffers were allocated for."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.trace import Trace

ORIGINS: dict[str, str] = {
    "layer": "The layer that the buffer was allocated in, as in `layers`; empty if not known.",
    "line": "The line of your code that made the op which allocated the buffer, such as train.py:12; a"
    " gradient has the line of its forward op. Empty if not known.",
}


def buffer_origins(trace: Trace, buffers: pd.DataFrame) -> pd.DataFrame:
    """Return ``layer`` and ``line`` (str), as in `ORIGINS`, for rows of `tensor_lifetimes`."""
    event = buffers["event"].to_numpy(np.int64)
    nodes = [str(name) for name in buffers["name"].unique()]
    known = runs_of(trace, nodes)
    # An allocation in a profile is a separate event, nested in a run of its op.
    run = known[pd.Index(nodes).get_indexer(pd.Index(buffers["name"]))] if nodes else event
    layer, _ = event_layers(trace)
    layers = _first(_texts(layer), event, run)
    lines = np.full(len(buffers), "", object)
    if trace.stacks is not None:
        of_stack = np.append(trace.stacks.own_lines(), "")
        lines = _first(of_stack[event_stacks(trace)], event, run)
    columns = {"layer": layers, "line": lines}
    return pd.DataFrame(
        {name: pd.array(texts, dtype=event_table.TEXT) for name, texts in columns.items()},
        index=buffers.index,
    )


def runs_of(trace: Trace, nodes: list[str]) -> np.ndarray:
    """Return an event that ran each node, -1 if none did."""
    events = trace.events
    node = pc.index_in(pa.array(events["name"], pa.large_string()), pa.array(nodes, pa.large_string()))
    node = node.fill_null(-1).to_numpy(zero_copy_only=False)
    ran = is_kind(events, "op", "kernel")
    rows = np.flatnonzero((node >= 0) & ran)[::-1]
    event = np.full(len(nodes), -1)
    event[node[rows]] = rows
    return event


def _texts(column: pa.DictionaryArray) -> np.ndarray:
    names = np.array([*(text or "" for text in column.dictionary.to_pylist()), ""], object)
    texts: np.ndarray = names[pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False)]
    return texts


def _first(texts: np.ndarray, *rows: np.ndarray) -> np.ndarray:
    """Take texts from the first candidate row that has one; row -1 is empty."""
    texts = np.append(texts, "")
    first: np.ndarray = texts[rows[0]]
    for others in rows[1:]:
        first = np.where(first == "", texts[others], first)
    return first
