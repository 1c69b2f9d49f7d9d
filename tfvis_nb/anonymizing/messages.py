"""Replace names in messages of TensorFlow and XLA: graphs and compiled programs."""

from __future__ import annotations

from collections.abc import MutableSequence
from functools import cache
from typing import Any

from google.protobuf.message import DecodeError

from tfvis_nb.anonymizing.names import Names
from tfvis_nb.anonymizing.public_names import public
from tfvis_nb.reading.protobuf.schema import message_class, messages, register
from tfvis_nb.reading.protobuf.wire import text

_LEFT_OUT = frozenset(
    ("tensor_content", "string_val", "summary", "description", "explanation", "source_file", "step_stats")
)
"""Fields with values, descriptions or code, and fields repeated in events."""


def replaced_graph(data: bytes, names: Names) -> bytes:
    """Return a serialised ``GraphDef`` with replaced names; values of constants are left out."""
    return _replaced(data, message_class("GraphDef"), names, kernel=False)


def replaced_run_metadata(data: bytes, names: Names) -> bytes:
    """Return a serialised ``RunMetadata`` with replaced names, without its ``step_stats``."""
    return _replaced(data, message_class("RunMetadata"), names, kernel=False)


def replaced_program(data: bytes, names: Names) -> bytes:
    """Return a serialised ``HloProto`` with replaced names, without source lines and values of constants."""
    return _replaced(data, _program(), names, kernel=True)


@cache
def _program() -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(
        register("tfvis_nb.anonymized_hlo", messages("hlo_whole"), {})["HloProto"]
    )


def _replaced(data: bytes, kind: Any, names: Names, *, kernel: bool) -> bytes:
    try:
        message = kind.FromString(data)
    except DecodeError:
        # Analyses also ignore damaged messages.
        return b""
    # Fields missing in our tables, such as literals and metadata of other programs, may contain names.
    message.DiscardUnknownFields()
    _replace_fields(message, names, kernel=kernel)
    written: bytes = message.SerializeToString()
    return written


def _replace_fields(message: Any, names: Names, *, kernel: bool) -> None:
    if message.DESCRIPTOR.name == "Attr" and text(message.key) in public("attributes"):
        _replace_fields(message.value, names, kernel=kernel)
        return
    for field, value in message.ListFields():
        # `FieldDescriptor.is_repeated` came with protobuf 6.31, and `label` went with 7.
        repeated = isinstance(value, MutableSequence)
        if field.name in _LEFT_OUT or (
            message.DESCRIPTOR.name == "TensorProto" and field.name.endswith("_val")
        ):
            message.ClearField(field.name)
        elif field.type == field.TYPE_MESSAGE:
            for one in value if repeated else [value]:
                _replace_fields(one, names, kernel=kernel)
        elif field.type == field.TYPE_BYTES:
            # JAX's op names in the metadata of instructions are not names of instructions.
            is_kernel = kernel and field.name != "op_name"
            if repeated:
                value[:] = [_replaced_bytes(one, names, kernel=is_kernel) for one in value]
            else:
                setattr(message, field.name, _replaced_bytes(value, names, kernel=is_kernel))


def _replaced_bytes(value: bytes, names: Names, *, kernel: bool) -> bytes:
    return names.replaced(text(value), "op", kernel=kernel).encode()
