"""Find the graph op that each event of a recording executed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.nested_columns import OP_NAME
from tfvis_nb.core.phases import before_rewriting
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import MOVING
from tfvis_nb.recording.stacks.functions import is_pipeline, pipeline_graphs
from tfvis_nb.recording.stacks.graph_nodes import GraphNodes

CALL = re.compile(r"(?:EagerLocalExecute: )?(?P<function>__(?:inference|forward|backward)_.+_\d+)")
"""Matches the names of events that call a function."""

_TRANSFERRED = re.compile(r"edge_\d+_")
_MADE = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"_(?:arg|retval)_(.+)_\d+_\d+",  # a fed or fetched value
        r"_send_(.+)_\d+",  # an output of a function
        r"(.+?)(?:/_\d+|_S\d+)",  # a copy of a value for another device
        r"Func/(.+)/(?:input|output)(?:_control_node)?/_\d+",  # an input or output of an inlined function
        r"(.+)__cf__\d+",  # a constant value
        r"ConstantFolding/(.+?)(?:-[\w-]+|_const_axis)",
    )
]
"""Matches names of nodes that TensorFlow derives from others."""

_MODULE = re.compile(r"hlo_module=a_inference_(\w+?_\d+)__")
"""Matches XLA's name of the program of a function."""

_INPUT_PIPELINE = re.compile("tf_data")


class FoundOps(NamedTuple):
    """The ops of events.

    - `rows`: Events, int64.
    - `number`: The index in `ops` of each event's op.
    - `ops`: TensorFlow operations.
    """

    rows: np.ndarray
    number: np.ndarray
    ops: list[Any]


