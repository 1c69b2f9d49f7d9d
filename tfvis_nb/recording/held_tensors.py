"""The variables and eager tensors that the program holds.

They replace the buffers of an allocator that records none, such as TensorFlow's plain CPU allocator. Values
between ops of a function are not included.
"""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from tfvis_nb.recording.allocation_errors import MOST_BUFFERS


def held_tensors() -> list[dict[str, Any]]:
    """Return the largest on the CPU, as rows of `LIVE_AT_FAILURE`."""
    rows = [row for value in _values() if (row := _row(value)) is not None]
    return sorted(rows, key=lambda row: -row["bytes"])[:MOST_BUFFERS]


def _values() -> Iterator[Any]:
    from tensorflow.python.framework.ops import EagerTensor
    from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable

    # Accessing __class__ may run code of the object; its type does not.
    return (
        value for value in gc.get_objects() if issubclass(type(value), (BaseResourceVariable, EagerTensor))
    )


def _row(value: Any) -> dict[str, Any] | None:
    with contextlib.suppress(Exception):  # variables of graphs, or deleted ones
        size = int(value.shape.num_elements()) * int(value.dtype.size)
        if size and "CPU" in value.device and value.dtype.name not in ("resource", "variant"):
            if hasattr(value, "handle"):
                return {"node": value.name.removesuffix(":0"), "op": "VarHandleOp", "bytes": size}
            return {"node": f"{value.dtype.name} {value.shape.as_list()}", "bytes": size}
    return None
