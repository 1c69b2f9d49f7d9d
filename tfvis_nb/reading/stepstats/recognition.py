"""Recognise a serialised RunMetadata or StepStats by its rows: other messages share its field numbers."""

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.schema import MESSAGES, messages
from tfvis_nb.reading.protobuf.wire import Data, WireField
from tfvis_nb.reading.sources.unrecognised import describe
from tfvis_nb.texts import Text

_MOST = 20_000
"""Number of fields that are looked at."""

_TYPES = {
    number: wire.LENGTH if kind.startswith("*") or kind in ("bytes", *MESSAGES) else wire.VARINT
    for _, number, kind in MESSAGES["NodeExecStats"]
}
_FIRST = 64
_DEVICE_NAME = re.compile(rb"/(?:job|device|host|[cgt]pu):", re.IGNORECASE)
_ENTRY_FIELDS = (1, 2, 3)
_DEVICE, _NODE = 1, 2
_LAST = 5
"""The last field of a RunMetadata."""
_STARTS = (2, 13)
"""The fields ``all_start_micros`` and ``all_start_nanos``."""


def kind_of(data: Data) -> str:
    """Return ``StepStats`` or ``RunMetadata``: the one as which `data` has rows, else the more likely one."""
    likely = _likely_kind(data)
    return likely if _names_device(data, likely) else _Search(data).kind_with_rows() or likely


def foreign(data: Data) -> str:
    """Return what `data` is, if it is no RunMetadata or StepStats, not even an empty or damaged one."""
    likely = _likely_kind(data)
    if _names_device(data, likely) or _Search(data).kind_with_rows():
        return ""
    if what := describe(data):
        return what
    search = _Search(data)
    try:
        numbers = {field.number for field in search.fields(0, len(data))}
        nodes = any(
            field.number == _NODE
            for entry in search.entries(likely)
            for field in search.fields(entry.start, entry.end)
        )
    except wire.DamageError:
        # The decoder says where, and whether there are too many records, or no known field.
        return ""
    if search.left < 0 or min(numbers, default=0) > _LAST:
        return ""
    graphs_alone = not nodes and wire.fits(data, "RunMetadata", messages("recognised"))
    return "" if graphs_alone else Text("is_other_message")


def _names_device(data: Data, message: str) -> bool:
    """Return whether one of the first entries of a message is named like a device."""
    with suppress(wire.DamageError):
        for entry in islice(_Search(data).entries(message), _FIRST):
            name = next(wire.fields(data, entry.start, entry.end), None)
            if name and name.number == _DEVICE and _DEVICE_NAME.match(data, name.start, name.end):
                return True
    return False


class _Search:
    """Looks for rows, and stops after `_MOST` fields; `left` is then below 0."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self.left = _MOST

    def fields(self, start: int, end: int) -> Iterator[WireField]:
        """Yield the fields of a message."""
        for field in wire.fields(self._data, start, end):
            self.left -= 1
            if self.left < 0:
                return
            yield field

    def entries(self, message: str) -> Iterator[WireField]:
        """Yield the fields of a message that hold a ``DeviceStepStats``."""
        steps = self._messages(0, len(self._data))
        if message == "StepStats":
            yield from steps
            return
        for step in steps:
            yield from self._messages(step.start, step.end)

    def _messages(self, start: int, end: int) -> Iterator[WireField]:
        for field in self.fields(start, end):
            if field.number == 1 and field.wire_type == wire.LENGTH:
                yield field

    def kind_with_rows(self) -> str:
        """Return the message as which the data has a row of known layout with a start, or an empty text."""
        for message in ("StepStats", "RunMetadata"):
            with suppress(wire.DamageError):
                for entry in self.entries(message):
                    with suppress(wire.DamageError):
                        if self._has_row(entry):
                            return message
        return ""

    def _has_row(self, entry: WireField) -> bool:
        for field in self.fields(entry.start, entry.end):
            if field.number in _ENTRY_FIELDS and field.wire_type != wire.LENGTH:
                return False
            if field.number == _NODE:
                with suppress(wire.DamageError):
                    if _is_timed(self._data, list(self.fields(field.start, field.end))):
                        return True
        return False


def _is_timed(data: Data, row: list[WireField]) -> bool:
    if any(field.wire_type != _TYPES.get(field.number, field.wire_type) for field in row):
        return False
    return any(field.number in _STARTS and any(data[field.start : field.end]) for field in row)


def _likely_kind(data: Data) -> str:
    """Distinguish a bare StepStats from a RunMetadata by the first fields.

    Both start with field 1. In a StepStats it is a DeviceStepStats, whose own
    field 1 is a device name; in a RunMetadata it is a StepStats, whose own
    field 1 is again a message.
    """
    try:
        for outer in islice(wire.fields(data), _MOST):  # all empty: no information
            if outer.number != 1:
                return "RunMetadata"
            for inner in wire.fields(data, outer.start, outer.end):
                if inner.number != 1:
                    return "StepStats"
                return (
                    "RunMetadata" if _is_device_entry(bytes(data[inner.start : inner.end])) else "StepStats"
                )
    except wire.DamageError:
        pass
    return "RunMetadata"


def _is_device_entry(data: bytes) -> bool:
    try:
        first = next(wire.fields(data), None)
    except wire.DamageError as damage:
        # A truncated file ends inside the entry; the first byte of a device name starts no valid field.
        return damage.position == 0 and data[:1] in (b"\x0a", b"\x12", b"\x1a")
    return first is None or (first.number <= 3 and first.wire_type == wire.LENGTH)
