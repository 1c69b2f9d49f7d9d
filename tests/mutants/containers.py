"""What traces are packed in - gzip, xz, tar, records of event files - right and damaged."""

import gzip
import lzma
import random
import struct

from tests.mutants import extremes, raw_bytes
from tests.protobuf_bytes import field
from tfvis_nb.reading.tensorboard import masked

_BLOCK = 512


def tar_member(name: str, data: bytes, chance: random.Random | None = None) -> bytes:
    """Return a member of a tar archive; with `chance`, one field of its header is wrong."""
    head = {
        "name": (100, name.encode("utf-8", "replace")[:100]),
        "mode": (8, b"0000644\0"),
        "owner": (8, b"0000000\0"),
        "group": (8, b"0000000\0"),
        "size": (12, b"%011o\0" % len(data)),
        "time": (12, b"%011o\0" % 0),
        "checksum": (8, b" " * 8),
        "kind": (1, b"0"),
        "link": (100, b""),
        "magic": (8, b"ustar\00000"),
        "users": (64, b""),
        "devices": (16, b""),
        "prefix": (155, b""),
        "rest": (12, b""),
    }
    if chance is not None:
        place = chance.choice(("name", "size", "size", "kind", "kind", "magic", "prefix", "link", "time"))
        wrong = {
            "size": (
                b"777777777777",
                b"\x80" + bytes(3) + b"\x7f" + b"\xff" * 7,
                b"-1",
                b"00000000000\0",
                b"\xff" * 12,
            ),
            "kind": (b"1", b"2", b"5", b"7", b"L", b"x", b"g", b"S", b"K", b"\0", b"\xff"),
        }.get(place) or (
            b"../../etc/passwd",
            b"/abs",
            b"a\nb",
            b"\xff\xfe",
            chance.choice(extremes.TEXTS).encode()[:80],
        )
        head[place] = (head[place][0], chance.choice(wrong))
    block = b"".join(content[:size].ljust(size, b"\0") for size, content in head.values())
    total = sum(block) if chance is None or chance.random() < 0.95 else 0
    block = block[:148] + b"%06o\0 " % total + block[156:]
    return block + data + bytes(-len(data) % _BLOCK)


def record(content: bytes) -> bytes:
    """Return a record of an event file, with its checksums."""
    length = struct.pack("<Q", len(content))
    return length + struct.pack("<I", masked(length)) + content + struct.pack("<I", masked(content))


def event_file(runs: list[bytes], tags: list[bytes]) -> bytes:
    """Return what TensorBoard's writer makes of traced runs."""
    events = [field(3, b"brain.Event:2")]
    events += [field(8, field(1, tag) + field(2, run)) for tag, run in zip(tags, runs, strict=True)]
    return b"".join(record(b"\x09" + bytes(8) + event) for event in events)


def packed(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Pack a trace, alone or with `other`, and damage the package or not."""
    action = chance.randrange(7)
    if action == 0:
        made = gzip.compress(data, 1, mtime=0)
    elif action == 1:
        made = lzma.compress(data, preset=0)
    elif action == 2:
        made = gzip.compress(gzip.compress(data, 1, mtime=0), 1, mtime=0)
    elif action == 3:
        at = chance.randrange(len(data) + 1)
        made = gzip.compress(data[:at], 1, mtime=0) + gzip.compress(data[at:], 1, mtime=0)
    elif action == 4:
        tag = chance.choice(extremes.TEXTS).encode("utf-8", "replace")
        count = chance.choice((1, 2))
        made = event_file([data, other][:count], [tag, b"step 2"][:count])
    else:
        names = chance.choice((("rank0.pb", "rank1.pb"), ("a.pb", "b.json"), ("step1", "step2"), ("x", "x")))
        made = b"".join(
            tar_member(name, content, chance if chance.random() < 0.4 else None)
            for name, content in zip(names, (data, other), strict=True)
        ) + bytes(2 * _BLOCK)
        if chance.random() < 0.3:
            made = lzma.compress(made, preset=0)
    return raw_bytes.damaged(made, other, chance) if chance.random() < 0.4 else made
