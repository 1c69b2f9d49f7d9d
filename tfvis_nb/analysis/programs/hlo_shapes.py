"""Shapes in HLO programs: elements, bytes, and XLA's notation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

# fmt: off
_TYPES = (
    ("invalid", 0), ("pred", 8), ("s8", 8), ("s16", 16), ("s32", 32), ("s64", 64), ("u8", 8), ("u16", 16),
    ("u32", 32), ("u64", 64), ("f16", 16), ("f32", 32), ("f64", 64), ("tuple", 0), ("opaque", 0), ("c64", 64),
    ("bf16", 16), ("token", 0), ("c128", 128), ("f8e5m2", 8), ("f8e4m3fn", 8), ("s4", 4), ("u4", 4),
    ("f8e4m3b11fnuz", 8), ("f8e5m2fnuz", 8), ("f8e4m3fnuz", 8), ("s2", 2), ("u2", 2), ("f8e4m3", 8),
    ("f8e3m4", 8), ("s1", 1), ("u1", 1), ("f4e2m1fn", 4), ("f8e8m0fnu", 8),
)
# fmt: on
"""XLA's ``PrimitiveType`` by number: name, and bits per element."""

_TUPLE = 13
_MOST = 1 << 63
_MOST_DIMENSIONS = 64
_MOST_PARTS = 10_000
_PARTS_SHOWN = 6


def elements(shape: Any) -> int | None:
    """Return the number of elements of an array, or of the first array of a tuple; None if invalid.

    >>> from tfvis_nb.reading.protobuf.schema import hlo_class
    >>> hlo = hlo_class()()
    >>> shape = hlo.hlo_module.computations.add().instructions.add().shape
    >>> shape.element_type = 11
    >>> shape.dimensions.extend([32, 128])
    >>> elements(shape), size_bytes(shape), is_floating(shape), shape_text(shape)
    (4096, 16384, True, 'f32[32,128]')
    """
    first = next(_arrays(shape), None)
    if first is None or not 0 < len(first.dimensions) <= _MOST_DIMENSIONS:
        return None if first is None or first.dimensions else 1
    if min(first.dimensions) < 0:
        return None
    count = math.prod(first.dimensions)
    return count if count < _MOST else None


def size_bytes(shape: Any) -> int | None:
    """Return the bytes of an array, or of all arrays of a tuple; None if invalid."""
    total = 0
    for number, array in enumerate(_arrays(shape)):
        count = elements(array)
        if count is None or number >= _MOST_PARTS:
            return None
        total += -(-count * _type(array)[1] // 8)
    return total if total < _MOST else None


def is_floating(shape: Any) -> bool:
    """Return whether elements are floats or complex numbers; for a tuple, those of its first array."""
    first = next(_arrays(shape), None)
    return first is not None and _type(first)[0].startswith(("f", "bf", "c"))


def shape_text(shape: Any) -> str:
    """Format a shape like XLA, without its layout."""
    if shape.element_type == _TUPLE:
        parts = [shape_text(part) for part in shape.tuple_shapes[:_PARTS_SHOWN]]
        return f"({', '.join([*parts, *['...'][: len(shape.tuple_shapes) - len(parts)]])})"
    return f"{_type(shape)[0]}[{','.join(map(str, shape.dimensions[:_MOST_DIMENSIONS]))}]"


def _arrays(shape: Any) -> Iterator[Any]:
    """Yield the arrays of a shape. Protobuf limits nesting to less than Python's recursion limit."""
    if shape.element_type == _TUPLE:
        for part in shape.tuple_shapes:
            yield from _arrays(part)
    else:
        yield shape


def _type(shape: Any) -> tuple[str, int]:
    number = shape.element_type
    return _TYPES[number] if 0 <= number < len(_TYPES) else ("?", 0)
