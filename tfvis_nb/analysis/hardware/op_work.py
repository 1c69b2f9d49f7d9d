"""The work of each execution of a TensorFlow op, from the recorded shapes of tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from tfvis_nb.analysis.graph.op_flops import (
    Op,
    Tensor,
    counted_as,
    op_bytes,
    op_flops,
    tensor,
    type_of_numbers,
)
from tfvis_nb.analysis.graph.parsed import parsed
from tfvis_nb.core.data_types import DATA_TYPES
from tfvis_nb.core.nested_lists import exploded, numbers
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.tensor_senders import executor_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text

_LISTED = re.compile(r" = [^ (]+\((?P<inputs>.*)\)$", re.DOTALL)
_MOST_DIGITS = 6
_PARTITIONED = re.compile(r"(?P<node>.+?)(?:/_\d+|_S\d+)", re.DOTALL)
_SHAPES = re.compile(r"(?:^|[ =])\((?P<shapes>[a-z]\w*\[[^()]*)\)")
_SHAPE = re.compile(r"(?P<dtype>[a-z]\w*)\[(?P<sizes>(?:\d{1,18},)*\d{1,18}|)\]")

_NUMBERS = {name.lower(): number for number, name in enumerate(DATA_TYPES)}

_Outputs = Mapping[int, Tensor | None]
_COLUMNS = {"event": "int64", "flops": "float64", "bytes": "float64", "type": "object"}


@per_trace
def op_work(trace: Trace) -> pd.DataFrame:
    """Return a row for each executed op whose operations and bytes are known.

    ``event`` (int64), ``flops`` and ``bytes`` (float64) of `tfvis_nb.analysis.graph.op_flops`, and ``type``
    (object), XLA's name of the number type, empty if it is not a float type.
    """
    rows = []
    counted: dict[tuple[Any, ...], tuple[int | None, int | None, str]] = {}
    for event, op in _executions(trace):
        attributes = None if op.attributes is None else repr(op.attributes)
        key = (op.kind, op.inputs, op.outputs, attributes)
        if key not in counted:
            counted[key] = op_flops(op), op_bytes(op), type_of_numbers(op)
        flops, moved, kind = counted[key]
        if flops is not None and moved is not None:
            rows.append((event, flops, moved, kind))
    columns = zip(*rows, strict=True) if rows else [()] * len(_COLUMNS)
    table = {name: list(column) for name, column in zip(_COLUMNS, columns, strict=True)}
    return pd.DataFrame(table).astype(_COLUMNS)


def _executions(trace: Trace) -> Iterator[tuple[int, Op]]:
    """Yield the executions of ops that have a formula, with their known inputs, outputs and attributes."""
    events = trace.events
    plain = {kind: as_ for kind in events["op"].cat.categories if (as_ := counted_as(kind))}
    rows = executor_rows(events)
    rows = rows[events["op"].iloc[rows].isin(list(plain)).to_numpy(bool)]
    if not len(rows):
        return
    outputs = _outputs(trace)
    texts = events["detail"].iloc[rows].fillna("").tolist()
    if not outputs:
        for event, kind, detail in zip(rows.tolist(), events["op"].iloc[rows], texts, strict=True):
            if shapes := _SHAPES.search(detail):
                yield event, Op(plain[kind], _shapes(shapes["shapes"]))
        return
    steps = events["step"].to_numpy(np.int64)
    names = events["name"].fillna("").astype(object).to_numpy()
    made = _by_node(outputs, steps, names)
    graphs: dict[tuple[bytes, ...], dict[str, tuple[list[str], dict[str, Any]]]] = {}
    for event, kind, detail in zip(rows.tolist(), events["op"].iloc[rows], texts, strict=True):
        step, own = int(steps[event]), outputs.get(event, {})
        key = tuple(trace.graphs[step]) if 0 <= step < len(trace.graphs) else ()
        if key not in graphs:
            graphs[key] = _nodes(trace, key)
        listed = _LISTED.search(detail)
        given, attributes = graphs[key].get(names[event]) or (
            listed["inputs"].split(", ") if listed else [],
            None,
        )
        inputs = [_input(made, step, one) for one in given if one and one[0] != "^"]
        produced = (own.get(0), *(own[slot] for slot in sorted(own) if slot))
        yield event, Op(plain[kind], tuple(inputs), produced, attributes)


def _outputs(trace: Trace) -> dict[int, dict[int, Tensor | None]]:
    """Return the recorded outputs of each event, by slot."""
    outputs: dict[int, dict[int, Tensor | None]] = {}
    if trace.nested is None or "outputs" not in trace.nested.column_names:
        return outputs
    event, items = exploded(trace.nested["outputs"].combine_chunks())
    if items.type.get_field_index("shape") < 0:
        return outputs
    shapes = pc.struct_field(items, "shape").to_pylist()
    dtypes, slots = numbers(items, "dtype").tolist(), numbers(items, "slot").tolist()
    tensors: dict[tuple[int, tuple[int, ...] | None], Tensor | None] = {}
    for one, slot, dtype, shape in zip(event.tolist(), slots, dtypes, shapes, strict=True):
        if slot >= 0:
            key = dtype, None if shape is None else tuple(shape)
            if key not in tensors:
                tensors[key] = tensor(dtype, shape)
            outputs.setdefault(one, {})[slot] = tensors[key]
    return outputs


def _by_node(
    outputs: Mapping[int, _Outputs], steps: np.ndarray, names: np.ndarray
) -> dict[tuple[int, str, int], Tensor | None]:
    """Return the outputs of the nodes of each step; None if executions of a node differ."""
    made: dict[tuple[int, str, int], Tensor | None] = {}
    for event, slots in outputs.items():
        for slot, one in slots.items():
            key = (int(steps[event]), names[event], slot)
            made[key] = one if made.get(key, one) == one else None
    return made


def _input(made: Mapping[tuple[int, str, int], Tensor | None], step: int, given: str) -> Tensor | None:
    node, _, number = given.rpartition(":")
    is_output = bool(node) and number.isdecimal() and len(number) <= _MOST_DIGITS
    node, slot = (node, int(number)) if is_output else (given, 0)
    if (step, node, slot) in made:
        return made[step, node, slot]
    # A node that receives a tensor from another partition is named after the node that made it.
    origin = _PARTITIONED.fullmatch(node)
    return made.get((step, origin["node"], slot)) if origin else None


def _shapes(listed: str) -> tuple[Tensor | None, ...]:
    """Read the inputs of an op in a profile, such as ``float[8,4];int32[]``."""
    tensors = []
    for match in map(_SHAPE.fullmatch, listed.split(";")):
        sizes = [int(size) for size in match["sizes"].split(",") if size] if match else None
        tensors.append(tensor(_NUMBERS.get(match["dtype"], 0) if match else 0, sizes))
    return tuple(tensors)


def _nodes(trace: Trace, graphs: Sequence[bytes]) -> dict[str, tuple[list[str], dict[str, Any]]]:
    """Return inputs and attributes of nodes with a formula."""
    nodes = {}
    for graph in graphs:
        for node in parsed(trace, "GraphDef", graph).node:
            if counted_as(text(node.op)):
                attributes = {text(attr.key): _value(attr.value) for attr in node.attr}
                nodes[text(node.name)] = [text(one) for one in node.input], attributes
    return nodes


def _value(value: Any) -> Any:
    """Return an attribute of a type that formulas use; None for others."""
    kind = value.WhichOneof("value")
    if kind == "list":
        return list(value.list.i) or [text(one) for one in value.list.s]
    if kind == "s":
        return text(value.s)
    return getattr(value, kind) if kind in ("i", "b") else None
