"""Decode serialised messages into Arrow columns with ptars."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.reading.protobuf.schema import messages, register
from tfvis_nb.reading.protobuf.wire import Data, find_damage

_SMALL = 1 << 18
"""Smaller messages are decoded together."""

_FEW = 1 << 12

_LONGEST = 14
"""The most bytes of a tag and a length."""

# The tag of a field, and a length near 2**64: bits 28 to 62 are set. A negative number alone in a packed
# list of a NodeExecStats looks the same, and is frequent.
_ENDLESS_LENGTH = re.compile(
    rb"(?:[\x02\x12\x1a\x22\x2a\x32\x3a\x42\x4a\x52\x5a\x62\x6a\x72\x7a]|(?<![\x2a\x32])\x0a"
    rb"|[\x82\x8a\x92\x9a\xa2\xaa\xb2\xba\xc2\xca\xd2\xda\xe2\xea\xf2\xfa][\x80-\xff]{0,3}[\x01-\x7f])"
    rb"[\x80-\xff]{5}\xff{4}[\x01-\x7f]"
)


class Handler:
    """Decodes the serialised messages of one kind; ValueError if one is damaged."""

    def __init__(self, message: str, package: str) -> None:
        from ptars import HandlerPool

        self._message, self._messages = message, messages(package)
        descriptor = register(f"tfvis_nb.{package}", self._messages, {})[message]
        self._ptars: Any = HandlerPool([descriptor.file]).get_for_message(descriptor)

    def list_to_record_batch(self, contents: list[bytes]) -> pa.RecordBatch:
        """Decode messages."""
        for content in contents:
            self._check(content)
        return self._ptars.list_to_record_batch(contents)

    def array_to_record_batch(self, contents: pa.Array) -> pa.RecordBatch:
        """Decode an array of messages without copying them."""
        _, offsets, data = contents.buffers()
        if data is not None:
            ends = np.frombuffer(offsets, np.int32)[contents.offset :][: len(contents) + 1]
            near = _endless(memoryview(data)[: ends[-1]])
            for number in sorted({*np.searchsorted(ends, near, "right").tolist()} - {0}):
                self._check(memoryview(data)[ends[number - 1] : ends[number]])
        return self._ptars.array_to_record_batch(contents)

    def _check(self, content: Data) -> None:
        """Reject lengths near 2**64: ptars 0.0.25 panics, which Rust prints before it can be caught."""
        if near := _endless(content):
            damage = find_damage(content, self._message, self._messages, near)
            if damage and any(abs(damage.position - at) < _LONGEST for at in near):
                raise ValueError(damage)


def _endless(data: Data) -> list[int]:
    """Return where tags with lengths near 2**64 may be: numbers and names may look the same."""
    if len(data) < _FEW:
        return [offsets.start() for offsets in _ENDLESS_LENGTH.finditer(data)]
    offsets: list[int] = []
    for end in _ends(np.frombuffer(data, np.uint8)).tolist():
        if not offsets or end > offsets[-1] + _LONGEST:
            match = _ENDLESS_LENGTH.search(data, max(end - _LONGEST, 0), end + 1)
            offsets += [match.start()] if match else []
    return offsets


def _ends(data: np.ndarray) -> np.ndarray:
    """Return the last bytes of such lengths. The expression alone would take as long as decoding.

    Negative numbers, as frequent as rows, differ in the type of their tag.
    """
    pairs = 2 * np.flatnonzero(data[: len(data) & ~1].view(np.uint16) == 0xFFFF)
    ends = np.concatenate([pairs + 2, pairs + 3])  # Of four bytes of 0xff, two are a pair.
    ends = ends[(ends >= 10) & (ends < len(data))]
    last, tag = data[ends], data[ends - 10]
    ends = ends[(last >= 0x01) & (last < 0x80) & (tag < 0x80) & ((tag & 7 == 2) | (data[ends - 11] >= 0x80))]
    return np.sort(ends[(data[ends[:, None] - np.arange(1, 5)] == 0xFF).all(1)])


@cache
def handler(message: str, package: str = "stepstats") -> Handler:
    """Return the handler that turns serialised messages of a table into Arrow columns."""
    return Handler(message, package)


def grouped(sizes: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Group the numbers of neighbouring messages by size, to decode each group together.

    Large messages are alone. For small ones, one call each would cost more than copying them.
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
