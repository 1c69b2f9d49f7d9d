"""The data flow between the ops of functions as the program wrote them.

The executed graph of a function is only known if TensorFlow instantiates the function during the recording.
The graph from which it was made always exists. Its ops keep their names when TensorFlow inlines functions,
lowers loops and fuses ops, so their rows in a profile are found by name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.dataflow.function_runs import function_runs
from tfvis_nb.analysis.events.nesting import parents
from tfvis_nb.core.nested_columns import GRAPH_INPUTS, OR, with_columns
from tfvis_nb.core.phases import before_rewriting
from tfvis_nb.core.tensor_senders import executor_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.recording.stacks.event_ops import CALL
from tfvis_nb.recording.stacks.graph_nodes import graph_of
from tfvis_nb.texts import Text

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_LOOPS = ("While", "StatelessWhile")
_CASES = ("Case", "StatelessCase")
_CALLING = {*_CALLS, *_LOOPS, *_CASES, "If", "StatelessIf"}
_SEPARATE = {*_CALLING, "IdentityN"}
"""Op types whose results have their own inputs."""

_PASSED, _CHOICE, _BRANCH = ":passed", ":choice", ":branch"
"""Types of nodes between functions: an argument or result, one of several values, the result of a branch."""

_OF_SHAPES = {"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"}
"""Op types that use only the shapes of their inputs. Without a row they were most likely computed early."""

_PASSING = {"Identity", "StopGradient", _PASSED, _CHOICE, _BRANCH}
"""Types of nodes that return their inputs unchanged."""

_LOWERED = re.compile(r"(/(?:body|cond|then|else|branch\d+))/_\d+/")
"""Matches the number that TensorFlow inserts when it lowers a loop or a condition."""

_DEEPEST = 64
"""How deep functions in functions are followed."""
_MOST = 250
"""How many ops without rows are followed from one input."""
_MOST_NODES = 1_000_000
"""How many ops a function may have with those of the functions that it calls; further calls are left out."""


def put_written_inputs(trace: Trace, functions: Callable[[], Mapping[str, Any]]) -> None:
    """Add to the ops of a profile the ops that made their inputs; `functions` returns graphs by name."""
    try:
        inputs = _inputs(trace, functions())
    except Exception as error:  # noqa: BLE001 - graphs of any program, in any release of TensorFlow
        trace.notes.append(Text("inputs_failed", reason=repr(error)))
        return
    if inputs is not None:
        trace.nested = with_columns(trace.nested, {GRAPH_INPUTS: inputs})


def _inputs(trace: Trace, functions: Mapping[str, Any]) -> pa.Array | None:
    """Return the inputs of each event; None if there are none."""
    parent = parents(trace.events)
    runs = function_runs(trace, parent)
    name = trace.events["name"].to_numpy(object)
    called = np.array([_function(name, parent, caller) for caller in runs.callers.tolist()] + [""], object)
    rows = executor_rows(trace.events)
    function, names = (pd.factorize(column) for column in (called[runs.number[rows]], name[rows]))
    pair, distinct = pd.factorize(function[0] * len(names[1]) + names[0])
    found: list[list[str] | None] = [None] * len(distinct)
    for number, called_function in enumerate(function[1]):
        here = np.flatnonzero(distinct // max(len(names[1]), 1) == number)
        if called_function in functions:
            ops = names[1][distinct[here] % len(names[1])]
            inputs = WrittenGraph(functions[called_function], functions).inputs(ops)
            for at, op in zip(here.tolist(), ops, strict=True):
                found[at] = inputs.get(op) or None
    if not any(found):
        return None
    of_event = np.full(len(trace.events), len(found))
    of_event[rows] = pair
    lists = pa.array([*found, None], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    return lists.take(pa.array(of_event))


def _function(names: np.ndarray, parent: np.ndarray, event: int) -> str:
    """Return the name of the function whose call is around an event; empty if it is not recorded."""
    while event >= 0:
        if match := CALL.fullmatch(str(names[event])):
            return match["function"]
        event = int(parent[event])
    return ""


class WrittenGraph:
    """The ops of a function and of all functions that it calls, by the names under which they run.

    Parameters
    ----------
    graph
        The graph of the function.
    functions
        The graphs of other functions, by name; graphs know most of the functions that they call.
    """

    def __init__(self, graph: Any, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self._types: dict[str, str] = {}
        self._inputs: dict[str, list[str]] = {}
        self._add(graph, "", [""] * len(graph.inputs), 0)

    def inputs(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return for each op in `names` that the function has the ops in `names` that made its inputs.

        Ops without rows are skipped: TensorFlow fused or removed them, or does not record their type. Of
        ``a|b``, which are the values of a variable of a loop, or of a condition, an op used one.
        """
        rows: dict[str, list[str]] = {}
        for name in names:
            node = before_rewriting(_LOWERED.sub(r"\1/", name))
            rows.setdefault(node, []).append(name)
        ran = {node for name in rows for node in _scopes(name)}
        found: dict[str, list[str]] = {}
        for node, variants in rows.items():
            if node in self._inputs:
                makers = (self._makers(one, rows, ran, set()) for one in self._inputs[node])
                inputs = [*dict.fromkeys(OR.join(group) for groups in makers for group in groups)]
                found |= dict.fromkeys(variants, inputs)
        return found

    def _makers(
        self, node: str, rows: Mapping[str, list[str]], ran: set[str], seen: set[str], unused: str = ":"
    ) -> list[tuple[str, ...]]:
        """Return the ops with rows that made a value: one of each tuple.

        No op in the scope `unused` has a row, so ops there may not have run.
        """
        if node in seen or len(seen) > _MOST:
            return []
        seen.add(node)
        op = node.partition(":")[0]
        if op in rows:
            return [tuple(rows[op])]
        kind = self._types.get(node)
        if kind == _BRANCH and op not in ran:
            unused = op
        if kind is None or kind in _OF_SHAPES or (kind not in _PASSING and op.startswith(f"{unused}/")):
            return []
        makers = (self._makers(one, rows, ran, seen, unused) for one in self._inputs[node])
        groups = [group for of_input in makers for group in of_input]
        if kind == _CHOICE and groups:
            return [tuple(dict.fromkeys(name for group in groups for name in group))]
        return groups

    def _add(self, graph: Any, scope: str, given: Sequence[str], depth: int) -> list[str]:
        """Add the ops of a function with the values of its arguments; return those of its results."""
        arguments = dict(zip((tensor.op.name for tensor in graph.inputs), given, strict=False))
        for op in graph.get_operations():
            node, inputs = scope + op.name, [_value(scope, tensor) for tensor in op.inputs]
            if op.name in arguments:
                self._put(node, _PASSED, [arguments[op.name]])
                continue
            self._put(node, op.type, inputs)
            if op.type == "IdentityN":
                for number, value in enumerate(inputs):
                    self._put(f"{node}:{number}", _PASSED, [value])
            elif op.type in _CALLING and depth < _DEEPEST:
                self._call(op, node, inputs, depth + 1)
        return [_value(scope, tensor) for tensor in graph.outputs]

    def _put(self, node: str, kind: str, inputs: list[str]) -> None:
        self._types[node], self._inputs[node] = kind, inputs

    def _call(self, op: Any, node: str, inputs: list[str], depth: int) -> None:
        """Add the functions that an op calls, and the op's results: ``name:0``, ``name:1`` and so on."""
        if op.type in _CALLS:
            for number, result in enumerate(self._run(op, op.get_attr("f"), f"{node}/", inputs, depth)):
                self._put(f"{node}:{number}", _PASSED, [result])
        elif op.type in _LOOPS:
            variables = [f"{node}:{number}" for number in range(len(inputs))]
            results = self._run(op, op.get_attr("body"), f"{node}/body/", variables, depth)
            self._run(op, op.get_attr("cond"), f"{node}/cond/", variables, depth)
            for variable, first, again in zip(variables, inputs, results, strict=False):
                self._put(variable, _CHOICE, [first, again])
        elif op.type in _CASES:
            for number, function in enumerate(op.get_attr("branches")):
                self._branch(op, function, f"{node}/branch{number}", inputs[1:], depth)
        else:
            for branch in ("then", "else"):
                function = op.get_attr(f"{branch}_branch")
                self._branch(op, function, f"{node}/{branch}", inputs[1:], depth)

    def _branch(self, op: Any, function: Any, scope: str, inputs: list[str], depth: int) -> None:
        node = scope.rpartition("/")[0]
        for number, result in enumerate(self._run(op, function, f"{scope}/", inputs, depth)):
            self._put(f"{scope}:{number}", _BRANCH, [result])
            self._types[f"{node}:{number}"] = _CHOICE
            self._inputs.setdefault(f"{node}:{number}", []).append(f"{scope}:{number}")

    def _run(self, op: Any, function: Any, scope: str, given: Sequence[str], depth: int) -> list[str]:
        """Add the ops of a function that an op calls, if its graph is known, and return its results."""
        own = getattr(op.graph, "_functions", {}).get(function.name)
        graph = self._functions.get(function.name) or graph_of(own)
        if graph is None or len(self._types) > _MOST_NODES:
            return []
        return self._add(graph, scope, given, depth)


def _value(scope: str, tensor: Any) -> str:
    """Return the node that has the value of a tensor."""
    name = scope + tensor.op.name
    return f"{name}:{tensor.value_index}" if tensor.op.type in _SEPARATE else name


def _scopes(name: str) -> Iterator[str]:
    """Yield the scopes around an op, from the innermost outwards."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
