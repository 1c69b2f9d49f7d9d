"""The protobuf messages of an XSpace, declared under our own package name.

They are wire-compatible with ``xplane.proto`` of TSL. Stats, of which a trace has
many times as many as events, stay serialised: most are never asked for one by one.
"""

from functools import cache
from typing import Any

from tfvis_nb.reading.protobuf.schema import Field, register

PACKAGE = "tfvis_nb.xspace"

MESSAGES: dict[str, tuple[Field, ...]] = {
    "Stat": (
        ("metadata_id", 1, "int64"),
        ("double_value", 2, "double"),
        ("uint64_value", 3, "uint64"),
        ("int64_value", 4, "int64"),
        ("str_value", 5, "bytes"),
        ("ref_value", 7, "uint64"),
    ),
    "Event": (
        ("metadata_id", 1, "int64"),
        ("offset_ps", 2, "int64"),
        ("duration_ps", 3, "int64"),
        ("stats", 4, "*bytes"),
        ("num_occurrences", 5, "int64"),
    ),
    "Line": (
        ("id", 1, "int64"),
        ("name", 2, "bytes"),
        ("timestamp_ns", 3, "int64"),
        ("events", 4, "*Event"),
        ("display_name", 11, "bytes"),
    ),
    "EventMetadata": (("name", 2, "bytes"), ("display_name", 4, "bytes"), ("stats", 5, "*bytes")),
    "StatMetadata": (("name", 2, "bytes"),),
    # A map is on the wire a repeated message of key and value.
    "EventMetadataEntry": (("key", 1, "int64"), ("value", 2, "EventMetadata")),
    "StatMetadataEntry": (("key", 1, "int64"), ("value", 2, "StatMetadata")),
    # A plane without its lines: those are decoded apart, each where it lies.
    "Plane": (
        ("name", 2, "bytes"),
        ("event_metadata", 4, "*EventMetadataEntry"),
        ("stat_metadata", 5, "*StatMetadataEntry"),
        ("stats", 6, "*bytes"),
    ),
}
"""The messages that are decoded."""

WHOLE: dict[str, tuple[Field, ...]] = {
    **MESSAGES,
    "Event": (*MESSAGES["Event"][:3], ("stats", 4, "*Stat")),
    "EventMetadata": (*MESSAGES["EventMetadata"][:2], ("stats", 5, "*Stat")),
    "Plane": (*MESSAGES["Plane"][:3], ("lines", 3, "*Line"), ("stats", 6, "*Stat")),
    "XSpace": (("planes", 1, "*Plane"), ("hostnames", 4, "*bytes")),
}
"""The same with everything in its place, to find where bytes are damaged."""


@cache
def handler(message: str) -> Any:
    """Return the ptars handler that turns serialised messages into Arrow columns."""
    from ptars import HandlerPool

    descriptor = register(PACKAGE, MESSAGES, {})[message]
    return HandlerPool([descriptor.file]).get_for_message(descriptor)
