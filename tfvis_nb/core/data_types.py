"""TensorFlow's ``DataType`` enumeration: the meaning of the numbers in traces."""

# fmt: off
DATA_TYPES = (
    "INVALID", "FLOAT", "DOUBLE", "INT32", "UINT8", "INT16", "INT8", "STRING", "COMPLEX64", "INT64", "BOOL",
    "QINT8", "QUINT8", "QINT32", "BFLOAT16", "QINT16", "QUINT16", "UINT16", "COMPLEX128", "HALF", "RESOURCE",
    "VARIANT", "UINT32", "UINT64", "FLOAT8_E5M2", "FLOAT8_E4M3FN", "FLOAT8_E4M3FNUZ", "FLOAT8_E4M3B11FNUZ",
    "FLOAT8_E5M2FNUZ", "INT4", "UINT4", "INT2", "UINT2", "FLOAT4_E2M1FN",
)
# fmt: on
"""The names by number, without ``DT_``."""

REFERENCE = 100
"""Added to the number of a type to mark a reference to a variable of that type."""

_DTYPES = {"FLOAT": "float32", "DOUBLE": "float64", "HALF": "float16"}


def dtype_names() -> dict[int, str]:
    """Return the Python name of each type, by number; references are written like ``float32 ref``."""
    names = {number: _DTYPES.get(name, name.lower()) for number, name in enumerate(DATA_TYPES) if number}
    return names | {number + REFERENCE: f"{name} ref" for number, name in names.items()}
