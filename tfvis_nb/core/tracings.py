"""The recorded facts about each tracing of a ``tf.function``: a nested column of the event."""

import pyarrow as pa

TRACING = "tracing"
"""Nested column of the events in which TensorFlow traces a function; null where nothing was recorded."""

CHANGES = ("shape", "dtype", "value", "structure", "context", "function")
"""Possible differences from the most similar earlier tracing of a function: an argument's shape, data type,
Python value or structure; no argument, but the context of the call, such as another device; or the function
itself, made anew from the same code."""

MOST_CHANGES = 16
"""Changed arguments of one tracing that are kept."""
LONGEST_TEXT = 200
"""Characters that are kept of a name or a value."""

CHANGE = pa.struct([(name, pa.string()) for name in ("argument", "kind", "before", "after")])
TYPE = pa.struct(
    [("function", pa.string()), ("source", pa.string()), ("nodes", pa.int64()), ("changes", pa.list_(CHANGE))]
)
"""The function's name; where it is defined, such as ``train.py:12``; the nodes of its graph; and what
changed, empty for a first tracing."""