class EventOps:
    """Finds the ops of events.

    Parameters
    ----------
    nodes
        Finds the ops of graphs.
    """

    def __init__(self, nodes: GraphNodes) -> None:
        self._nodes = nodes

    def of_sessions(self, trace: Trace, graphs: Sequence[Any]) -> FoundOps:
        """Return the ops of events; each step ran the graph with its number."""
        every = {id(graph): graph for graph in graphs if graph is not None}
        numbers = {number: at for at, number in enumerate(every)}
        of_step = np.array([numbers.get(id(graph), -1) for graph in graphs] + [-1])
        rows = np.flatnonzero(_has_node(trace.events))
        ran = of_step[trace.events["step"].to_numpy()[rows]]
        node = _node_names(trace.events, rows)
        return self._found(trace, rows, node, ran, [[graph] for graph in every.values()])

    def of_profile(self, trace: Trace, functions: Mapping[str, Any], graphs: Sequence[Any]) -> FoundOps:
        """Return the ops of events, in the last function called before each event.

        Names missing there are searched in the other functions that ran, and in the `graphs` of sessions.
        """
        events = trace.events
        rows = np.flatnonzero(_has_node(events) & ~events["detail"].str.startswith("Eager").fillna(False))
        code, texts = _numbered(events["name"])
        called = [match["function"] if (match := CALL.fullmatch(text)) else "" for text in texts]
        calls = np.flatnonzero(np.array([name in functions for name in called])[code])
        number, names = pd.factorize(np.array(called, object)[code[calls]])
        distinct = names.tolist()
        start = events["start_ns"].to_numpy()
        last = np.searchsorted(start[calls], start[rows], side="right") - 1
        ran = np.where(last >= 0, np.append(number, -1)[last], len(distinct))
        others = [*(functions[name] for name in distinct), *graphs]
        uncalled = [name for name in functions if name not in distinct]
        pipelines = [functions[name] for name in sorted(uncalled, key=is_pipeline, reverse=True)]
        candidates = [*([functions[name], *others] for name in distinct), others, pipelines]
        of_pipeline = beginning(events["lane"], _INPUT_PIPELINE)[rows]
        ran[of_pipeline] = len(distinct) + 1
        node, of_module = _with_compiled(trace, rows, _node_names(events, rows))
        code, modules = pd.factorize(of_module)
        known = np.array([name in functions for name in modules], bool)
        ran = np.where(known[code], len(candidates) + code, ran)
        candidates += [[functions[name], *others] if name in functions else [] for name in modules]
        ops = self._found(trace, rows, node, ran, candidates)
        if not np.isin(rows[of_pipeline], ops.rows).all():
            pipelines += pipeline_graphs()
            ops = self._found(trace, rows, node, ran, candidates)
        return ops

    def _found(
        self,
        trace: Trace,
        rows: np.ndarray,
        node: pd.Series,
        ran: np.ndarray,
        candidates: Sequence[Sequence[Any]],
    ) -> FoundOps:
        """Return the ops of rows; `ran` has the numbers of the graphs that may contain each node, or -1."""
        code, texts = _numbered(node)
        pair, distinct = pd.factorize(np.where(ran < 0, -1, ran * len(texts) + code))
        ops = [
            self._op(candidates[key // len(texts)], texts[key % len(texts)]) if key >= 0 else None
            for key in distinct.tolist()
        ]
        missing = [at for at, op in enumerate(ops) if op is None and distinct[at] >= 0]
        originals = _originals(trace) if missing else {}
        for at in missing:
            key = int(distinct[at])
            for name in originals.get(texts[key % len(texts)], ()):
                ops[at] = ops[at] or self._op(candidates[key // len(texts)], name)
        known = np.array([op is not None for op in ops], bool)[pair]
        return FoundOps(rows[known], pair[known], ops)

    def _op(self, graphs: Iterable[Any], name: str) -> Any:
        for variant in _variants(name):
            for graph in graphs:
                op = self._nodes.node(graph, variant)
                if op is not None:
                    return op
        return None


def _has_node(events: pd.DataFrame) -> np.ndarray:
    return ~is_kind(events, "host", "sync")


def _node_names(events: pd.DataFrame, rows: np.ndarray) -> pd.Series:
    """Return the node of each event; for received or copied tensors, the node that made them."""
    # Labels are most of the bytes of a table.
    events = events[["kind", "name", "tensor"]].iloc[rows]
    moved = is_kind(events, *MOVING)
    tensor = events["tensor"][moved].astype(object).dropna()
    tensor = tensor[tensor != ""].str.replace(_TRANSFERRED, "", n=1, regex=True)
    if not len(tensor):
        return events["name"]
    name = events["name"].astype(object)
    name[tensor.index] = tensor
    return name


def _with_compiled(trace: Trace, rows: np.ndarray, node: pd.Series) -> tuple[pd.Series, np.ndarray]:
    """Name events of compiled code by their nodes; also return the function of each, empty if unknown."""
    function = np.full(len(rows), "", object)
    if trace.nested is None or OP_NAME not in trace.nested.column_names:
        return node, function
    op_name = trace.nested[OP_NAME].cast(pa.string()).take(rows).to_numpy(zero_copy_only=False)
    made = np.array([name is not None for name in op_name], bool)
    modules = trace.events["detail"].iloc[rows[made]].str.extract(_MODULE, expand=False)
    function[made] = ("__inference_" + modules).fillna("").to_numpy(object)
    return node.astype(object).mask(made, op_name), function


def _numbered(texts: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return the number of each row's text, and the distinct texts; missing ones are empty."""
    code, distinct = pd.factorize(texts)
    return np.where(code < 0, len(distinct), code), [*map(str, distinct), ""]


def _variants(name: str) -> Iterator[str]:
    yield name
    if (rewritten := before_rewriting(name)) != name:
        yield from _variants(rewritten)
    for pattern in _MADE:
        match = pattern.fullmatch(name)
        if match is not None:
            yield from _variants(match[1])


def _originals(trace: Trace) -> dict[str, list[str]]:
    """Return the original nodes of nodes, if TensorFlow's optimiser noted them."""
    from tensorflow.core.framework import graph_pb2

    originals = {}
    for data in dict.fromkeys(graph for step in trace.graphs for graph in step):
        for node in graph_pb2.GraphDef.FromString(data).node:
            if node.experimental_debug_info.original_node_names:
                originals[node.name] = list(node.experimental_debug_info.original_node_names)
    return originals
