"""Walks on a host: random ones, recorded ones, and the shortest that fails likewise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tests.browser.monkey.gestures import Gesture
from tests.browser.monkey.walker import BrokenInvariantError, Walker

if TYPE_CHECKING:
    from tests.browser.monkey.hosts import Host

LENGTH = 200
"""Gestures of a walk; the next one begins on a fresh page or notebook."""


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def replay(host: Host, gestures: Sequence[Gesture]) -> BrokenInvariantError | None:
    """Do recorded gestures on a fresh host; return the faults."""
    walker = Walker(host)
    try:
        for gesture in gestures:
            walker.do(gesture)
        walker.end()
    except BrokenInvariantError as broken:
        return broken
    return None


def shrink(
    gestures: Sequence[Gesture], breaks: Callable[[Sequence[Gesture]], bool], seconds: float = 120
) -> list[Gesture]:
    """Return the fewest gestures that still break the invariant: delta debugging, for a limited time."""
    until = time.monotonic() + seconds
    best = list(gestures)

    def still(candidate: Sequence[Gesture]) -> bool:
        return time.monotonic() < until and breaks(candidate)

    # Most faults need the last few gestures only.
    size = 1
    while size < len(best):
        if still(best[-size:]):
            best = best[-size:]
            break
        size *= 2
    parts = 2
    while len(best) > 1:
        length = -(-len(best) // parts)
        for start in range(0, len(best), length):
            candidate = best[:start] + best[start + length :]
            if candidate and still(candidate):
                best, parts = candidate, max(parts - 1, 2)
                break
        else:
            if length == 1:
                break
            parts = min(parts * 2, len(best))
    return best


def walk(host: Host, seed: int, count: int) -> Walker:
    """Do a random walk; on a failure raise it with the seed and the shortest walk that fails likewise."""
    host.fresh()
    walker = Walker(host, seed)
    try:
        walker.walk(count)
        walker.end()
    except BrokenInvariantError as broken:
        done, invariant = walker.done, broken.invariant
        pictures = host.picture(f"seed-{seed}")
        say(f"{broken}\nseed {seed}, gesture {len(done)}: shrinking")

        def breaks(gestures: Sequence[Gesture]) -> bool:
            host.fresh()
            again = replay(host, gestures)
            return again is not None and again.invariant == invariant

        shortest = shrink(done, breaks)
        steps = "\n".join(f"    {gesture!r}," for gesture in shortest)
        detail = f"{broken}\nseed {seed}, gesture {len(done)} at {host.name}; {pictures}\n[\n{steps}\n]"
        raise BrokenInvariantError(invariant, detail) from broken
    return walker
