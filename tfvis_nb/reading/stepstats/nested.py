"""Data that does not fit a flat table: outputs with shapes, memory records; one Arrow row per event."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.reading.stepstats.source_rows import Source

_MEMORY_STATS = {
    "temp_bytes": "temp_memory_size",
    "persistent_bytes": "persistent_memory_size",
    "persistent_allocation_ids": "persistent_tensor_alloc_ids",
    "device_temp_bytes": "device_temp_memory_size",
    "device_persistent_bytes": "device_persistent_memory_size",
    "device_persistent_allocation_ids": "device_persistent_tensor_alloc_ids",
}
_ALWAYS = ("temp_bytes", "persistent_bytes")
_RARE = ("allocation_id", "single_reference", "dim_names")
"""Fields that are left out if no record of the source has a value."""


def nested_table(source: Source, rows: np.ndarray) -> pa.Table:
    """Make the nested columns of the source's `rows`, in that order.

    The columns are ``raw_device``, ``outputs``, ``memory``, ``temp_bytes`` and ``persistent_bytes``, and, if
    the source has values, ``referenced`` and the rest of ``MemoryStats``; see `tfvis_nb.Trace`.
    """
    take = pa.array(rows)
    devices = pa.array(source.devices, pa.string()).dictionary_encode()
    raw_device = pa.DictionaryArray.from_arrays(
        devices.indices.take(pa.array(source.entry[rows])), devices.dictionary
    )
    columns = {
        "raw_device": raw_device,
        "outputs": _each(source, "output", _outputs).take(take),
        "memory": _each(source, "memory", _memory).take(take),
    }
    if any(len(chunk.field("referenced_tensor").values) for chunk in source.chunks):
        columns["referenced"] = _each(source, "referenced_tensor", _allocation).take(take)
    memory_stats = source.column("memory_stats")
    for name, field in _MEMORY_STATS.items():
        values = pc.struct_field(memory_stats, field)
        # An id in a list may be 0.
        present = pc.list_value_length(values) if pa.types.is_list(values.type) else values
        if name in _ALWAYS or _has_value(present):
            columns[name] = values.take(take)
    return pa.table(columns)


def _each(source: Source, field: str, convert: Callable[[pa.StructArray], dict[str, pa.Array]]) -> pa.Array:
    """Convert the records in a field of all rows, keeping their lists."""
    lists = [chunk.field(field) for chunk in source.chunks]
    columns = [convert(each.values) for each in lists]
    absent = [
        name for name in _RARE if name in columns[0] and not any(_has_value(each[name]) for each in columns)
    ]
    arrays = [
        _list_of_structs(each, {name: values for name, values in of_chunk.items() if name not in absent})
        for each, of_chunk in zip(lists, columns, strict=True)
    ]
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _has_value(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether any value differs from the default (0, false, empty), which messages do not store."""
    while pa.types.is_list(values.type):
        values = pc.list_flatten(values)
    if pa.types.is_string(values.type):
        values = pc.binary_length(values)
    return bool(pc.any(values.cast(pa.bool_())).as_py())


def _outputs(outputs: pa.StructArray) -> dict[str, pa.Array]:
    tensor = outputs.field("tensor_description")
    shape = pc.struct_field(tensor, "shape")
    dims = tensor.field("shape").field("dim")
    unknown = pc.or_(pc.is_null(shape), pc.struct_field(shape, "unknown_rank").fill_null(True))
    return {
        "slot": outputs.field("slot"),
        "dtype": pc.struct_field(tensor, "dtype").fill_null(0),
        "shape": pa.ListArray.from_arrays(dims.offsets, dims.values.field("size"), mask=unknown),
        "dim_names": pa.ListArray.from_arrays(dims.offsets, _names(dims.values.field("name")), mask=unknown),
        **_allocation(pc.struct_field(tensor, "allocation_description")),
    }


def _allocation(described: pa.StructArray) -> dict[str, pa.Array]:
    """Return the fields of AllocationDescriptions; 0 or empty for missing ones."""
    numbers = {
        name: pc.struct_field(described, name).fill_null(0)
        for name in ("requested_bytes", "allocated_bytes", "allocation_id", "ptr")
    }
    return numbers | {
        "allocator": _names(pc.struct_field(described, "allocator_name")),
        "single_reference": pc.struct_field(described, "has_single_reference").fill_null(False),
    }


def _memory(memory: pa.StructArray) -> dict[str, pa.Array]:
    records = memory.field("allocation_records")
    return {
        "allocator": _names(memory.field("allocator_name")),
        "total_bytes": memory.field("total_bytes"),
        "peak_bytes": memory.field("peak_bytes"),
        "live_bytes": memory.field("live_bytes"),
        "in_use_bytes": memory.field("allocator_bytes_in_use"),
        "records": _list_of_structs(
            records,
            {"micros": records.values.field("alloc_micros"), "bytes": records.values.field("alloc_bytes")},
        ),
    }


def _list_of_structs(lists: pa.ListArray, columns: dict[str, pa.Array]) -> pa.ListArray:
    return pa.ListArray.from_arrays(
        lists.offsets, pa.StructArray.from_arrays(list(columns.values()), list(columns))
    )


def _names(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string()).fill_null("")
    except pa.ArrowInvalid:
        return pa.array([text(value or b"") for value in values.to_pylist()], pa.string())
