"""The nested columns of a trace, and their checks, because a file may contain anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from tfvis_nb.core.stacks import PHASE, STACK
from tfvis_nb.core.tracings import TRACING
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    Fits = Callable[[pa.DataType], bool]

LINKS = ("launch", "produced", "consumed")
"""Nested columns whose equal numbers link events; see `tfvis_nb.analysis.dataflow.recorded_links`."""
LINKING = (*LINKS, "instance")
"""The same, and the number that identifies a collective on all ranks."""

FLOWS_OUT, FLOWS_IN = "flows_out", "flows_in"
"""Nested columns: the numbers of the recorded arrows that start in an event, and of those that end in it."""

EXECUTOR = "executor_device"
"""Nested column: the device whose executor ran an event, such as ``/device:CPU:1``, of the event's task; null
if unknown. Profiles have it if devices of one task meet in collectives, because executors share threads."""

OP_NAME = "op_name"
"""Nested column: the TensorFlow node or JAX op that an XLA op was made from; null if unknown."""

PROGRAM, HLO_OP, FLOPS, BYTES_ACCESSED = "program", "hlo_op", "flops", "bytes_accessed"
"""Nested columns: the compiled program and its instruction that an event ran, and the operations and bytes of
one run according to XLA; null if unknown."""

LAYER, LAYER_CLASS, PARAMETER_BYTES = "layer", "layer_class", "parameter_bytes"
"""Nested columns: path and class of the live model's layer that an event belongs to, and the bytes of that
layer's weights, without nested layers that have their own events; null if unknown."""

ITERATOR = ("iterator", "parent_iterator")
"""Nested columns: the number of the tf.data iterator that an event calls, and of the one that consumes its
elements; null if unknown."""

MOVED, RECORDED_DURATION = "moved_ns", "recorded_duration_ns"
"""Nested columns of predicted times: how much later than recorded an event starts, and how long it took."""

GRAPH_INPUTS = "graph_inputs"
"""Nested column: inputs of an op in its graph but not in its label, such as ``a``, ``^a`` or ``a|b``."""
OR = "|"
"""Separates inputs of which an execution of the op used one: the first or a later value of a loop."""


def validate_nested(table: pa.Table) -> pa.Table:
    """Return `table`; raise a ValueError that names the first column of an unexpected type.

    Columns with other names may hold anything.
    """
    fitting = _columns()
    for name in table.column_names:
        if table.column_names.count(name) > 1:
            raise ValueError(Text("nested_twice", name=name))
        kind = table.schema.field(name).type
        if name in fitting and not fitting[name](kind):
            raise ValueError(Text("nested_type", name=name, kind=kind))
    return table


def with_columns(nested: pa.Table | None, columns: Mapping[str, pa.Array]) -> pa.Table:
    """Return nested records with more columns, which replace those of the same names."""
    kept = {} if nested is None else {name: nested[name] for name in nested.column_names}
    return pa.table({**kept, **columns})


def _columns() -> Mapping[str, Fits]:
    from pyarrow import types

    def text(kind: pa.DataType) -> bool:
        plain = kind.value_type if types.is_dictionary(kind) else kind
        return bool(types.is_string(plain) or types.is_large_string(plain))

    def list_of(inner: Fits) -> Fits:
        return lambda kind: bool(types.is_list(kind) and inner(kind.value_type))

    def struct_of(fields: Mapping[str, Fits], *needed: str) -> Fits:
        return lambda kind: (
            types.is_struct(kind)
            and {*needed} <= {one.name for one in kind}
            and len({one.name for one in kind}) == kind.num_fields
            and all(one.name not in fields or fields[one.name](one.type) for one in kind)
        )

    number: Fits = types.is_integer
    numbers: Fits = list_of(number)
    allocation = {
        **dict.fromkeys(("requested_bytes", "allocated_bytes", "allocation_id", "ptr"), number),
        "allocator": text,
        "single_reference": types.is_boolean,
    }
    outputs = {"slot": number, "dtype": number, "shape": numbers, "dim_names": list_of(text)}
    memory = dict.fromkeys(("total_bytes", "peak_bytes", "live_bytes", "in_use_bytes"), number)
    record = struct_of({"micros": number, "bytes": number}, "micros", "bytes")
    change = struct_of(dict.fromkeys(("argument", "kind", "before", "after"), text))
    tracing: dict[str, Fits] = dict.fromkeys(("function", "source", "caller"), text)
    tracing |= {"nodes": types.is_signed_integer, "changes": list_of(change)}
    sizes = ("temp_bytes", "persistent_bytes", "device_temp_bytes", "device_persistent_bytes")
    return {
        "raw_device": text,
        STACK: number,
        PHASE: text,
        **dict.fromkeys((EXECUTOR, OP_NAME, PROGRAM, HLO_OP, LAYER, LAYER_CLASS), text),
        **dict.fromkeys((FLOPS, BYTES_ACCESSED, PARAMETER_BYTES, *ITERATOR), number),
        TRACING: struct_of(tracing),
        GRAPH_INPUTS: list_of(text),
        **dict.fromkeys((FLOWS_OUT, FLOWS_IN), numbers),
        "outputs": list_of(struct_of({**outputs, **allocation})),
        "referenced": list_of(struct_of(allocation)),
        "memory": list_of(struct_of({**memory, "allocator": text, "records": list_of(record)}, "records")),
        **dict.fromkeys(
            (*LINKING, MOVED, RECORDED_DURATION, "in_use_bytes", "available_bytes", "address", *sizes), number
        ),
        "fragmentation": types.is_floating,
        **dict.fromkeys(("persistent_allocation_ids", "device_persistent_allocation_ids"), numbers),
    }
