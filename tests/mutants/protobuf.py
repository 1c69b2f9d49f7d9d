"""Damage to a protobuf message, field by field, at any depth, with or without lengths that agree."""

import random
import struct
from collections.abc import Callable
from typing import NamedTuple

from tests.mutants import extremes, raw_bytes
from tests.protobuf_bytes import field, varint

_DEEPEST = 10
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class Wire(NamedTuple):
    """One field: its number, wire type, and the positions of the field and its content."""

    number: int
    kind: int
    begin: int
    start: int
    end: int


def walked(data: bytes, most: int = 100_000) -> list[Wire]:
    """Return the fields of a message; none where the bytes are not one."""
    found: list[Wire] = []
    at, end = 0, len(data)
    while at < end and len(found) < most:
        begin = at
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        start = at
        if number == 0 or number > 10_000 or kind not in (_VARINT, _FIXED64, _LENGTH, _FIXED32):
            return []
        if kind == _VARINT:
            _, at = _varint(data, at)
        elif kind == _LENGTH:
            length, start = _varint(data, at)
            at = start + length
        else:
            at += 8 if kind == _FIXED64 else 4
        if at > end:
            return []
        found.append(Wire(number, kind, begin, start, at))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for place in range(at, min(at + 10, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    return 0, len(data) + 1


def damaged(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Damage one field of a message or of one inside it; `other` is another message to take parts from."""
    return _descended(data, other, chance, 0)


def _descended(data: bytes, other: bytes, chance: random.Random, depth: int) -> bytes:
    fields = walked(data)
    if not fields:
        return raw_bytes.damaged(data, other, chance)
    # Kinds of fields are alike likely, however many there are of each.
    chosen = chance.choice(sorted({one.number for one in fields}))
    one = chance.choice([one for one in fields if one.number == chosen])
    content = data[one.start : one.end]
    inside = one.kind == _LENGTH and len(content) > 1 and depth < _DEEPEST
    if inside and chance.random() < (0.95 if depth < 2 else 0.8) and walked(content, 50):
        made = _descended(content, other, chance, depth + 1)
        length = len(made)
        if chance.random() < 0.01:  # the one length that is wrong is then of this message
            length = max(0, length + chance.choice((-1, 1, 100, 2**31)))
        return data[: one.begin] + varint(one.number << 3 | _LENGTH) + varint(length) + made + data[one.end :]
    action = chance.choice(_OF_CONTENT if chance.random() < 0.6 else _OF_PLACE)
    return action(data, other, chance, one)


Action = Callable[[bytes, bytes, random.Random, Wire], bytes]


def _content(data: bytes, other: bytes, chance: random.Random, one: Wire) -> bytes:
    """Another number, text or message in the same field."""
    before, after = data[: one.begin], data[one.end :]
    if one.kind == _VARINT:
        value, _ = _varint(data, one.start)
        made = varint(one.number << 3) + varint(extremes.number(value, chance) % 2**64)
    elif one.kind == _LENGTH:
        content = data[one.start : one.end]
        text = extremes.text(content.decode("utf-8", "replace"), chance).encode("utf-8", "surrogatepass")
        made = field(
            one.number, chance.choice((text, text, b"\xff\xfe", raw_bytes.damaged(content, other, chance)))
        )
    elif one.kind == _FIXED64:
        double = chance.choice((float("nan"), float("inf"), float("-inf"), 1e308, -0.0, 5e-324, -1.0))
        made = data[one.begin : one.start] + struct.pack("<d", double)
    else:
        made = data[one.begin : one.start] + chance.randbytes(4)
    return before + made + after


def _drop(data: bytes, _other: bytes, chance: random.Random, one: Wire) -> bytes:
    if chance.random() < 0.3:
        return b"".join(data[each.begin : each.end] for each in walked(data) if each.number != one.number)
    return data[: one.begin] + data[one.end :]


def _repeat(data: bytes, _other: bytes, chance: random.Random, one: Wire) -> bytes:
    part = data[one.begin : one.end]
    count = chance.choice((1, 1, 2, 3, 30))
    return data[: one.end] + part * (count if len(part) < 10_000 else 1) + data[one.end :]


def _order(data: bytes, _other: bytes, chance: random.Random, _one: Wire) -> bytes:
    parts = [data[each.begin : each.end] for each in walked(data)]
    if chance.random() < 0.5:
        chance.shuffle(parts)
    else:
        parts.reverse()
    return b"".join(parts)


def _renumber(data: bytes, _other: bytes, chance: random.Random, one: Wire) -> bytes:
    number = chance.choice((*(each.number for each in walked(data)), chance.randrange(1, 20), 536_870_911))
    content = data[one.start : one.end]
    tag = varint(number << 3 | one.kind) + (varint(len(content)) if one.kind == _LENGTH else b"")
    return data[: one.begin] + tag + content + data[one.end :]


def _retype(data: bytes, _other: bytes, chance: random.Random, one: Wire) -> bytes:
    """The same field as another wire type, its content right for that type or not."""
    kind = chance.randrange(8)
    content = data[one.start : one.end]
    if chance.random() < 0.7:
        content = {
            _VARINT: b"\x01",
            _FIXED64: bytes(8),
            _LENGTH: varint(len(content)) + content,
            _FIXED32: bytes(4),
        }.get(kind, content)
    return data[: one.begin] + varint(one.number << 3 | kind) + content + data[one.end :]


def _splice(data: bytes, other: bytes, chance: random.Random, one: Wire) -> bytes:
    """A field of another message, or of another place in this one."""
    found = other if chance.random() < 0.6 else data
    for _ in range(chance.randrange(_DEEPEST)):
        inner = walked(found, 2000)
        if not inner:
            break
        part = chance.choice(inner)
        if part.kind != _LENGTH:
            break
        found = found[part.start : part.end]
    found = found[:20_000]
    if chance.random() < 0.5:
        found = field(one.number, found)
    return data[: one.begin] + found + data[one.end if chance.random() < 0.5 else one.begin :]


def _nest(data: bytes, _other: bytes, chance: random.Random, one: Wire) -> bytes:
    """The field within itself, many times."""
    made = data[one.begin : one.end][:2000]
    for _ in range(chance.choice((1, 3, 120))):
        made = field(one.number, made)
    return data[: one.begin] + made + data[one.end :]


_OF_CONTENT: tuple[Action, ...] = (_content,)
_OF_PLACE: tuple[Action, ...] = (_drop, _repeat, _order, _renumber, _retype, _splice, _nest)


def reduced(data: bytes, most: int) -> bytes:
    """Return a message with at most `most` fields of a number in every message of it, spread evenly."""
    fields = walked(data)
    if not fields or len(data) < 200:
        return data
    by_number: dict[int, list[Wire]] = {}
    for one in fields:
        by_number.setdefault(one.number, []).append(one)
    kept = []
    for same in by_number.values():
        step = max(1, -(-len(same) // most))
        kept += same[::step]
    kept.sort(key=lambda one: one.begin)
    made = []
    for one in kept:
        content = data[one.start : one.end]
        if one.kind == _LENGTH and len(content) > 200 and walked(content, 50):
            made.append(field(one.number, reduced(content, most)))
        else:
            made.append(data[one.begin : one.end])
    return b"".join(made)
