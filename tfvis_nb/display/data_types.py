"""Names of TensorFlow's ``DataType`` numbers (``tensorflow/core/framework/types.proto``)."""

from __future__ import annotations

# In the order of their numbers, from 1.
# fmt: off
_NAMES = (
    "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool",
    "qint8", "quint8", "qint32", "bfloat16", "qint16", "quint16", "uint16", "complex128", "float16",
    "resource", "variant", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e4m3b11fnuz", "float8_e5m2fnuz", "int4", "uint4", "int2", "uint2", "float4_e2m1fn",
)
# fmt: on

DATA_TYPES = dict(enumerate(_NAMES, start=1)) | {
    number + 100: f"{name} ref" for number, name in enumerate(_NAMES, start=1)
}
"""DataType number to name; numbers over 100 are references to a variable of that type."""
