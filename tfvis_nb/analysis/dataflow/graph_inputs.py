"""Inputs of ops from the executed graphs, because labels do not list all of them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.graph.parsed import note_damage
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.nested_columns import GRAPH_INPUTS
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.protobuf.to_arrow import handler
from tfvis_nb.reading.protobuf.wire import texts


def graph_inputs(trace: Trace, rows: np.ndarray) -> tuple[np.ndarray, pa.Array]:
    """Return the inputs of events from the partition graphs: the position in `rows`, and ``a:1`` or ``^a``.

    A label describes a node when its kernel was created. Later graph passes add control inputs, fold
    constants and rename inputs of loops: in 48 of 79 recorded steps labels lack inputs, 384 of 23,734 in
    total. Damaged graphs are left out, with a note of the trace. A trace read from an exported Chrome trace
    has no graphs, but keeps the inputs missing in labels.
    """
    parts = [_recorded(trace, rows)]
    if any(trace.graphs):
        code, names = pd.factorize(trace.events["name"].iloc[rows])
        nodes = pa.array(names, pa.large_string())
        step = trace.events["step"].to_numpy()[rows]
        of_graphs: dict[tuple[bytes, ...], tuple[pd.DataFrame, pa.Array]] = {}
        for number, graphs in enumerate(trace.graphs):
            key = tuple(graphs)
            here = np.flatnonzero(step == number)
            if not len(here) or not key:
                continue
            if key not in of_graphs:
                owner, given = _inputs(trace, graphs)
                node = pc.index_in(owner, nodes).fill_null(-1).to_numpy(zero_copy_only=False)
                of_graphs[key] = pd.DataFrame({"node": node, "input": np.arange(len(node))}), given
            table, given = of_graphs[key]
            pairs = pd.DataFrame({"row": here, "node": code[here]}).merge(table, on="node")
            parts.append((pairs["row"].to_numpy(np.int64), given.take(pa.array(pairs["input"]))))
    return np.concatenate([row for row, _ in parts]), pa.concat_arrays([given for _, given in parts])


def _recorded(trace: Trace, rows: np.ndarray) -> tuple[np.ndarray, pa.Array]:
    if trace.nested is None or GRAPH_INPUTS not in trace.nested.column_names:
        return np.zeros(0, np.int64), pa.array([], pa.large_string())
    lists = trace.nested[GRAPH_INPUTS].combine_chunks().take(pa.array(rows))
    position = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return position, pc.list_flatten(lists).cast(pa.large_string()).fill_null("")


def _inputs(trace: Trace, graphs: list[bytes]) -> tuple[pa.Array, pa.Array]:
    """Return the inputs of all nodes, except those of damaged graphs, which a note of the trace names."""
    try:
        with gate("the graphs"):
            return _node_inputs(graphs)
    except TraceFormatError:
        return _node_inputs([graph for graph in graphs if _is_readable(trace, graph)])


def _node_inputs(graphs: list[bytes]) -> tuple[pa.Array, pa.Array]:
    """Return, for each input of each node, the name of the node and the input, such as `a:1` or `^a`."""
    nodes = handler("GraphDef", "graphs").list_to_record_batch(graphs).column("node")
    node = pc.list_flatten(nodes)
    lists = pc.struct_field(node, "input")
    owner = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return texts(pc.struct_field(node, "name")).take(pa.array(owner)), texts(pc.list_flatten(lists))


def _is_readable(trace: Trace, graph: bytes) -> bool:
    try:
        with gate("a partition graph"):
            _node_inputs([graph])
    except TraceFormatError as error:
        note_damage(trace, error)
        return False
    return True
