"""The nodes of the executed graphs: their ops, and their requested and actual devices."""

from collections.abc import Container, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.graph.attributes import attributes, colocation, original_names
from tfvis_nb.analysis.graph.parsed import parsed
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


_DEEPEST = 64
"""How many parts of a name are checked."""


class _Requested(NamedTuple):
    """The device of a node, and the function it calls; each empty if there is none."""

    device: str
    calls: str


class RequestedDevices:
    """The devices that the functions of one step requested."""

    def __init__(self, trace: Trace, step: int) -> None:
        serialised = trace.run_metadata[step] if step < len(trace.run_metadata) else b""
        functions = parsed(trace, "RunMetadata", serialised).function_graphs if serialised else ()
        self._graphs = [_Graph(function.pre_optimization_graph) for function in functions]

    def of(self, name: str) -> str | None:
        """Return the device requested for a node; None if no function has it, or two disagree."""
        devices = {graph.device(name) for graph in self._graphs} - {None}
        return devices.pop() if len(devices) == 1 else None


class _Graph:
    """A graph with the functions that its nodes call."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._bodies: dict[str, dict[str, _Requested]] = {"": _nodes(graph.node)}

    @cached_property
    def _library(self) -> dict[str, Any]:
        return {text(one.signature.name): one for one in self._graph.library.function}

    def device(self, name: str) -> str | None:
        """Return the device of a node, None if it is unknown."""
        # Inlined nodes are named after the call and themselves: StatefulPartitionedCall/dense/MatMul.
        nodes, device, left = self._bodies[""], "", name
        while left not in nodes:
            parts = left.split("/", _DEEPEST)
            heads = ("/".join(parts[:count]) for count in range(1, len(parts)))
            call = next((head for head in heads if head in nodes and nodes[head].calls), None)
            if call is None:
                return None
            left = left[len(call) + 1 :]
            device = nodes[call].device or device
            nodes = self._body(nodes[call].calls)
        return nodes[left].device or device

    def _body(self, function: str) -> dict[str, _Requested]:
        if function not in self._bodies:
            definition = self._library.get(function)
            self._bodies[function] = {} if definition is None else _nodes(definition.node_def)
        return self._bodies[function]


def _nodes(nodes: Iterable[Any]) -> dict[str, _Requested]:
    return {text(node.name): _Requested(text(node.device), _called(node)) for node in nodes}


def _called(node: Any) -> str:
    if not node.op.endswith(b"PartitionedCall"):
        return ""
    return next((text(attr.value.func.name) for attr in node.attr if attr.key == b"f"), "")
