"""How the bytes of a trace lie in a session's file: compressed by zstd."""

from __future__ import annotations

from tfvis_nb.reading.errors import TraceFormatError

LARGEST = 1 << 31
"""Bytes of a trace: the most that a protobuf message can have."""


def packed(data: bytes) -> bytes:
    """Compress what TensorFlow gave.

    Examples
    --------
    >>> from tfvis_nb.stored.packing import packed, unpacked
    >>> unpacked(packed(b"steps" * 100), 500)[:10]
    b'stepssteps'
    """
    import pyarrow as pa

    return bytes(pa.Codec("zstd", 1).compress(data, asbytes=True))


def unpacked(data: bytes, size: int) -> bytes:
    """Give back the `size` bytes that were packed.

    Raises
    ------
    TraceFormatError
        If they are damaged.
    """
    import pyarrow as pa

    if not 0 <= size < LARGEST:
        raise TraceFormatError(f"a trace of {size} bytes: the session is damaged")
    try:
        return bytes(pa.Codec("zstd").decompress(data, decompressed_size=size, asbytes=True))
    except (OSError, ValueError) as error:
        raise TraceFormatError(f"a trace cannot be unpacked, the session is damaged: {error}") from None
