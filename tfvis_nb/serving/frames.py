"""Messages between views and the process that has their widget: JSON, followed by binary parts.

In a pipe each is preceded by its length and the number of its view, 0 for all; on the WebSocket it is one
message. An empty one means that a message of the view has been handled.
"""

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

EVERY_VIEW = 0

_LENGTH = struct.Struct("<I")
_HEAD = struct.Struct("<II")


def pack(message: Mapping[str, Any], buffers: Sequence[bytes | memoryview] = ()) -> bytes:
    """Return a message as bytes: the length of its JSON, the JSON, the buffers.

    >>> pack({"method": "update"}, [b"abc"])[4:]
    b'{"method": "update", "buffers": [3]}abc'
    """
    parts = [bytes(buffer) for buffer in buffers]
    head = json.dumps({**message, "buffers": [len(part) for part in parts]}).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *parts])


def write_frame(pipe: BinaryIO, view: int, content: bytes) -> None:
    """Write a message of or for a view to a pipe; OSError if nobody reads it."""
    pipe.write(_HEAD.pack(len(content), view))
    pipe.write(content)
    pipe.flush()


def read_frames(pipe: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the messages of a pipe, each after the number of its view, until it ends."""
    while len(head := pipe.read(_HEAD.size)) == _HEAD.size:
        size, view = _HEAD.unpack(head)
        content = pipe.read(size)
        if len(content) < size:
            return
        yield view, content
