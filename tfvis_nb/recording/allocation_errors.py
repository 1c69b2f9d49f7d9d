"""Parse the messages of TensorFlow, JAX and NumPy about failed allocations."""

import math
import re
from typing import Any

from tfvis_nb.events import MOST_IN_ALL

_LONGEST = 1 << 20
"""How many characters of a message are searched."""
MOST_BUFFERS = 100
"""How many of the largest buffers are listed."""

_TENSOR = re.compile(r"OOM when allocating (?:temporary )?tensor (?:with|of) shape ?\[([\d, ]{0,400})\]")
_TYPE = re.compile(r" and type ([\w.]+)")
_WHERE = re.compile(r" on (/\S+) by allocator (\S+)")
_CONSTANT = re.compile(
    r"Cannot parse tensor from proto:[^{}]{0,99}?dtype: DT_([A-Z0-9]{1,20})\s+"
    r"tensor_shape \{((?:\s+dim \{\s+size: \d{1,19}\s+\}){1,254})\s+\}(?!\s+tensor_content)"
)
"""A constant that repeats a few numbers. If its shape is valid, it can only fail for lack of memory."""
_UNITS = {"bytes": 1, "B": 1} | {
    f"{unit}{suffix}": 2 ** (10 * at) for at, unit in enumerate("KMGTPE", 1) for suffix in ("iB", "")
}
_AMOUNT = re.compile(
    r"(?:[Oo]ut of memory (?:(?:while )?trying to allocate|allocating)|[Ff]ailed to allocate(?: request for)?"
    rf"|Unable to allocate) (\d[\d.]*) ?({'|'.join(_UNITS)})\b"
)
_PROGRAM = re.compile(r"Ran out of memory in memory space \w+\. Used (\d[\d.]*)(\w+) of (\d[\d.]*)(\w+)")
"""A program that the compiler of a TPU cannot place into its memory."""
_ARRAY = re.compile(r" for an array with shape \(([\d, ]{0,400})\) and data type (\w+)")
_NO_AMOUNT = re.compile(r"failed to allocate memory|Dst tensor is not initialized|CUDA_ERROR_OUT_OF_MEMORY")
_NODE = re.compile(r"\{\{node ([^{}\s]+)\}\}|\[\[node ([^\s\]]+)")
_OP = re.compile(r"\[Op:(\w+)\]")
_USAGE = re.compile(r"Current usage from device: (\S+), allocator: (\S+)\n((?: +[^\n]+\n?)*)")
_BUFFER = re.compile(r"^ +(\d[\d.]*) ?([KMGTPE]?i?B) from (\S+)$", re.MULTILINE)
_PEAK_BUFFER = re.compile(
    r"^[ \t]*(?:\d+\. )?Size: (\d[\d.]*)([KMGTPE]?i?B?)[ \t]*\n((?:(?![ \t]*={9})[^\n]*\n?){1,16})",
    re.MULTILINE,
)
_OPERATOR = re.compile(r'op_name="([^"\n]*)"(?: source_file="([^"\n]+)" source_line=(\d{1,9}))?')
_LABEL = re.compile(r"XLA [Ll]abel: %?(\S+)")
_SHAPE = re.compile(r"[Ss]hape: ([^\s{]+)")
_NUMBER = re.compile(r"[0-9]+")
XLA_PROGRAM = "XLA program"
"""The allocator of buffers that a program needs at its peak, from XLA's message."""

_BYTES = {
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float", "int32", "uint32", "qint32"), 4),
    **dict.fromkeys(("half", "bfloat16", "int16", "uint16", "qint16", "quint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool", "qint8", "quint8"), 1),
    "complex128": 16,
}
_NAMES = {"float": "float32", "double": "float64", "half": "float16"}


