"""Data outside a flat table: outputs with shapes, memory records; one Arrow row per event."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.reading.stepstats.source_rows import Source


def nested_table(source: Source, rows: np.ndarray) -> pa.Table:
    """Make the nested columns of the source's `rows`, in that order.

    The columns are ``raw_device``, ``outputs``, ``memory``, ``temp_bytes`` and
    ``persistent_bytes``; see `tfvis_nb.Trace`.
    """
    take = pa.array(rows)
    devices = pa.array(source.devices, pa.string()).dictionary_encode()
    raw_device = pa.DictionaryArray.from_arrays(
        devices.indices.take(pa.array(source.entry[rows])), devices.dictionary
    )
    memory_stats = source.column("memory_stats")
    return pa.table(
        {
            "raw_device": raw_device,
            "outputs": _each(source, "output", _outputs).take(take),
            "memory": _each(source, "memory", _memory).take(take),
            "temp_bytes": pc.struct_field(memory_stats, "temp_memory_size").take(take),
            "persistent_bytes": pc.struct_field(memory_stats, "persistent_memory_size").take(take),
        }
    )


def _each(source: Source, field: str, convert: Any) -> pa.Array:
    arrays = [convert(chunk.field(field)) for chunk in source.chunks]
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _outputs(outputs: pa.ListArray) -> pa.ListArray:
    values = outputs.values
    tensor = values.field("tensor_description")
    allocation = pc.struct_field(tensor, "allocation_description")
    shape = pc.struct_field(tensor, "shape")
    dims = tensor.field("shape").field("dim")
    unknown = pc.or_(pc.is_null(shape), pc.struct_field(shape, "unknown_rank").fill_null(True))
    shapes = pa.ListArray.from_arrays(dims.offsets, dims.values.field("size"), mask=unknown)
    columns = {
        "slot": values.field("slot"),
        "dtype": pc.struct_field(tensor, "dtype").fill_null(0),
        "shape": shapes,
        "requested_bytes": pc.struct_field(allocation, "requested_bytes").fill_null(0),
        "allocated_bytes": pc.struct_field(allocation, "allocated_bytes").fill_null(0),
        "allocator": _names(pc.struct_field(allocation, "allocator_name")),
        "ptr": pc.struct_field(allocation, "ptr").fill_null(0),
    }
    return _list_of_structs(outputs, columns)


def _memory(memory: pa.ListArray) -> pa.ListArray:
    values = memory.values
    records = values.field("allocation_records")
    columns = {
        "allocator": _names(values.field("allocator_name")),
        "total_bytes": values.field("total_bytes"),
        "peak_bytes": values.field("peak_bytes"),
        "live_bytes": values.field("live_bytes"),
        "in_use_bytes": values.field("allocator_bytes_in_use"),
        "records": _list_of_structs(
            records,
            {"micros": records.values.field("alloc_micros"), "bytes": records.values.field("alloc_bytes")},
        ),
    }
    return _list_of_structs(memory, columns)


def _list_of_structs(lists: pa.ListArray, columns: dict[str, pa.Array]) -> pa.ListArray:
    return pa.ListArray.from_arrays(
        lists.offsets, pa.StructArray.from_arrays(list(columns.values()), list(columns))
    )


def _names(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string()).fill_null("")
    except pa.ArrowInvalid:
        return pa.array([text(value or b"") for value in values.to_pylist()], pa.string())
