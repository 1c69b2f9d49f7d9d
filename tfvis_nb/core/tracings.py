"""Recorded facts about each tracing of a function: a nested column of its event."""

import pyarrow as pa

TRACING = "tracing"
"""Nested column of the events in which TensorFlow traces a function, or JAX lowers one that it traced; null
where nothing was recorded."""

CHANGES = ("shape", "dtype", "value", "structure", "sharding", "context", "function")
"""Possible differences from the most similar earlier tracing of a function: the shape, data type, Python
value, structure or sharding of an argument; the context of the call, such as another device; or a new
function made from the same code."""

MOST_CHANGES = 16
"""How many changed arguments of one tracing are kept."""
LONGEST_TEXT = 200
"""How many characters of a name or a value are kept."""

CHANGE = pa.struct([(name, pa.string()) for name in ("argument", "kind", "before", "after")])
TYPE = pa.struct(
    [
        *((name, pa.string()) for name in ("function", "source", "caller")),
        ("nodes", pa.int64()),
        ("changes", pa.list_(CHANGE)),
    ]
)
"""The function's name, its place of definition such as ``train.py:12``, the line that called it, the nodes of
its graph, and the changes (empty for a first tracing, null if unknown). Files of version 0.2 have no
callers."""
