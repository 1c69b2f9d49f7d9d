"""The protobuf messages that are read, declared under our own package name.

They are wire-compatible with TensorFlow's ``step_stats.proto`` and
``config.proto`` and hold only the fields that are used. Because the package
is ours and the descriptor pool is private, they live beside an imported
TensorFlow without a duplicate registration.

Names and labels are declared ``bytes``: TensorFlow's C++ does not check that
they are UTF-8, and one bad name must not make a whole trace unreadable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from tfvis_nb.core.data_types import DATA_TYPES, REFERENCE

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

PACKAGE = "tfvis_nb.stepstats"

_SMALL = 1 << 18
"""Messages of fewer bytes are decoded together."""

Field = tuple[str, int, str]
"""Name, number and type; the type is a scalar or a message name, ``*`` in front when repeated."""

MESSAGES: dict[str, tuple[Field, ...]] = {
    "AllocationRecord": (("alloc_micros", 1, "int64"), ("alloc_bytes", 2, "int64")),
    "AllocatorMemoryUsed": (
        ("allocator_name", 1, "bytes"),
        ("total_bytes", 2, "int64"),
        ("peak_bytes", 3, "int64"),
        ("live_bytes", 4, "int64"),
        ("allocator_bytes_in_use", 5, "int64"),
        ("allocation_records", 6, "*AllocationRecord"),
    ),
    "AllocationDescription": (
        ("requested_bytes", 1, "int64"),
        ("allocated_bytes", 2, "int64"),
        ("allocator_name", 3, "bytes"),
        ("ptr", 6, "uint64"),
    ),
    "Dim": (("size", 1, "int64"),),
    "TensorShape": (("dim", 2, "*Dim"), ("unknown_rank", 3, "bool")),
    "TensorDescription": (
        ("dtype", 1, "int32"),
        ("shape", 2, "TensorShape"),
        ("allocation_description", 4, "AllocationDescription"),
    ),
    "NodeOutput": (("slot", 1, "int32"), ("tensor_description", 3, "TensorDescription")),
    "MemoryStats": (("temp_memory_size", 1, "int64"), ("persistent_memory_size", 3, "int64")),
    "NodeExecStats": (
        ("node_name", 1, "bytes"),
        ("all_start_micros", 2, "int64"),
        ("op_start_rel_micros", 3, "int64"),
        ("op_end_rel_micros", 4, "int64"),
        ("all_end_rel_micros", 5, "int64"),
        ("memory", 6, "*AllocatorMemoryUsed"),
        ("output", 7, "*NodeOutput"),
        ("timeline_label", 8, "bytes"),
        ("scheduled_micros", 9, "int64"),
        ("thread_id", 10, "uint32"),
        ("memory_stats", 12, "MemoryStats"),
        ("all_start_nanos", 13, "int64"),
        ("op_start_rel_nanos", 14, "int64"),
        ("op_end_rel_nanos", 15, "int64"),
        ("all_end_rel_nanos", 16, "int64"),
        ("scheduled_nanos", 17, "int64"),
    ),
    # A map<uint32, string> is on the wire a repeated message of key and value.
    "ThreadName": (("key", 1, "uint32"), ("value", 2, "bytes")),
    "DeviceStepStats": (
        ("device", 1, "bytes"),
        ("node_stats", 2, "*NodeExecStats"),
        ("thread_names", 3, "*ThreadName"),
    ),
    # The same message with the times only, to see whether a lane repeats others.
    "NodeTimes": (
        ("all_start_micros", 2, "int64"),
        ("all_end_rel_micros", 5, "int64"),
        ("scheduled_micros", 9, "int64"),
    ),
    "TimesOnly": (("node_stats", 2, "*NodeTimes"),),
    # And with nothing but how many records there are; a message needs a field, and no record has this one.
    "Record": (("none", 500, "bool"),),
    "NodeRecords": (("memory", 6, "*Record"), ("output", 7, "*Record")),
    "RecordsOnly": (("node_stats", 2, "*NodeRecords"), ("thread_names", 3, "*Record")),
    "StepStats": (("dev_stats", 1, "*DeviceStepStats"),),
    "RunMetadata": (("step_stats", 1, "StepStats"), ("partition_graphs", 3, "*bytes")),
}
"""The messages of a recorded step. ``partition_graphs`` stay serialised: few readers want them."""


def register(
    package: str, messages: Mapping[str, tuple[Field, ...]], enums: Mapping[str, Mapping[str, int]]
) -> dict[str, Descriptor]:
    """Make message descriptors of a table of fields, in a descriptor pool of their own."""
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
            bare = kind.lstrip("*")
            field = message.field.add(name=field_name, number=number)
            field.label = types.LABEL_OPTIONAL if bare == kind else types.LABEL_REPEATED
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
def handler(message: str) -> Any:
    """Return the ptars handler that turns serialised messages into Arrow columns."""
    from ptars import HandlerPool

    descriptor = descriptors()[message]
    return HandlerPool([descriptor.file]).get_for_message(descriptor)


def grouped(sizes: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Group the numbers of neighbouring messages, given with their sizes, to decode each group together.

    A large message stands alone. For small ones a call each would cost more than the copying.
    """
    groups: list[list[int]] = []
    room = 0
    for number, size in sizes:
        if groups and size < room:
            groups[-1].append(number)
            room -= size
        else:
            groups.append([number])
            room = _SMALL - size
    return groups


@cache
def text_class(message: str) -> Any:
    """Return a message class to parse text into; its wire format is that of `MESSAGES`.

    In text an enum is a name, and a graph is fields rather than bytes: graphs are left out.
    """
    from google.protobuf import message_factory

    enum = {f"DT_{name}": number for number, name in enumerate(DATA_TYPES)}
    enum |= {f"{name}_REF": number + REFERENCE for name, number in enum.items() if number}
    messages = {
        name: tuple(
            (field, number, "DataType" if field == "dtype" else kind)
            for field, number, kind in fields
            if field != "partition_graphs"
        )
        for name, fields in MESSAGES.items()
    }
    descriptor = register(PACKAGE + ".text", messages, {"DataType": enum})[message]
    # Any: a class made at run time has fields that no checker can know.
    return message_factory.GetMessageClass(descriptor)
