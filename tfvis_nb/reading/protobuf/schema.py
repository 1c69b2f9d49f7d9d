"""The protobuf messages that we read, declared under our own package name.

They are wire-compatible with TensorFlow's ``step_stats.proto`` and
``config.proto`` and only have the fields we use. Because the package
is ours and the descriptor pool is private, they coexist with an imported TensorFlow without a duplicate
registration.

Names and labels are declared ``bytes``: TensorFlow's C++ does not check that they are UTF-8, and one bad name
must not make a whole trace unreadable. A map is a repeated message of key and value on the wire, and declared
as such.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfvis_nb.core.data_types import DATA_TYPES, REFERENCE

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

PACKAGE = "tfvis_nb.stepstats"

Field = tuple[str, int, str]
"""Name, number and type: a scalar or a message, prefixed with ``*`` if repeated, ``|`` in a oneof."""

_TABLES: dict[str, dict[str, dict[str, tuple[int, str]]]] = json.loads(
    (Path(__file__).parent / "messages.json").read_text(encoding="utf-8")
)


def messages(package: str) -> dict[str, tuple[Field, ...]]:
    """Return a table of messages from ``messages.json``: those decoded from a file, or counted.

    An XSpace's stats stay serialised because most are never requested one by one, and a plane has no lines,
    which are decoded separately; ``xspace_whole`` has the complete messages, to find where bytes are damaged.
    """
    return {
        message: tuple((field, number, kind) for field, (number, kind) in fields.items())
        for message, fields in _TABLES[package].items()
    }


MESSAGES = messages("stepstats")
"""The messages of a recorded step. ``partition_graphs`` stay serialised: few readers want them.

``TimesOnly`` is a ``DeviceStepStats`` with the times only, to see whether a lane repeats others;
``RecordsOnly`` has nothing but how many records there are: a message needs a field, and no record has theirs.
"""


def register(
    package: str, messages: Mapping[str, tuple[Field, ...]], enums: Mapping[str, Mapping[str, int]]
) -> dict[str, Descriptor]:
    """Make message descriptors from a table of fields, in their own descriptor pool."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    types = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name=package.replace(".", "/") + ".proto", package=package, syntax="proto3"
    )
    for name, values in enums.items():
        enum = file.enum_type.add(name=name)
        for value_name, number in values.items():
            enum.value.add(name=value_name, number=number)
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind in fields:
            bare = kind.lstrip("*|")
            field = message.field.add(name=field_name, number=number)
            field.label = types.LABEL_REPEATED if kind.startswith("*") else types.LABEL_OPTIONAL
            if kind.startswith("|"):
                if not message.oneof_decl:
                    message.oneof_decl.add(name="value")
                field.oneof_index = 0
            if bare in messages or bare in enums:
                field.type = types.TYPE_MESSAGE if bare in messages else types.TYPE_ENUM
                field.type_name = f".{package}.{bare}"
            else:
                field.type = types.Type.Value(f"TYPE_{bare.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: pool.FindMessageTypeByName(f"{package}.{name}") for name in messages}


@cache
def descriptors() -> dict[str, Descriptor]:
    """Return the descriptor of each message of `MESSAGES`."""
    return register(PACKAGE, MESSAGES, {})


@cache
def message_class(message: str, texts: str = "bytes") -> Any:
    """Return a message class for parsing text, and for inspecting parts of a RunMetadata one by one.

    Its wire format is that of `MESSAGES`, plus the fields of graphs. Enums are names in text. `texts` is the
    type of names and labels: in JSON, ``bytes`` are base64.
    """
    from google.protobuf import message_factory

    enum = {f"DT_{name}": number for number, name in enumerate(DATA_TYPES)}
    enum |= {f"{name}_REF": number + REFERENCE for name, number in enum.items() if number}
    every = {
        name: tuple(
            (field, number, "DataType" if field == "dtype" else kind.replace("bytes", texts))
            for field, number, kind in fields
        )
        for name, fields in (MESSAGES | messages("run_metadata")).items()
    }
    descriptor = register(PACKAGE + ".text", every, {"DataType": enum})[message]
    # Any, because no checker knows the fields of a class created at run time.
    return message_factory.GetMessageClass(descriptor)


@cache
def hlo_class() -> Any:
    """Return the class of an ``HloProto`` with the fields needed to count the work of instructions."""
    from google.protobuf import message_factory

    descriptor = register(PACKAGE + ".hlo", messages("hlo_whole"), {})["HloProto"]
    return message_factory.GetMessageClass(descriptor)


@cache
def trace_class() -> Any:
    """Return the class of the trace viewer's events: the message ``Trace`` of `messages`."""
    from google.protobuf import message_factory

    table, parts = messages("recognised"), ["Trace"]
    for part in parts:
        parts += [kind.lstrip("*") for _, _, kind in table[part] if kind.lstrip("*") in table]
    fields = {
        part: tuple((name, number, kind.replace("text", "bytes")) for name, number, kind in table[part])
        for part in parts
    }
    return message_factory.GetMessageClass(register(PACKAGE + ".trace", fields, {})["Trace"])
