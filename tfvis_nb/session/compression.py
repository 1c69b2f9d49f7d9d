"""Compression of traces in session files, as LZ4 and zstd frames, which identify themselves."""

import pyarrow as pa

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.sources.unpacking import Budget
from tfvis_nb.texts import Text

LARGEST = 1 << 31
"""Maximum bytes of a trace, the limit of protobuf messages."""


SMALL = 1 << 18
"""Bytes up to which a trace is compressed for speed rather than size: its run may take a millisecond."""

_LZ4 = b"\x04\x22\x4d\x18"


def compress(data: bytes) -> bytes:
    """Compress a TensorFlow message."""
    codec = pa.Codec("lz4") if len(data) <= SMALL else pa.Codec("zstd", 1)
    return bytes(codec.compress(data, asbytes=True))


def decompress(data: bytes, size: int) -> bytes:
    """Return the `size` decompressed bytes; TraceFormatError if they are damaged."""
    if not 0 <= size < LARGEST:
        raise TraceFormatError(Text("trace_of_wrong_size", size=size))
    # Decompressed into exactly that many bytes, which a damaged or crafted session may only claim.
    Budget().of_file(len(data)).take(size, "a trace of the session")
    try:
        codec = pa.Codec("lz4" if data.startswith(_LZ4) else "zstd")
        return bytes(codec.decompress(data, decompressed_size=size, asbytes=True))
    except (OSError, ValueError) as error:
        raise TraceFormatError(Text("trace_not_unpacked", reason=error)) from None
