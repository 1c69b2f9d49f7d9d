"""Inputs of ops according to the executed graphs; labels do not list all of them."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.critical_path.dependency_table import Dependencies, Times
from tfvis_nb.analysis.dataflow.executions import Executions
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.protobuf.schema import handler
from tfvis_nb.texts import Text, id_of, text_of


class _Inputs(NamedTuple):
    """Which nodes of a graph have which as inputs: numbers of their names, and whether only for order."""

    node: np.ndarray
    input: np.ndarray
    control: np.ndarray


def graph_inputs(trace: Trace, times: Times) -> list[Dependencies]:
    """Return the inputs and control inputs of each op by the partition graphs.

    A label is written from a node as it was when its kernel was made. Passes over the graph later add
    control inputs, fold constants and rename what enters loops: of 79 recorded steps the labels of 48 lack
    inputs, 384 of 23 734. Nodes that send and receive have no rows; what came through them
    is found by name (`tfvis_nb.analysis.dataflow.label_inputs.inputs`). Damaged graphs are left out, with a
    note of the trace.
    """
    rows = np.flatnonzero(times.executor)
    if not len(rows) or not any(trace.graphs):
        return []
    code, texts = pd.factorize(trace.events["name"])
    names = pa.array(texts, pa.large_string()).cast(pa.large_binary())
    known: dict[tuple[bytes, ...], _Inputs] = {}
    pairs = []
    for step, graphs in enumerate(trace.graphs):
        key = tuple(graphs)
        if key not in known:
            known[key] = _numbered(trace, graphs, names)
        here = rows[times.step[rows] == step]
        pairs.append(_joined(here, code[here], known[key]))
    consumer, node, control = (np.concatenate(column) for column in zip(*pairs, strict=True))
    width = [int(times.device_number.max(initial=0)) + 2, len(names)]
    where = (times.step * width[0] + times.device_number + 1) * width[1]
    ran = Executions(where[rows] + code[rows], times.done[rows], times.start[rows], rows)
    start = times.start[consumer]
    source = ran.find(where[consumer] + node, start, start)
    found = source >= 0
    return [
        times.at_start(source[chosen], consumer[chosen], kind)
        for chosen, kind in ((found & ~control, "data"), (found & control, "control"))
    ]


def _inputs(trace: Trace, graphs: list[bytes]) -> tuple[pa.Array, pa.Array]:
    """Return the inputs of all nodes, without those of damaged graphs; a note of the trace names these."""
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
    names = pc.struct_field(node, "name").cast(pa.large_binary())
    return names.take(pa.array(owner)), pc.list_flatten(lists).cast(pa.large_binary())


def _is_readable(trace: Trace, graph: bytes) -> bool:
    try:
        with gate("a partition graph"):
            _node_inputs([graph])
    except TraceFormatError as error:
        if not any(id_of(note) == "damaged_graphs_left_out" for note in trace.notes):
            trace.notes.append(Text("damaged_graphs_left_out", reason=text_of(error)))
        return False
    return True


def _numbered(trace: Trace, graphs: list[bytes], names: pa.Array) -> _Inputs:
    none = np.zeros(0, np.int64)
    if not graphs:
        return _Inputs(none, none, none.astype(bool))
    node, given = _inputs(trace, graphs)
    control = pc.starts_with(given, b"^").to_numpy(zero_copy_only=False)
    bare = pc.replace_substring_regex(given, rb"^\^|:\d+$", b"")
    numbers = [
        pc.index_in(texts, names).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        for texts in (node, bare)
    ]
    real = (numbers[0] >= 0) & (numbers[1] >= 0)
    return _Inputs(numbers[0][real], numbers[1][real], control[real])


def _joined(rows: np.ndarray, code: np.ndarray, inputs: _Inputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each row and each input of its node the row, the input, and whether it is only for order."""
    table = pd.DataFrame({"row": rows, "node": code}).merge(pd.DataFrame(inputs._asdict()), on="node")
    return table["row"].to_numpy(np.int64), table["input"].to_numpy(np.int64), table["control"].to_numpy(bool)
