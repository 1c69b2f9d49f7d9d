"""Find the op of a graph that an event executed, by the event's name.

TensorFlow inlines functions and lowers loops before it runs them: ops of a function called by the node
``PartitionedCall`` are then named ``PartitionedCall/<op>``, those of a loop's body ``while/body/_4/<op>``.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BODIES = {
    **dict.fromkeys(("PartitionedCall", "StatefulPartitionedCall", "RemoteCall"), ("f",)),
    **dict.fromkeys(("While", "StatelessWhile"), ("body", "cond")),
    **dict.fromkeys(("If", "StatelessIf"), ("then_branch", "else_branch")),
    **dict.fromkeys(("Case", "StatelessCase"), ("branches",)),
}
"""The attributes that name the functions called by a node, by op type."""

_LOWERED = re.compile(r"(?:body|cond|then|else|branch\d+)/_\d+/")

_AGAIN = re.compile(r"_\d+$")

_TAPE = re.compile(r"(?:^|/)gradient_tape/(.+)", re.DOTALL)
_GRADIENTS = re.compile(r"(?:^|/)gradients(?:_\d+)?/(.+)_grad/", re.DOTALL)
_INNER_GRADIENTS = re.compile(r".*/gradients(?:_\d+)?/(.+)_grad/", re.DOTALL)
_GRADIENT_NAMES = (_TAPE, _GRADIENTS, _INNER_GRADIENTS)
_BACKWARD = re.compile(r"__backward_(.+)_\d+")

_VALUES = ("Const", "Placeholder", "ReadVariableOp", "VariableV2", "Shape", "Arg")
"""Op types whose values are used by ops of any line."""

_DEEPEST = 64
"""How deep gradients of gradients, and functions in functions, are followed."""


class GraphNodes:
    """Finds the ops of graphs.

    Parameters
    ----------
    functions
        The graph of each known function, by name; graphs know the functions that they call.
    """

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self._nodes: dict[int, dict[str, Any]] = {}
        self._found: dict[tuple[int, str], Any] = {}
        self._called_by: dict[int, list[Any]] = {}

    def node(self, graph: Any, name: str, depth: int = 0) -> Any:
        """Return the ``Operation`` that runs as `name` in `graph`, or else the one that calls it, or None."""
        key = (id(graph), name)
        if key not in self._found:
            self._found[key] = self._searched(graph, name, depth)
        return self._found[key]

    def forward(self, op: Any) -> Any:
        """Return the forward op of a gradient `op`: None if it is not part of a gradient, `op` if unknown."""
        origin = op
        for _ in range(_DEEPEST):
            forward = self._forward_once(origin)
            if forward is None:
                return None if origin is op else origin
            if forward is origin:
                return origin
            origin = forward
        return origin

    def _searched(self, graph: Any, name: str, depth: int) -> Any:
        nodes = self._of(graph)
        if name in nodes or depth > _DEEPEST:
            return nodes.get(name)
        caller = None
        for prefix, rest in _split(name):
            lowered = _LOWERED.match(rest)
            # A loop with gradients is rebuilt under a new name.
            op = nodes.get(prefix) or (nodes.get(_AGAIN.sub("", prefix)) if lowered else None)
            if op is None or op.type not in _BODIES:
                continue
            caller = op
            for body in self._called(op):
                node = self.node(body, rest[lowered.end() :] if lowered else rest, depth + 1)
                if node is not None:
                    return node
        return caller

    def _forward_once(self, op: Any) -> Any:
        if not _is_backward(op):
            return None
        matches = filter(None, (pattern.search(op.name) for pattern in _GRADIENT_NAMES))
        named = next(filter(None, (self._named(op.graph, match[1]) for match in matches)), None)
        return named or _taken(op) or op

    def _named(self, graph: Any, name: str) -> Any:
        """Return the op in the graphs around a gradient's whose name is the longest prefix of `name`."""
        for where in self._around(graph):
            nodes = self._of(where)
            if name in nodes:
                return nodes[name]
            for prefix, _ in reversed(list(_split(name))):
                if prefix in nodes:
                    return nodes[prefix]
        return None

    def _around(self, graph: Any) -> Iterator[Any]:
        seen: set[int] = set()
        ahead = [graph]
        while ahead:
            one = ahead.pop(0)
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            yield one
            ahead += [getattr(one, "_forward_graph", None), self._forward_function(one)]
            ahead.append(getattr(one, "outer_graph", None))

    def _forward_function(self, graph: Any) -> Any:
        """Return the graph of the forward function of a gradient function."""
        base = _BACKWARD.fullmatch(getattr(graph, "name", ""))
        if base is None:
            return None
        wanted = re.compile(rf"__(?:forward|inference)_{re.escape(base[1])}_\d+")
        return next((self._functions[one] for one in self._functions if wanted.fullmatch(one)), None)

    def _called(self, op: Any) -> list[Any]:
        """Return the graphs of functions called by an op."""
        if id(op) not in self._called_by:
            values = [op.get_attr(attribute) for attribute in _BODIES[op.type]]
            names = [one.name for value in values for one in (value if isinstance(value, list) else [value])]
            own = getattr(op.graph, "_functions", {})
            graphs = [self._functions.get(name) or graph_of(own.get(name)) for name in names]
            self._called_by[id(op)] = [graph for graph in graphs if graph is not None]
        return self._called_by[id(op)]

    def _of(self, graph: Any) -> dict[str, Any]:
        if id(graph) not in self._nodes:
            self._nodes[id(graph)] = {op.name: op for op in graph.get_operations()}
        return self._nodes[id(graph)]


def _is_backward(op: Any) -> bool:
    of_graph = hasattr(op.graph, "_forward_graph") or _BACKWARD.fullmatch(getattr(op.graph, "name", ""))
    return bool(of_graph) or any(pattern.search(op.name) for pattern in _GRADIENT_NAMES)


def _taken(op: Any) -> Any:
    """Return the forward op whose value a gradient uses: ``ReluGrad`` uses that of ``Relu``."""
    makers = [value.op for value in op.inputs]
    makers = [one for one in makers if one.type not in _VALUES and not _is_backward(one)]
    return next((one for one in makers if op.type.startswith(one.type)), makers[0] if makers else None)


def graph_of(function: Any) -> Any:
    """Return the graph that a function of TensorFlow was made from, None if there is none.

    Accessing ``graph`` would make TensorFlow create one from the definition, without stacks.
    """
    return getattr(function, "_cached_graph", None)


def _split(name: str) -> Iterator[tuple[str, str]]:
    """Split a name in two at each of its slashes, from left to right."""
    at = name.find("/")
    while at >= 0:
        yield name[:at], name[at + 1 :]
        at = name.find("/", at + 1)
