"""Messages between a view and the process that reads its file: JSON, followed by binary parts.

In a pipe each is preceded by its length; on the WebSocket it is one message. An empty one means that a
message of the view has been handled.
"""

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<I")


def pack(message: Mapping[str, Any], buffers: Sequence[bytes | memoryview] = ()) -> bytes:
    """Return a message as bytes: the length of its JSON, the JSON, the buffers.

    >>> pack({"method": "update"}, [b"abc"])[4:]
    b'{"method": "update", "buffers": [3]}abc'
    """
    parts = [bytes(buffer) for buffer in buffers]
    head = json.dumps({**message, "buffers": [len(part) for part in parts]}).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *parts])


def write_frame(pipe: BinaryIO, content: bytes) -> None:
    """Write a message to a pipe; OSError if nobody reads it."""
    pipe.write(_LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def read_frames(pipe: BinaryIO) -> Iterator[bytes]:
    """Yield the messages of a pipe until it ends."""
    while len(length := pipe.read(_LENGTH.size)) == _LENGTH.size:
        (size,) = _LENGTH.unpack(length)
        content = pipe.read(size)
        if len(content) < size:
            return
        yield content
