"""Damage to files as disks, networks and editors do it; what reading must make of it."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import tfvis_nb as tv
from tfvis_nb import events as event_table
from tfvis_nb.reading.unpacking import unpack

INTERESTING = (0, 1, 0x0A, 0x22, 0x2E, 0x7B, 0x7D, 0x7F, 0x80, 0xFF)


def content(path: Path) -> bytes:
    """The bytes of a sample, unpacked: damage to the packed bytes is found by their checksums."""
    return bytes(unpack(path.read_bytes(), path.name))


def mutant(data: bytes, other: bytes, seed: int) -> bytes:
    """Damage `data` in one to four places: change, cut, insert, swap, repeat, or splice with `other`.

    The same arguments give the same bytes.
    """
    chance = random.Random(seed)
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(len(made) + 1)
        size = min(chance.choice((1, 1, 2, 4, 8, 64, 1024)), len(made))
        action = chance.randrange(10)
        if action == 0 and at < len(made):
            made[at] ^= 1 << chance.randrange(8)
        elif action == 1 and at < len(made):
            made[at] = chance.choice(INTERESTING)
        elif action == 2:
            del made[at : at + size]
        elif action == 3:
            made[at:at] = bytes(chance.choice(INTERESTING) for _ in range(size))
        elif action == 4:
            to = chance.randrange(len(made) + 1)
            made[at : at + size], made[to : to + size] = made[to : to + size], made[at : at + size]
        elif action == 5:
            made[at:at] = made[at : at + size] * chance.randint(1, 4)
        elif action == 6:
            start = chance.randrange(len(other) + 1)
            made[at : at + size] = other[start : start + size]
        elif action == 7:
            start = chance.randrange(len(made) + 1)
            part = made[start : start + chance.randint(1, 8)]
            made[at : at + len(part)] = part
        elif chance.random() < 0.2:
            del made[at:]
    return bytes(made)


def outcome(data: bytes) -> str:
    """Read damaged bytes: the name of the error, or "a table" that is sound.

    Anything else that is raised, or a table that is not sound, is a fault of the reader.
    """
    try:
        trace = tv.read_trace(data)
    except tv.TraceFormatError as error:
        if not str(error):
            raise AssertionError("an error without words") from error
        return type(error).__name__
    event_table.check(trace.events)
    if trace.nested is not None and trace.nested.num_rows != len(trace.events):
        raise AssertionError(f"{trace.nested.num_rows} nested rows for {len(trace.events)} events")
    if int(trace.lanes["events"].sum()) != len(trace.events):
        raise AssertionError("events without a lane")
    trace.transfers, trace.edges, trace.steps  # noqa: B018 - each is made when it is asked for
    return "a table"


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in what takes longer."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
