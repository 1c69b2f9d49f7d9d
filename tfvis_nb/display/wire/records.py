"""Nested records of events on the wire: outputs, memory, referenced tensors, MemoryStats.

``js/model/wire/records.ts`` reads them.
"""

import numpy as np
import pyarrow as pa

from tfvis_nb.display.wire.container import WireColumn
from tfvis_nb.display.wire.lane_times import optional_column, signed_column
from tfvis_nb.display.wire.nested import NestedRows, id_texts, nested_rows, shape_texts

_IDS = {
    "persistent_ids": "persistent_allocation_ids",
    "device_persistent_ids": "device_persistent_allocation_ids",
}


def output_columns(rows: NestedRows) -> dict[str, WireColumn]:
    """Store outputs without their shapes, which are texts."""
    return {
        "output_offsets": WireColumn(rows.offsets, "delta-shuffle"),
        "output_slot": WireColumn(_narrow(rows.whole("slot"))),
        "output_dtype": WireColumn(_narrow(rows.whole("dtype"))),
        "output_bytes": WireColumn(rows.whole("requested_bytes").astype("f8")),
        **_buffers("output", rows),
    }


def output_shapes(rows: NestedRows) -> pa.Array:
    """Store the shape of each output as text."""
    shapes = rows.fields.get("shape")
    return rows.texts("shape") if shapes is None else shape_texts(shapes, rows.fields.get("dim_names"))


def memory_columns(nested: pa.Table | None, events: int) -> tuple[list[str], dict[str, WireColumn]]:
    """Store allocators' records for events, and referenced tensors: allocators' names, and columns."""
    memory, referenced = (nested_rows(nested, name, events) for name in ("memory", "referenced"))
    names = pa.concat_arrays([memory.texts("allocator"), referenced.texts("allocator")]).dictionary_encode()
    allocator = names.indices.to_numpy(zero_copy_only=False).astype("u2")
    uses = int(memory.offsets[-1])
    columns = {
        "memory_offsets": WireColumn(memory.offsets, "delta-shuffle"),
        "memory_allocator": WireColumn(allocator[:uses]),
    }
    for stored in ("total", "peak", "live"):
        columns[f"memory_{stored}"] = optional_column(memory.whole(f"{stored}_bytes"), np.ones(uses, bool))
    for name in ("temp_bytes", "persistent_bytes", "device_temp_bytes", "device_persistent_bytes"):
        if nested is not None and name in nested.column_names:
            known = nested[name].is_valid().to_numpy()
            if known.any():
                columns[name] = optional_column(_numbers(nested[name]), known)
    if referenced.offsets[-1]:
        columns |= {
            "referenced_offsets": WireColumn(referenced.offsets, "delta-shuffle"),
            "referenced_allocator": WireColumn(allocator[uses:]),
            "referenced_bytes": WireColumn(referenced.whole("requested_bytes").astype("f8")),
            **_buffers("referenced", referenced),
        }
    return names.dictionary.to_pylist(), columns


def id_columns(nested: pa.Table | None) -> dict[str, pa.Array]:
    """Store the numbers of the buffers that events kept, as texts; nothing if the source lacks them."""
    if nested is None:
        return {}
    return {name: id_texts(nested[column]) for name, column in _IDS.items() if column in nested.column_names}


def _buffers(of: str, rows: NestedRows) -> dict[str, WireColumn]:
    """Store which tensors are in numbered buffers (1, or 2 if shared), and those numbers.

    A number is stored as its distance to the previous one, because allocators count upwards.
    """
    buffer = rows.whole("allocation_id")
    known = buffer != 0
    if not known.any():
        return {}
    state = np.where(known, 2 - rows.whole("single_reference"), 0)
    return {
        f"{of}_buffer": WireColumn(state.astype("u1")),
        f"{of}_buffer_step": signed_column(np.diff(buffer[known], prepend=0)),
    }


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Return whole numbers of any type as int64, missing ones as 0."""
    numbers: np.ndarray = column.fill_null(0).cast(pa.int64(), safe=False).to_numpy()
    return numbers


def _narrow(numbers: np.ndarray) -> np.ndarray:
    """Store small numbers in as few bytes as the largest needs."""
    largest = int(numbers.max()) if len(numbers) else 0
    return numbers.astype("u1" if largest < 2**8 else "u2" if largest < 2**16 else "u4")
