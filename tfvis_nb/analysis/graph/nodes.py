"""The nodes of the executed graphs: their ops, and their requested and actual devices."""

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.graph.attributes import attributes, colocation, original_names
from tfvis_nb.analysis.graph.parsed import parsed
from tfvis_nb.analysis.graph.requested_devices import RequestedDevices
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "requested_device": "The device that the program requested, such as /device:GPU:0; empty if it requested "
    "none. Missing without a graph from before the optimisation that has the node.",
    "device": "The device that TensorFlow assigned.",
    "attributes": "The node's attributes, such as T=float32, transpose_a=true; TensorFlow's own, which start "
    "with _, are left out, and long values are cut off.",
    "colocation": "The nodes with which the node was to be placed: the names after loc:@ in _class.",
    "original_names": "The nodes of the program that the node was made of, if they have other names: "
    "original_node_names.",
}

_COLUMNS = {"step": "int32", "name": "str", "op": "category", "requested_device": "category"} | {
    "device": "category",
    "attributes": "str",
    "colocation": "str",
    "original_names": "str",
}


class Node(NamedTuple):
    """One node of a step; `definition` is its NodeDef, `requested_device` None if unknown."""

    name: str
    op: str
    requested_device: str | None
    device: str
    definition: Any


def step_nodes(trace: Trace, step: int, names: Container[str] | None = None) -> Iterator[Node]:
    """Decode the nodes of one step's graphs: those in `names`, or all if None."""
    requested = RequestedDevices(trace, step)
    for graph in trace.graphs[step]:
        for node in parsed(trace, "GraphDef", graph).node:
            name = text(node.name)
            if names is None or name in names:
                yield Node(name, text(node.op), requested.of(name), text(node.device), node)


@validate_input
def nodes(trace: Trace) -> pd.DataFrame:
    r"""Return the nodes of the partition graphs of each step.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per node and step: ``step`` (int32), ``name`` (str), ``op``, ``requested_device`` and
        ``device`` (category), ``attributes``, ``colocation`` and ``original_names`` (str, empty if there are
        none) as in `FIGURES`. `cannot_say` if the trace has no graphs.

    Notes
    -----
    The table includes nodes that did not run. ``_SOURCE`` runs but is in no graph. Decoding takes a second
    per 50,000 nodes.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import nodes
    >>> device = b"/device:GPU:0"
    >>> graph = b"\x0a\x23\x0a\x01a\x12\x06MatMul\x22\x0d" + device + b"*\x07\x0a\x01T\x12\x020\x01"
    >>> table = events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"], "name": ["a"]})
    >>> nodes(Trace(table, graphs=[[graph]]))[["step", "name", "op", "device", "attributes"]].values.tolist()
    [[0, 'a', 'MatMul', '/device:GPU:0', 'T=float32']]
    """
    if not any(trace.graphs):
        return cannot_say(_COLUMNS, Text("no_graphs"))
    rows = [
        (
            *(step, node.name, node.op, node.requested_device, node.device),
            *(attributes(node.definition), colocation(node.definition), original_names(node.definition)),
        )
        for step in range(len(trace.graphs))
        for node in step_nodes(trace, step)
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(_COLUMNS)
    table = {name: np.array(column, object) for name, column in zip(_COLUMNS, columns, strict=True)}
    return pd.DataFrame(table).astype(dtypes(_COLUMNS))
