"""Damage to a pickle, opcode by opcode; and to the messages that it holds."""

import pickletools
import random
import struct
from typing import NamedTuple

from tests.mutants import extremes, protobuf, raw_bytes

HOSTILE = (
    b"cos\nsystem\n",
    b"cbuiltins\neval\n",
    b"\x8c\x02os\x8c\x06system\x93",
    b"(S'touch owned'\nios\nsystem\n",
    b"\x82\x01",
    b"\x84\xff\xff\xff\x7f",
    b"\x95\xff\xff\xff\xff\xff\xff\xff\xff",
    b"J\xff\xff\xff\x7f",
    b"\x8b\xff\xff\xff\x7f",
    b"\x8a\xff" + b"\xff" * 255,
    b"I" + b"9" * 5000 + b"\n",
    b"L-1L\n",
    b"F1e400\n",
    b"G\x7f\xf8\0\0\0\0\0\0",
    b"T\xff\xff\xff\x7f",
    b"X\xff\xff\xff\xff",
    b"B\xff\xff\xff\x7f",
    b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"X\x03\x00\x00\x00\xed\xa0\x80",
    b"V\\ud800\n",
    b"j\xff\xff\xff\x7f",
    b"r\xff\xff\xff\x7f2",
    b"p-1\n",
    b"(" * 3000,
    b"2" * 2000,
    b"]\x94h\x00a" * 50,
    b"2\x86" * 100,
    b"\x80\xff",
    b"P\xd0\xb0\n",
    b"Q",
    b"\x97",
    b"0" * 5,
    b"1",
    b"R",
    b"b",
    b"u",
    b"e",
    b"s",
    b".",
)
"""Instructions that call, allocate, refer or nest as nothing does that is saved."""


class Step(NamedTuple):
    """An instruction, its argument, and its position."""

    code: str
    argument: object
    begin: int
    end: int


def steps(data: bytes) -> list[Step]:
    """Return the instructions up to where the pickle is none."""
    found: list[tuple[str, object, int]] = []
    try:
        for code, argument, at in pickletools.genops(data):
            found.append((code.name, argument, at or 0))
    except Exception:  # noqa: BLE001 - it may be damaged in any way
        pass
    if not found:
        return []
    ends = [begin for *_, begin in found[1:]] + [len(data)]
    return [Step(*step, end) for step, end in zip(found, ends, strict=True)]


def damaged(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Damage one instruction, or the message in one; `other` is a message to take parts from."""
    found = steps(data)
    if not found:
        return raw_bytes.damaged(data, other, chance)
    large = [step for step in found if isinstance(step.argument, bytes | str) and step.end - step.begin > 100]
    if large and chance.random() < 0.4:
        return _within(data, other, chance, chance.choice(large))
    one = chance.choice(found)
    before, step, after = data[: one.begin], data[one.begin : one.end], data[one.end :]
    action = chance.randrange(8)
    if action == 0:
        step = b""
    elif action == 1:
        step = step[:1000] * chance.choice((2, 2, 30))
    elif action == 2:
        step = chance.choice(HOSTILE)
    elif action == 3:
        step += chance.choice(HOSTILE)
    elif action == 4:
        to = chance.choice(found)
        step = data[to.begin : to.end]
    elif action == 5:
        step = step[:1] + raw_bytes.damaged(step[1:64], other, chance) + step[64:]
    elif action == 6 and isinstance(one.argument, int) and not isinstance(one.argument, bool):
        number = extremes.number(one.argument, chance)
        size = (number.bit_length() + 8) // 8
        long = b"\x8b" + struct.pack("<i", size) + number.to_bytes(size, "little", signed=True)
        step = chance.choice((b"I%d\n" % number, b"L%dL\n" % number, long))
    else:
        step = chance.choice((b"N", b"\x88", b"}", b"]", b")", b"K\x07", b"C\x01a", b"X\x01\0\0\0a"))
    return before + step + after


def _within(data: bytes, other: bytes, chance: random.Random, one: Step) -> bytes:
    """Damage a message or text in the pickle, whose length says so."""
    argument = one.argument
    content = argument if isinstance(argument, bytes) else str(argument).encode("latin-1", "replace")
    made = protobuf.damaged(content, other, chance)
    step = b"B" + struct.pack("<I", len(made)) + made
    if not isinstance(argument, bytes):
        step = b"T" + struct.pack("<i", len(made)) + made
    return data[: one.begin] + step + data[one.end :]