def parsed(message: str) -> dict[str, Any] | None:
    """Return the facts about an allocation in a message, by the columns of `OUT_OF_MEMORY`; else None.

    >>> asked = parsed("OOM when allocating tensor with shape[8,4] and type float on /CPU:0 by allocator cpu")
    >>> asked["requested_bytes"], asked["dtype"], asked["allocator"]
    (128, 'float32', 'cpu')
    """
    message = message[:_LONGEST]
    request: dict[str, Any] = dict.fromkeys(("node", "op", "shape", "dtype", "device", "allocator"))
    if tensor := _TENSOR.search(message):
        kind = _TYPE.match(message, tensor.end())
        where = _WHERE.match(message, (kind or tensor).end())
        request |= _tensor(tensor[1], kind[1] if kind else None)
        if where is not None:
            request |= {"device": where[1], "allocator": where[2]}
    elif constant := _constant(message):
        request |= constant
    elif amount := _AMOUNT.search(message):
        if array := _ARRAY.match(message, amount.end()):
            request |= _tensor(array[1], array[2])
        request["requested_bytes"] = _bytes(*amount.groups())
    elif program := _PROGRAM.search(message):
        request |= {"requested_bytes": _bytes(*program.groups()[:2])}
        request |= {"available_bytes": _bytes(*program.groups()[2:])}
    elif _NO_AMOUNT.search(message):
        request["requested_bytes"] = None
    else:
        return None
    node = _NODE.search(message)
    if node is not None:
        request["node"] = node[1] or node[2]
    else:
        request["op"] = eager_op(message)
    return request


def eager_op(message: str) -> str | None:
    """Return the type of the eager op that failed, or the name of the function that it called."""
    op = _OP.search(message[:_LONGEST])
    return None if op is None else op[1]


def is_on_host(message: str) -> bool:
    """Whether host memory was requested, according to a message that names no device."""
    message = message[:_LONGEST]
    return bool(_constant(message) or _ARRAY.search(message))


def live_buffers(message: str) -> list[dict[str, Any]]:
    """Return the buffers that a message lists as allocated: rows of `LIVE_AT_FAILURE`, the largest first."""
    buffers = [
        {"node": node, "device": device, "allocator": allocator, "bytes": _bytes(number, unit)}
        for device, allocator, lines in _USAGE.findall(message[:_LONGEST])
        for number, unit, node in _BUFFER.findall(lines)
    ]
    buffers += map(_peak_buffer, _PEAK_BUFFER.finditer(message[:_LONGEST]))
    known = [one for one in buffers if one["bytes"] is not None]
    return sorted(known, key=lambda one: -one["bytes"])[:MOST_BUFFERS]


def _peak_buffer(match: re.Match[str]) -> dict[str, Any]:
    operator, label, shape = (pattern.search(match[3]) for pattern in (_OPERATOR, _LABEL, _SHAPE))
    name = operator[1] if operator else label[1] if label else "parameter"
    return {
        "node": f"{name} {shape[1]}" if shape else name,
        "op": label[1] if label else None,
        "file": operator[2] if operator else None,
        "line": int(operator[3]) if operator and operator[3] else None,
        "allocator": XLA_PROGRAM,
        "bytes": _bytes(match[1], match[2] or "B"),
    }


def _constant(message: str) -> dict[str, Any] | None:
    """Return the memory that a failed constant needs; None if it has another fault."""
    constant = _CONSTANT.search(message)
    request = None if constant is None else _tensor(constant[2], constant[1].lower())
    return request if request and request["requested_bytes"] else None


def _tensor(shape: str, dtype: str | None) -> dict[str, Any]:
    sizes = _NUMBER.findall(shape)
    each = _BYTES.get(dtype or "")
    size = None if each is None else each * math.prod(map(int, sizes))
    return {
        "shape": f"[{', '.join(sizes)}]",
        "dtype": None if dtype is None else _NAMES.get(dtype, dtype),
        "requested_bytes": None if size is None or size > MOST_IN_ALL else size,
    }


def _bytes(number: str, unit: str) -> int | None:
    try:
        size = round(float(number) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        return None
    return size if size <= MOST_IN_ALL else None
