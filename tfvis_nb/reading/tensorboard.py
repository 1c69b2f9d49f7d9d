"""Read RunMetadata that summary writers put into TensorBoard event files, with a step for each tag."""

import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import google_crc32c

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.multi_run import RunBytes, read_runs
from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.wire import Data, text
from tfvis_nb.reading.sources.unpacking import Allowance
from tfvis_nb.reading.stepstats.recognition import foreign, kind_of
from tfvis_nb.texts import Text

_KERAS = re.compile(rb"epoch_(?:loss|accuracy|\w+)|batch_loss|evaluation_\w+_vs_iterations|keras\x12?")
"""Tags of the summaries that a Keras callback writes."""
_HEAD = 12
_FOOT = 4
_RUN = 8
_SUMMARY = 5
_TAG, _TENSOR, _METADATA = 1, 8, 9
_STRINGS = 8
_PLUGIN = b"graph_run_metadata"
"""The plugin for which the summary writers of TensorFlow 2 write run metadata."""
_PIECE = 1 << 20
_CONTENTS = {
    3: "file version",
    4: "graph",
    5: "summary",
    6: "log message",
    7: "session log",
    _RUN: "run metadata",
    9: "meta graph",
}


class Record(NamedTuple):
    """A record of a TFRecord file: the position of its content."""

    start: int
    end: int


def masked(data: Data) -> int:
    r"""Return the masked CRC-32C of `data`, the checksum in a TFRecord file."""
    value = 0
    for at in range(0, len(data), _PIECE):
        # It only accepts bytes, so a whole record would be copied.
        value = google_crc32c.extend(value, bytes(data[at : at + _PIECE]))
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def is_event_file(data: Data) -> bool:
    """Return whether `data` starts like a TFRecord file of TensorBoard events."""
    head = bytes(data[:_HEAD])
    if len(head) < _HEAD or struct.unpack("<I", head[8:])[0] != masked(head[:8]):
        return b"brain.Event:" in bytes(data[:64])
    return True


def records(data: Data, label: str, notes: list[str]) -> Iterator[Record]:
    """Yield the records of a TFRecord file.

    A truncated last record, as in a file that is still being written, is left out with a note.
    """
    at = 0
    while at < len(data):
        if len(data) - at >= _HEAD:
            length, check = struct.unpack("<QI", data[at : at + _HEAD])
            if masked(bytes(data[at : at + 8])) != check:
                raise TraceFormatError(Text("record_length_checksum_wrong", label=label, byte=at))
            start, end = at + _HEAD, at + _HEAD + length
            if end + _FOOT <= len(data):
                if masked(data[start:end]) != struct.unpack("<I", data[end : end + _FOOT])[0]:
                    raise TraceFormatError(Text("record_checksum_wrong", label=label, byte=at))
                yield Record(start, end)
                at = end + _FOOT
                continue
        notes.append(Text("event_file_cut_off", bytes=len(data) - at))
        return


def read(data: Data, label: str, *, allowance: Allowance) -> Trace:
    """Read the run metadata in an event file: each tag is a step, named for the tag."""
    notes: list[str] = []
    parts: list[RunBytes] = []
    other: Counter[str] = Counter()
    every = list(records(data, label, notes))
    if every and not _is_event(data, every[0]):
        return _read_messages(data, every, label, notes, allowance)
    by_keras = False
    for record in every:
        try:
            runs = _event(data, record, other)
        except wire.DamageError as damage:
            raise TraceFormatError(Text("event_damaged", label=label, reason=damage)) from None
        by_keras = by_keras or _KERAS.search(data, record.start, record.end) is not None
        for tag, content in runs:
            parts.append(RunBytes(f"{label}, tag {tag[:80]!r}", content, step=tag))
    held = ", ".join(f"{count} of {what}" for what, count in other.items()) or "none"
    advice = Text("keras_profile_missing" if by_keras else "add_run_metadata")
    nothing = Text("event_file_without_runs", label=label, events=held, advice=advice)
    if not parts:
        # Beside traces, it is none of their steps.
        raise EmptyTraceError(nothing, foreign=True)
    allowance.take_parts(len(parts), label)
    return read_runs(parts, notes, nothing, allowance.room)


def _is_event(data: Data, record: Record) -> bool:
    """Return whether a record starts like an event: field 1 is a time, in a RunMetadata it is a message."""
    with suppress(wire.DamageError):
        first = next(wire.fields(data, record.start, record.end), None)
        return first is None or (first.number, first.wire_type) != (1, wire.LENGTH)
    return True


def _read_messages(
    data: Data, every: Sequence[Record], label: str, notes: list[str], allowance: Allowance
) -> Trace:
    """Read a TFRecord file of RunMetadata or StepStats; each is a step."""
    parts = []
    for number, record in enumerate(every):
        content = bytes(data[record.start : record.end])
        if not foreign(content):
            parts.append(RunBytes(f"{label}, record {number}", content, kind_of(content)))
    allowance.take_parts(len(parts), label)
    return read_runs(
        parts, notes, Text("records_without_runs", label=label, records=len(every)), allowance.room
    )


def _event(data: Data, record: Record, other: Counter[str]) -> list[tuple[str, bytes]]:
    """Return tag and content of an event's run metadata; count other events by content."""
    contents = []
    for outer in wire.fields(data, record.start, record.end):
        if outer.number == _SUMMARY and outer.wire_type == wire.LENGTH:
            contents += _summaries(data, outer)
            if contents:
                continue
        if outer.number == _RUN and outer.wire_type == wire.LENGTH:
            tag, content = "", b""
            for inner in wire.fields(data, outer.start, outer.end):
                if inner.wire_type == wire.LENGTH and inner.number == 1:
                    tag = text(bytes(data[inner.start : inner.end]))
                elif inner.wire_type == wire.LENGTH and inner.number == 2:
                    content = bytes(data[inner.start : inner.end])
            contents.append((tag, content))
        elif outer.number in _CONTENTS:
            other[_CONTENTS[outer.number]] += 1
    return contents


def _summaries(data: Data, summary: wire.WireField) -> list[tuple[str, bytes]]:
    """Return tag and content of run metadata among the values of a summary of TensorFlow 2."""
    contents = []
    for value in _messages(data, summary, 1):
        parts = {field.number: field for field in wire.fields(data, value.start, value.end)}
        names = [
            bytes(data[name.start : name.end])
            for metadata in _messages(data, value, _METADATA)
            for plugin in _messages(data, metadata, 1)
            for name in _messages(data, plugin, 1)
        ]
        if _PLUGIN not in names or _TENSOR not in parts:
            continue
        tag = text(bytes(data[parts[_TAG].start : parts[_TAG].end])) if _TAG in parts else ""
        strings = _messages(data, parts[_TENSOR], _STRINGS)
        contents += [(tag, bytes(data[one.start : one.end])) for one in strings]
    return contents


def _messages(data: Data, outer: wire.WireField, number: int) -> list[wire.WireField]:
    """Return the fields of a message that have a number and a length."""
    return [
        field
        for field in wire.fields(data, outer.start, outer.end)
        if field.number == number and field.wire_type == wire.LENGTH
    ]
