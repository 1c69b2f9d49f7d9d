"""The Python frames that the threads of this process are in."""

import gc
import sys
from collections.abc import Iterator
from itertools import accumulate, chain, repeat, starmap, takewhile
from types import FrameType
from typing import Any


def frames_of_threads() -> list[FrameType]:
    """Return the frames on the stacks of all threads, even of those that keep running.

    Notes
    -----
    CPython 3.11 makes the object of a frame when it is asked for, and may collect garbage while it does.
    A finaliser then lets the other threads go on, which may leave the very frame whose object is being made:
    the object points into memory that other frames use by now, and looking at it ends the process. So no
    garbage is collected here. CPython 3.12 collects between bytecodes only.

    A generator that is suspended does not know its caller: if its thread went on in the middle of the walk,
    all callers would be missing. So the walk has no bytecode of Python, as threads only change between these.
    """
    collects = gc.isenabled()
    tops = chain.from_iterable(map(dict.values, starmap(sys._current_frames, [()])))  # noqa: SLF001
    # Each is the frame, getattr(frame, "f_back"), and so on, up to None.
    chains = map(chain, zip(tops, strict=False), repeat(repeat("f_back")))
    walks = map(takewhile, repeat(bool), map(accumulate, chains, repeat(getattr)))
    stacks: Iterator[list[Any]] = map(list, walks)
    gc.disable()
    try:
        found = list(stacks)
    finally:
        if collects:
            gc.enable()
    return [frame for stack in found for frame in stack]
