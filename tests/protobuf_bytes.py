"""Writes protobuf fields, for tests that need bytes no program wrote."""


def varint(value: int) -> bytes:
    """Write a number as protobuf does."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(place: int, content: bytes) -> bytes:
    """Write a field that has a length."""
    return varint(place << 3 | 2) + varint(len(content)) + content


def number(place: int, value: int) -> bytes:
    """Write a field that is a number."""
    return varint(place << 3) + varint(value % 2**64)
