"""Recognise files that people mistake for traces, so that the error can name the format."""

import codecs
import re
from contextlib import suppress
from itertools import islice

from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.schema import messages
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.encodings import start_of_text
from tfvis_nb.texts import Text

_SQLITE = b"SQLite format 3\0"
_APPLICATION_AT = 68
_SESSION = b"tfvs"
"""The ``application_id`` in the database of a session."""

_MAGIC = (
    (b"PK\x03\x04", "is_zip"),
    (b"\x89PNG", "is_png"),
    (b"\x89HDF", "is_hdf5"),
    (b"\x93NUMPY", "is_numpy"),
    (b"BZh", "is_bzip2"),
    # Versions of protobuf since 2023 write it in C++, followed by blanks that vary.
    (b"goo.gle/debug", "is_debug_string"),
    (b"\x28\xb5\x2f\xfd", "is_zstandard"),
    (b"version https://git-lfs", "is_lfs_pointer"),
    (b"NVIDIA Tegra Profiler Report", "is_nsys_report"),
)


_OF_PACKETS = {(8, wire.VARINT), (10, wire.VARINT)}
"""Number and type of ``timestamp`` and ``trusted_packet_sequence_id``."""
_MESSAGES = (
    ("SavedModel", 2, "is_saved_model"),
    ("GraphDef", 1, "is_graph"),
    ("MetaGraphDef", 1, "is_meta_graph"),
    ("MetaGraphDef", 2, "is_meta_graph"),
    ("ProfileProto", 1, "is_tfprof_profile"),
    ("OpLogProto", 1, "is_op_log"),
    ("Example", 1, "is_example"),
    ("SequenceExample", 2, "is_example"),
    ("TfStatsDatabase", 4, "is_derived_table"),
    ("TfStatsDatabase", 5, "is_derived_table"),
    ("KernelStatsDb", 1, "is_derived_table"),
    ("Profile", 6, "is_pprof"),
    ("HloProto", 1, "is_compiled_program"),
)
"""Message, the number of a field that it has, and its name in errors."""
_DERIVED = b"type.googleapis.com/tensorflow.profiler."
"""The type of a part of other tables that TensorBoard derives from profiles."""


def is_sqlite(data: Data) -> bool:
    """Return whether `data` starts like an SQLite database."""
    return bytes(data[: len(_SQLITE)]) == _SQLITE


def is_session(data: Data) -> bool:
    """Return whether `data` starts like a session of this package, which is a database."""
    return is_sqlite(data) and bytes(data[_APPLICATION_AT : _APPLICATION_AT + len(_SESSION)]) == _SESSION


def describe(data: Data) -> str:
    """Return the kind of `data` if it is clearly not a trace, or an empty text."""
    if is_session(data):
        return Text("is_session")
    head = start_of_text(data)
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return Text(what)
    if _is_perfetto(data):
        return Text("is_perfetto")
    if message := _message(data):
        return Text(message)
    text = head.lstrip(b" \t\r\n")
    if re.match(rb"<(?:!doctype|html|svg|\?xml)", text, re.IGNORECASE):
        return Text("is_web_page")
    # Bytes of 0x80 and above are text if they are UTF-8; the last character of the head may be cut off.
    if text and re.fullmatch(rb"[\t\n\r\x20-\x7e\x80-\xff]*", head):
        with suppress(UnicodeDecodeError):
            start = codecs.getincrementaldecoder("utf-8")().decode(text)
            return Text("is_text", start=start.split(None, 1)[0][:40])
    return ""


def _is_perfetto(data: Data) -> bool:
    """Identify Perfetto's own format by the first packet, which has a time or a writer number."""
    with suppress(wire.DamageError):
        packet = next(iter(wire.fields(data)), None)
        if packet is None or (packet.number, packet.wire_type) != (1, wire.LENGTH):
            return False
        inside = islice(wire.fields(data, packet.start, packet.end), 64)
        numbers = {(field.number, field.wire_type) for field in inside}
        # The first field of a StepStats or an XSpace starts with a message or a name of field 1 or 2.
        return bool(numbers & _OF_PACKETS) and not numbers & {(1, wire.LENGTH), (2, wire.LENGTH)}
    return False


def _message(data: Data) -> str:
    """Return the text about a message of another kind, or an empty text."""
    table = messages("recognised")
    with suppress(wire.DamageError):
        numbers = {field.number for field in islice(wire.fields(data), 64) if field.end > field.start}
        for message, needed, what in _MESSAGES:
            if needed in numbers and wire.fits(data, message, table):
                return what
        if numbers and _DERIVED in bytes(data[: 1 << 16]):
            return "is_derived_table"
    return ""
