"""Attributes of a graph node as a short text."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from tfvis_nb.core.data_types import dtype_names
from tfvis_nb.core.labels import printable
from tfvis_nb.reading.protobuf.wire import text

_COLOCATION = b"_class"
_LOC = "loc:@"
_LONGEST = 60
_MOST_LETTERS = 400
_MOST_ITEMS = 8
_DTYPES = dtype_names()
_OF_VARIABLES = (b"debug_name", b"shared_name")


def attributes(node: Any) -> str:
    """Format the attributes of a NodeDef, ordered by name: ``T=float32, transpose_a=true``.

    TensorFlow's own attributes (``_output_shapes``), empty ones, and names that repeat the node's are left
    out. Tensors show dtype and shape. Long values end in an ellipsis.
    """
    own = bytes(node.name)
    parts = []
    for attr in node.attr:
        key = bytes(attr.key)
        if key[:1] == b"_" or (key in _OF_VARIABLES and attr.value.s.rstrip(b"/") == own):
            continue
        if value := _value(attr.value):
            parts.append(f"{_cut(text(key))}={_cut(value)}")
    return printable(", ".join(sorted(parts)), _MOST_LETTERS)


def colocation(node: Any) -> str:
    """Return the nodes with which a NodeDef must be colocated: the names after ``loc:@`` in ``_class``."""
    for attr in node.attr:
        if attr.key == _COLOCATION:
            names = [text(name).removeprefix(_LOC) for name in islice(attr.value.list.s, _MOST_ITEMS)]
            return printable(", ".join(names), _MOST_LETTERS)
    return ""


def original_names(node: Any) -> str:
    """Return the nodes of the program from which Grappler made a NodeDef, if they have other names."""
    names = list(node.experimental_debug_info.original_node_names)
    return "" if names == [node.name] else printable(", ".join(map(text, names)), _MOST_LETTERS)


def _value(value: Any) -> str:
    kind = value.WhichOneof("value")
    if kind is None:
        return ""
    if kind != "list":
        return _scalar(kind, getattr(value, kind))
    every = [(field.name, items) for field, items in value.list.ListFields()]
    texts = [_scalar(name, item) for name, items in every for item in islice(items, _MOST_ITEMS)]
    more = any(len(items) > _MOST_ITEMS for _, items in every)
    return _brackets([*texts, "\u2026"] if more else texts) if texts else ""


def _scalar(kind: str, value: Any) -> str:
    if kind == "type":
        return _DTYPES.get(value, f"dtype {value}")
    if kind == "shape":
        return _shape(value)
    if kind == "tensor":
        return _scalar("type", value.dtype) + _shape(value.tensor_shape)
    if kind == "func":
        return text(value.name)
    if kind == "b":
        return "true" if value else "false"
    if kind == "f":
        return f"{value:g}"
    return text(value[: 4 * _LONGEST]) if isinstance(value, bytes) else str(value)


def _shape(shape: Any) -> str:
    if shape.unknown_rank:
        return "?"
    return _brackets("?" if dim.size < 0 else str(dim.size) for dim in islice(shape.dim, 4 * _MOST_ITEMS))


def _brackets(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"


def _cut(value: str) -> str:
    return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "\u2026"
