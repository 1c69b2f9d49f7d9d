"""The devices that the program requested, from the graphs of functions before optimisation."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

from tfvis_nb.analysis.graph.parsed import parsed
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text

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
        found = {graph.device(name) for graph in self._graphs} - {None}
        return found.pop() if len(found) == 1 else None


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
            found = self._library.get(function)
            self._bodies[function] = {} if found is None else _nodes(found.node_def)
        return self._bodies[function]


def _nodes(nodes: Iterable[Any]) -> dict[str, _Requested]:
    return {text(node.name): _Requested(text(node.device), _called(node)) for node in nodes}


def _called(node: Any) -> str:
    if not node.op.endswith(b"PartitionedCall"):
        return ""
    return next((text(attr.value.func.name) for attr in node.attr if attr.key == b"f"), "")
