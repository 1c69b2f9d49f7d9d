"""Slow parsing of protobuf bytes, to identify them and to find damaged bytes.

Decoding itself is done by ptars. This module identifies a message by its first fields, and after a decoding
failure finds the first byte that contradicts the schema.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import pyarrow as pa

from tfvis_nb.reading.protobuf.schema import MESSAGES, Field
from tfvis_nb.texts import Text

Data = bytes | memoryview
"""The input: a whole file, in memory."""

VARINT, FIXED64, LENGTH, GROUP_START, GROUP_END, FIXED32 = range(6)

_SCALARS = {
    "int64": VARINT,
    "uint64": VARINT,
    "int32": VARINT,
    "uint32": VARINT,
    "bool": VARINT,
    "bytes": LENGTH,
    "double": FIXED64,
    "float": FIXED32,
}

_MOST_FIELDS = 64
"""Number of fields of a message, and of its parts, that `fits` looks at."""

_CONTROL = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")


def text(value: bytes) -> str:
    """Decode a name; bytes that are not UTF-8 become U+FFFD."""
    return value.decode("utf-8", "replace")


def texts(values: pa.Array) -> pa.Array:
    """Decode Arrow bytes to large_string like `text`; nulls become empty."""
    try:
        return values.cast(pa.large_string()).fill_null("")
    except pa.ArrowInvalid:
        return pa.array([text(value or b"") for value in values.to_pylist()], pa.large_string())


class DamageError(Exception):
    """Bytes that are not a protobuf message, with position and reason.

    `cut_off` means that only the end of the data is missing, in field `field`.
    """

    def __init__(
        self, position: int, reason: str, path: str = "", *, cut_off: bool = False, field: int | None = None
    ) -> None:
        where = {"byte": position, "reason": reason}
        super().__init__(Text("in_message_at_byte", path=path, **where) if path else Text("at_byte", **where))
        self.position = position
        self.reason = reason
        self.path = path
        self.cut_off = cut_off
        self.field = field


class WireField(NamedTuple):
    """One field of a message: number, wire type, start, and position of its content."""

    number: int
    wire_type: int
    position: int
    start: int
    end: int


def _varint(data: Data, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    for at in range(position, min(end, position + 10)):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
    if end - position >= 10:
        raise DamageError(position, Text("number_too_long"))
    raise DamageError(position, Text("number_cut_off"), cut_off=end == len(data))


def fields(data: Data, start: int = 0, end: int | None = None) -> Iterator[WireField]:
    r"""Yield the fields of the message in ``data[start:end]``.

    DamageError at the first byte that no message can have there.

    >>> [(field.number, field.end - field.start) for field in fields(b"\x0a\x03abc\x10\x07")]
    [(1, 3), (2, 1)]
    """
    end = len(data) if end is None else end
    at = start
    while at < end:
        position = at
        tag, at = _varint(data, at, end)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise DamageError(position, Text("field_zero"))
        content = at
        if wire_type == VARINT:
            _, at = _varint(data, at, end)
        elif wire_type == FIXED64:
            at += 8
        elif wire_type == FIXED32:
            at += 4
        elif wire_type == LENGTH:
            length, content = _varint(data, at, end)
            at = content + length
        else:
            raise DamageError(position, Text("wire_type_unused", number=number, wire_type=wire_type))
        if at > end:
            raise DamageError(
                position,
                Text("field_too_long", number=number, bytes=at - end),
                cut_off=end == len(data),
                field=number,
            )
        yield WireField(number, wire_type, position, content, at)


def delimited(number: int, content: bytes) -> bytes:
    r"""Return a field that holds bytes or a message.

    >>> delimited(4, b"abc")
    b'"\x03abc'
    """
    return bytes([number << 3 | LENGTH]) + _packed(len(content)) + content


def whole_number(number: int, value: int) -> bytes:
    r"""Return a field that holds a number of at least 0.

    >>> whole_number(1, 300)
    b'\x08\xac\x02'
    """
    return bytes([number << 3 | VARINT]) + _packed(value)


def _packed(value: int) -> bytes:
    packed = bytearray()
    while value >= 0x80:
        packed.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*packed, value])


def find_damage(
    data: Data,
    message: str,
    messages: Mapping[str, tuple[Field, ...]] = MESSAGES,
    near: Sequence[int] | None = None,
) -> DamageError | None:
    """Return the first position where `data` is not a `message` of `messages`.

    With positions `near`, in ascending order, messages without any of them are not searched.
    """
    try:
        _walk(data, 0, len(data), message, "", messages, near)
    except DamageError as damage:
        # Its frames hold the data, and would form a reference cycle with the caller's.
        damage.__traceback__ = damage.__context__ = None
        return damage
    return None


def fits(
    data: Data,
    message: str,
    messages: Mapping[str, tuple[Field, ...]],
    start: int = 0,
    end: int | None = None,
) -> bool:
    """Return whether the first fields of data are those of a message: numbers, wire types and texts.

    A table has all fields of a message, or a field ``...`` that stands for others. Texts and parts are not
    empty.
    """
    known = {number: kind for _, number, kind in messages[message]}
    seen = 0
    try:
        for field in islice(fields(data, start, end), _MOST_FIELDS):
            kind = known.get(field.number)
            if kind is None and 0 not in known:
                return False
            if kind is not None and not _fits(data, field, kind, messages):
                return False
            seen += 1
    except DamageError as damage:
        # The end of a file may be missing.
        return damage.cut_off and seen > 0
    return True


def _fits(data: Data, field: WireField, kind: str, messages: Mapping[str, tuple[Field, ...]]) -> bool:
    bare = kind.lstrip("*|")
    if bare in messages:
        filled = field.wire_type == LENGTH and field.end > field.start
        return filled and fits(data, bare, messages, field.start, field.end)
    if bare == "text":
        try:
            shown = bytes(data[field.start : field.end]).decode()
        except UnicodeDecodeError:
            return False
        return field.wire_type == LENGTH and bool(shown) and not _CONTROL.search(shown)
    packed = kind.startswith("*") and field.wire_type == LENGTH
    return packed or field.wire_type == _SCALARS.get(bare, VARINT)


def _walk(
    data: Data,
    start: int,
    end: int,
    message: str,
    path: str,
    messages: Mapping[str, tuple[Field, ...]],
    near: Sequence[int] | None,
) -> None:
    known = {number: (name, kind) for name, number, kind in messages[message]}
    counts: dict[str, int] = {}
    try:
        for field in fields(data, start, end):
            if field.number in known:
                name, kind = known[field.number]
                inner = f"{path}.{name}" if path else name
                if kind.startswith("*"):
                    inner += f"[{counts.get(name, 0)}]"
                    counts[name] = counts.get(name, 0) + 1
                _check(data, field, kind, inner, messages, near)
    except DamageError as damage:
        raise DamageError(
            damage.position,
            damage.reason,
            damage.path or path or message,
            # In a truncated file, the outermost message is the first to exceed the end.
            cut_off=damage.cut_off and not path and (damage.field is None or damage.field in known),
        ) from None


def _check(
    data: Data,
    field: WireField,
    kind: str,
    path: str,
    messages: Mapping[str, tuple[Field, ...]],
    near: Sequence[int] | None,
) -> None:
    bare = kind.lstrip("*|")
    wanted = _SCALARS.get(bare, LENGTH)
    packed = kind.startswith("*") and field.wire_type == LENGTH  # numbers one after another
    if field.wire_type != wanted and not packed:
        raise DamageError(
            field.position, Text("wire_type_wrong", wire_type=field.wire_type, wanted=wanted), path
        )
    if bare in messages and (near is None or bisect_left(near, field.start) < bisect_left(near, field.end)):
        _walk(data, field.start, field.end, bare, path, messages, near)
